"""`make update`: the course's fixes arrive, the learner's work stays, a backup holds all of it."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import repository
import update
from problem import SetupProblem
from tests.setup.class_of_one import (
    NOTEBOOK,
    QUIET,
    ClassOfOne,
    code,
    found_class,
    git,
    notebook,
    prose,
    sources,
)

NOW = datetime(2026, 11, 21, 14, 3, 22)
LATER = NOW + timedelta(minutes=1)
STUB = code(
    "square", "def backward(ctx, g):", "    # YOUR CODE HERE", "    raise NotImplementedError"
)
SOLVED = code(
    "square", "def backward(ctx, g):", "    (x,) = ctx.saved_tensors", "    return 2 * x * g"
)
DEMO = code("demo-square", "x = torch.tensor(3.0)", "print(x * x)")
DEMO_FIXED = code("demo-square", "x = torch.tensor(3.0, requires_grad=True)", "print(x * x)")
DEMO_RUN = code("demo-square", "x = torch.tensor(3.0)", "print(x * x)", outputs=("tensor(9.)\n",))
INTRO = prose("intro", "# Anatomy of a Funtion")
INTRO_FIXED = prose("intro", "# Anatomy of a Function")


@pytest.fixture(autouse=True)
def _nobodys_git_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def course(tmp_path: Path) -> ClassOfOne:
    return found_class(tmp_path, **{NOTEBOOK: notebook(INTRO, DEMO, STUB), "README.md": "Course\n"})


def publish_notebook(course: ClassOfOne, *cells: dict) -> None:
    course.publish("a fix", **{NOTEBOOK: notebook(*cells)})


def test_fix_arrives_and_learners_code_note_and_backup_are_there(course: ClassOfOne) -> None:
    mine = notebook(INTRO, DEMO_RUN, SOLVED, code("cell-7", "my_own_experiment = 1"))
    course.write(NOTEBOOK, mine)
    course.write("course/01_template/my notes.txt", "ask about ctx")
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)

    said = update.update(course.learner, NOW)

    after = sources(course.read(NOTEBOOK))
    assert after["square"] == "".join(SOLVED["source"])
    assert after["intro"] == "# Anatomy of a Function"
    assert after["cell-7"] == "my_own_experiment = 1"
    assert course.read("course/01_template/my notes.txt") == "ask about ctx"
    (copy,) = course.backups()
    assert copy.name == "2026-11-21_14-03-22_000000"
    assert (copy / "your-files" / NOTEBOOK).read_text() == mine
    assert (copy / "your-files/course/01_template/my notes.txt").read_text() == "ask about ctx"
    assert NOTEBOOK in said


def test_result_is_a_valid_notebook_as_jupyter_writes_it(course: ClassOfOne) -> None:
    import nbformat

    course.write(NOTEBOOK, notebook(INTRO, DEMO_RUN, SOLVED))
    publish_notebook(course, INTRO_FIXED, DEMO_FIXED, STUB)
    update.update(course.learner, NOW)

    after = nbformat.reads(course.read(NOTEBOOK), as_version=4)
    nbformat.validate(after)
    assert nbformat.writes(after).rstrip() == course.read(NOTEBOOK).rstrip()


def test_same_cell_changed_twice_keeps_learners_version_and_a_copy_of_both(
    course: ClassOfOne,
) -> None:
    course.write(NOTEBOOK, notebook(INTRO, DEMO, SOLVED))
    new_stub = code("square", "def backward(ctx, grad_output):", "    raise NotImplementedError")
    publish_notebook(course, INTRO, DEMO, new_stub)

    said = update.update(course.learner, NOW)

    assert sources(course.read(NOTEBOOK))["square"] == "".join(SOLVED["source"])
    (copy,) = course.backups()
    theirs = (copy / "course-version" / NOTEBOOK).read_text()
    assert sources(theirs)["square"] == "".join(new_stub["source"])
    yours = (copy / "your-files" / NOTEBOOK).read_text()
    assert sources(yours)["square"] == "".join(SOLVED["source"])
    assert "the same cell: square" in said
    assert f"backups/{copy.name}/course-version/{NOTEBOOK}" in said


def test_merging_lines_alone_would_mix_a_cell(
    course: ClassOfOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What joining cell by cell prevents does happen without it."""
    long_stub = code("square", "first", "second", "third", "fourth", "fifth")
    publish_notebook(course, INTRO, DEMO, long_stub)
    git(course.learner, "pull", "--quiet")
    mine = code("square", "first", "second", "third", "fourth", "my answer")
    course.write(NOTEBOOK, notebook(INTRO, DEMO, mine))
    publish_notebook(
        course, INTRO, DEMO, code("square", "NEW", "second", "third", "fourth", "fifth")
    )
    monkeypatch.setattr(repository, "FOLDER", course.learner)  # where no file says how to join

    update.update(course.learner, NOW)

    assert sources(course.read(NOTEBOOK))["square"].startswith("NEW")
    assert sources(course.read(NOTEBOOK))["square"].endswith("my answer")


def test_a_demonstration_that_was_run_takes_the_fix(course: ClassOfOne) -> None:
    course.write(NOTEBOOK, notebook(INTRO, DEMO_RUN, STUB))
    publish_notebook(course, INTRO, DEMO_FIXED, STUB)
    update.update(course.learner, NOW)

    demo = json.loads(course.read(NOTEBOOK))["cells"][1]
    assert demo["source"] == DEMO_FIXED["source"]
    assert demo["outputs"] == []  # they belonged to the old text


def test_a_second_update_keeps_what_the_first_one_kept(course: ClassOfOne) -> None:
    course.write(NOTEBOOK, notebook(INTRO, DEMO, SOLVED))
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)
    update.update(course.learner, NOW)
    publish_notebook(course, INTRO_FIXED, DEMO_FIXED, STUB)
    update.update(course.learner, LATER)

    after = sources(course.read(NOTEBOOK))
    assert after["square"] == "".join(SOLVED["source"])
    assert after["demo-square"] == "".join(DEMO_FIXED["source"])
    first, second = course.backups()
    for copy in (first, second):
        kept = (copy / "your-files" / NOTEBOOK).read_text()
        assert sources(kept)["square"] == "".join(SOLVED["source"])


def test_a_notebook_that_cannot_be_read_stays_byte_for_byte(course: ClassOfOne) -> None:
    broken = notebook(INTRO, DEMO, SOLVED)[:-40]
    course.write(NOTEBOOK, broken)
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)

    said = update.update(course.learner, NOW)

    assert course.read(NOTEBOOK) == broken
    assert "yours stayed as it was" in said
    (copy,) = course.backups()
    theirs = (copy / "course-version" / NOTEBOOK).read_text()
    assert theirs == notebook(INTRO_FIXED, DEMO, STUB)


def test_a_notebook_that_the_course_dropped_stays(course: ClassOfOne) -> None:
    mine = notebook(INTRO, DEMO, SOLVED)
    course.write(NOTEBOOK, mine)
    course.publish("drop it", **{NOTEBOOK: None})

    update.update(course.learner, NOW)

    assert course.read(NOTEBOOK) == mine


def test_a_file_of_the_same_name_keeps_existing_under_a_new_name(course: ClassOfOne) -> None:
    course.write("course/02_sigmoid/notes.md", "mine")
    course.publish("more", **{"course/02_sigmoid/notes.md": "theirs"})

    said = update.update(course.learner, NOW)

    assert course.read("course/02_sigmoid/notes.md") == "theirs"
    (other,) = (course.learner / "course/02_sigmoid").glob("notes__*.md")
    assert other.read_text() == "mine"
    assert other.name in said


def test_untouched_files_and_learners_other_changes(course: ClassOfOne) -> None:
    course.write("README.md", "Course\nwith a line of mine\n")
    course.publish("a fix", **{"docs.md": "new"})
    update.update(course.learner, NOW)

    assert course.read("README.md") == "Course\nwith a line of mine\n"
    assert course.read("docs.md") == "new"


def test_nothing_new_changes_nothing(course: ClassOfOne) -> None:
    course.write(NOTEBOOK, notebook(INTRO, DEMO, SOLVED))
    assert "latest version" in update.update(course.learner, NOW)
    assert course.read(NOTEBOOK) == notebook(INTRO, DEMO, SOLVED)
    assert course.backups() == []


def test_a_merge_that_fails_leaves_everything_as_it_was(course: ClassOfOne) -> None:
    mine = notebook(INTRO, DEMO, SOLVED)
    course.write(NOTEBOOK, mine)
    course.write("note.txt", "mine")
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)
    (course.learner / ".git" / "index.lock").touch()  # another git is at work

    with pytest.raises(SetupProblem, match="Your files are as they were") as caught:
        update.update(course.learner, NOW)

    assert "index.lock" in str(caught.value)
    assert course.read(NOTEBOOK) == mine
    assert course.read("note.txt") == "mine"
    (copy,) = course.backups()
    assert (copy / "your-files" / NOTEBOOK).read_text() == mine


def test_without_a_backup_there_is_no_update(course: ClassOfOne) -> None:
    mine = notebook(INTRO, DEMO, SOLVED)
    course.write(NOTEBOOK, mine)
    course.write("backups", "a file where the folder has to go")
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)
    before = git(course.learner, "rev-parse", "HEAD")

    with pytest.raises(SetupProblem, match="could not be backed up"):
        update.update(course.learner, NOW)

    assert course.read(NOTEBOOK) == mine
    assert git(course.learner, "rev-parse", "HEAD") == before


def test_an_interrupted_update_goes_on(
    course: ClassOfOne, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = notebook(INTRO, DEMO, SOLVED)
    course.write(NOTEBOOK, mine)
    course.publish(
        "a fix",
        **{NOTEBOOK: notebook(INTRO_FIXED, DEMO, STUB), "README.md": "New\n", "new.md": "1"},
    )

    def pull_the_plug(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(repository.Clone, "merge", pull_the_plug)
        assert update.main(course.learner) == 130
    assert course.read(NOTEBOOK) == mine
    assert update.main(course.learner) == 0
    after = sources(course.read(NOTEBOOK))
    assert (after["intro"], after["square"]) == (
        "# Anatomy of a Function",
        "".join(SOLVED["source"]),
    )
    assert (course.read("README.md"), course.read("new.md")) == ("New\n", "1")
    capsys.readouterr()
    assert update.main(course.learner) == 0
    assert "latest version" in capsys.readouterr().out


def test_a_text_that_both_changed_is_joined_by_lines(course: ClassOfOne) -> None:
    course.write("README.md", "My course\n")
    course.publish("a fix", **{"README.md": "Course\nmore\n"})
    update.update(course.learner, NOW)
    assert course.read("README.md") == "My course\n"  # where both changed, the learner's
    course.publish("another", **{"README.md": "Course\nmore\n1\n2\n3\nlast\n"})
    update.update(course.learner, LATER)
    assert course.read("README.md").startswith("My course\n")


def test_files_that_the_course_dropped_are_gone(course: ClassOfOne) -> None:
    course.publish("drop it", **{"README.md": None})
    update.update(course.learner, NOW)
    assert not (course.learner / "README.md").exists()
    assert git(course.learner, "status", "--porcelain") == ""


def test_no_network(course: ClassOfOne, capsys: pytest.CaptureFixture[str]) -> None:
    course.published.rename(course.published.with_name("gone.git"))
    assert update.main(course.learner) == 1
    said = capsys.readouterr().err
    assert "cannot be reached. Nothing was changed." in said
    assert "Check the internet connection" in said


def test_no_git(
    course: ClassOfOne, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(course.learner))
    assert update.main(course.learner) == 1
    assert "git is not installed" in capsys.readouterr().err


def test_not_a_clone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update.main(tmp_path) == 1
    assert "is not a git clone" in capsys.readouterr().err


def test_a_folder_inside_another_clone_is_not_the_course(course: ClassOfOne) -> None:
    with pytest.raises(SetupProblem, match="is not a git clone"):
        update.update(course.learner / "course", NOW)


def test_a_clone_without_origin(course: ClassOfOne) -> None:
    git(course.learner, "remote", "remove", "origin")
    with pytest.raises(SetupProblem, match="no remote called origin"):
        update.update(course.learner, NOW)


def test_another_branch(course: ClassOfOne) -> None:
    git(course.learner, "switch", "--quiet", "--create", "idea")
    with pytest.raises(SetupProblem, match="You are on branch idea; the course is on main"):
        update.update(course.learner, NOW)


def test_an_unfinished_merge(course: ClassOfOne) -> None:
    head = git(course.learner, "rev-parse", "HEAD")
    (course.learner / ".git" / "MERGE_HEAD").write_text(head)
    with pytest.raises(SetupProblem, match="merge or rebase is unfinished"):
        update.update(course.learner, NOW)


def test_a_clone_without_its_history(course: ClassOfOne, tmp_path: Path) -> None:
    shallow = ClassOfOne(course.author, course.published, tmp_path / "shallow")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{course.published}", "shallow")
    shallow.write(NOTEBOOK, notebook(INTRO, DEMO, SOLVED))
    publish_notebook(course, INTRO_FIXED, DEMO, STUB)
    update.update(shallow.learner, NOW)
    after = sources(shallow.read(NOTEBOOK))
    assert after["square"] == "".join(SOLVED["source"])
    assert after["intro"] == "# Anatomy of a Function"


def test_links_are_backed_up_as_links(course: ClassOfOne) -> None:
    (course.learner / "data").symlink_to("/nowhere/large")
    course.publish("a fix", **{"docs.md": "new"})
    update.update(course.learner, NOW)
    (copy,) = course.backups()
    assert os.readlink(copy / "your-files" / "data") == "/nowhere/large"
    assert os.readlink(course.learner / "data") == "/nowhere/large"
