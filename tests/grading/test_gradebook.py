"""The one writer: what it leaves in nbgrader's gradebook and folders."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.grading.course import open_course
from autograder.grading.gradebook import Writer
from autograder.grading.kept_files import hidden, read_timestamp
from autograder.grading.safe_text import said_as_markdown
from autograder.grading.words import CannotWrite, NameTrouble
from tests.grading.gradebooks import (
    CONFIG,
    DUE,
    LESSON,
    add_hand_graded_notebook,
    contents,
    hand_in,
    make_course,
    new_database,
    result,
    tree,
)

ZERO_WHEN_LATE = CONFIG + 'c.LateSubmissionPlugin.penalty_method = "zero"\n'


def write(course: Any, *results: Any, **more: Any) -> None:
    with Writer(course, **more) as writer:
        for one in results:
            folder = Path(course.format_path("submitted", one.student, LESSON))
            writer.write(one, folder)


def grade(course: Any, cell: str, student: str = "ada") -> Any:
    return contents(course)["grade", student, LESSON, LESSON, cell]


def test_points_comments_and_the_time_are_entered(course: Any) -> None:
    hand_in(course, when="2026-02-28 10:00:00 Europe/Berlin")
    write(course, result(points=(2.0, 0.0)))
    assert contents(course) == {
        ("student", "ada"): (None, None, None),
        ("submission", "ada", LESSON): (datetime(2026, 2, 28, 9), None),
        ("notebook", "ada", LESSON, LESSON): (2.0, None, False, False),
        ("grade", "ada", LESSON, LESSON, "double-check"): (2.0, None, None, False),
        ("grade", "ada", LESSON, LESSON, "double-hidden"): (0.0, None, None, False),
        ("comment", "ada", LESSON, LESSON, "double"): (None, None),
    }


def test_what_a_person_entered_stays_and_is_to_be_looked_at_again(course: Any) -> None:
    hand_in(course)
    write(course, result())
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_grade("double-hidden", LESSON, LESSON, "ada")
        found.manual_score, found.extra_credit, found.needs_manual_grade = 1.5, 0.5, False
        gradebook.find_comment("double", LESSON, LESSON, "ada").manual_comment = "Nice."
        gradebook.db.commit()
    write(course, result(points=(2.0, 0.0), answered=()))
    found = contents(course)
    assert found["grade", "ada", LESSON, LESSON, "double-hidden"] == (0.0, 1.5, 0.5, True)
    assert found["grade", "ada", LESSON, LESSON, "double-check"] == (2.0, None, None, False)
    assert found["comment", "ada", LESSON, LESSON, "double"] == ("No response.", "Nice.")
    assert found["notebook", "ada", LESSON, LESSON] == (4.0, None, False, True)


def test_a_cell_without_points_waits_for_a_person(course: Any) -> None:
    hand_in(course)
    write(course, result(points=(2.0, None), reasons=("line 3 reads /proc",)))
    assert grade(course, "double-hidden") == (None, None, None, True)
    assert grade(course, "double-check") == (2.0, None, None, False)


def test_a_notebook_that_was_not_handed_in_gets_nothing(course: Any) -> None:
    add_hand_graded_notebook(course)
    hand_in(course)
    hand_in(course, "ben", reading_ipynb="{}")
    write(course, result(), result("ben"))
    found = contents(course)
    for cell in ("essay", "project"):
        assert found["grade", "ada", LESSON, "reading", cell] == (0.0, None, None, False)
        assert found["grade", "ben", LESSON, "reading", cell] == (None, None, None, True)


def test_cells_that_came_to_the_lesson_later_are_added(course: Any) -> None:
    hand_in(course)
    write(course, result())
    add_hand_graded_notebook(course)
    hand_in(course, reading_ipynb="{}")
    write(course, result())
    found = contents(course)
    assert found["grade", "ada", LESSON, "reading", "project"] == (None, None, None, True)
    assert found["comment", "ada", LESSON, "reading", "essay"] == (None, None)


@pytest.mark.parametrize(
    ("when", "extension", "penalty"),
    [
        (DUE, None, None),
        (DUE + timedelta(seconds=1), None, 5.5),
        (DUE + timedelta(hours=1), timedelta(hours=2), None),
        (DUE + timedelta(hours=3), timedelta(hours=2), 5.5),
    ],
)
def test_the_configured_plug_in_takes_off_for_late_work(
    tmp_path: Path, db_url: str | None, when: datetime, extension: timedelta | None, penalty: float
) -> None:
    course = make_course(tmp_path / "course", db_url, ZERO_WHEN_LATE)
    hand_in(course, when=f"{when} UTC")
    write(course, result())
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.find_grade("double-hidden", LESSON, LESSON, "ada").extra_credit = 0.5
        gradebook.find_submission(LESSON, "ada").extension = extension
        gradebook.db.commit()
    write(course, result())
    score, found, *_ = contents(course)["notebook", "ada", LESSON, LESSON]
    assert (score, found) == (5.5, penalty)


def test_a_penalty_goes_when_the_late_work_turns_out_to_be_in_time(tmp_path: Path) -> None:
    course = make_course(tmp_path / "course", config=ZERO_WHEN_LATE)
    hand_in(course, when=f"{DUE + timedelta(days=1)} UTC")
    write(course, result())
    assert contents(course)["notebook", "ada", LESSON, LESSON][1] == 5.0
    hand_in(course, when=f"{DUE} UTC")
    write(course, result())
    assert contents(course)["notebook", "ada", LESSON, LESSON][1] is None


def test_a_timestamp_that_cannot_be_read_is_a_reason_to_look(small_course: Any) -> None:
    hand_in(small_course, when="2026-02-28 09:00:00 UTC")
    write(small_course, result())
    for content in ("yesterday", "9" * 99, "9" * 10_000_000):
        hand_in(small_course, when=content)
        with Writer(small_course) as writer:
            writer.write(result(), hand_in(small_course))
            record = writer.records.read("ada", LESSON)
        assert record is not None
        assert "late" in record.result.reasons[0]
        when, _ = contents(small_course)["submission", "ada", LESSON]
        assert when == datetime(2026, 2, 28, 9)


def test_of_what_was_handed_in_only_the_notebook_and_its_time_come_along(small_course: Any) -> None:
    """Not what is beside them, and above all no links to elsewhere; the lesson's own files do."""
    secret = Path(small_course.root, "secret.txt")
    secret.write_text("answers")
    folder = hand_in(
        small_course, when="2026-02-28 09:00:00 UTC", notes_txt="mine", torch_py="evil",
        page_html="<script>", other_ipynb="{}",
    )  # fmt: skip
    (folder / "lesson-data.csv").write_text("forged")
    (folder / "pictures").mkdir()
    (folder / "pictures" / "one.PNG").write_bytes(b"png")
    (folder / "submission_secret.txt").symlink_to(secret)
    (folder / "outside").symlink_to(small_course.root)
    os.mkfifo(folder / "pipe.txt")
    write(small_course, one := result())
    place = Path(small_course.root, "autograded", "ada", LESSON)
    assert tree(place) == {
        f"{LESSON}.ipynb": ("file", 0o444, one.notebook.encode() + b"\n"),
        "lesson-data.csv": ("file", 0o444, b"1,2\n"),
        "timestamp.txt": ("file", 0o444, b"2026-02-28 09:00:00 UTC"),
    }
    assert [path.name for path in place.parent.iterdir()] == [LESSON]


def test_instructors_who_share_a_course_share_its_files(tmp_path: Path) -> None:
    course = make_course(
        tmp_path / "course", config=CONFIG + "c.CourseDirectory.groupshared = True\n"
    )
    hand_in(course)
    write(course, result())
    place = Path(course.root, "autograded", "ada", LESSON)
    assert stat.S_IMODE((place / f"{LESSON}.ipynb").stat().st_mode) == 0o664
    assert place.stat().st_mode & 0o2770 == 0o2770


def test_graded_again_the_old_files_are_gone(small_course: Any) -> None:
    folder = hand_in(small_course, when="2026-02-28 09:00:00 UTC")
    write(small_course, result())
    (folder / "timestamp.txt").unlink()
    write(small_course, result(points=(0.0, 0.0)))
    place = Path(small_course.root, "autograded", "ada", LESSON)
    assert "(0.0, 0.0)" in (place / f"{LESSON}.ipynb").read_text()
    assert not (place / "timestamp.txt").exists()


def test_an_unreadable_submission_can_be_graded_by_hand(small_course: Any) -> None:
    hand_in(small_course)
    why = "The notebook ends in <script>alert(1)</script> the middle of ``` a text."
    write(small_course, result(notebook="", answered=(), reasons=(why,)))
    for cell in ("double-check", "double-hidden"):
        assert grade(small_course, cell) == (None, None, None, True)
    assert contents(small_course)["comment", "ada", LESSON, LESSON, "double"] == (None, None)
    path = Path(small_course.root, "autograded", "ada", LESSON, f"{LESSON}.ipynb")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert said_as_markdown(why) in notebook.cells[0].source
    assert [cell.metadata.nbgrader.grade_id for cell in notebook.cells[1:]] == [
        "double-check",
        "double-hidden",
    ]
    assert all(cell.outputs[0].output_type == "error" for cell in notebook.cells[1:])


def test_unknown_students_are_added_unless_that_is_switched_off(tmp_path: Path) -> None:
    course = make_course(
        tmp_path / "course", config=CONFIG + "c.Autograde.create_student = False\n"
    )
    hand_in(course)
    with pytest.raises(CannotWrite, match="knows no student 'ada'"):
        write(course, result())
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_student("ada", first_name="Ada")
    write(course, result())
    assert contents(course)["student", "ada"] == ("Ada", None, None)


@pytest.mark.parametrize(
    "name", ["Ünal Müller", "a'; DROP TABLE grade; --", "[ab]*?", "%41", "名前"]
)
def test_students_may_have_odd_names(course: Any, name: str) -> None:
    hand_in(course, name)
    write(course, result(name))
    with Writer(course) as writer:
        record = writer.records.read(name, LESSON)
    assert record is not None
    assert record.result.student == name
    assert contents(course)["notebook", name, LESSON, LESSON][0] == 5.0
    assert Path(course.root, "autograded", name, LESSON, f"{LESSON}.ipynb").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../ada", "/etc", "a/b", "a\0b"])
def test_names_that_lead_elsewhere_are_refused(small_course: Any, name: str) -> None:
    before = tree(Path(small_course.root))
    with Writer(small_course) as writer, pytest.raises(ValueError, match="cannot be the name"):
        writer.write(result(name), Path(small_course.root, "submitted"))
    assert tree(Path(small_course.root)) == before


def test_a_name_that_is_no_text_concerns_one_submission_only(course: Any) -> None:
    name = os.fsdecode(b"a\xff")
    folder = hand_in(course, name)
    hand_in(course)
    with Writer(course) as writer:
        with pytest.raises(NameTrouble, match=r"no valid text.*Rename"):
            writer.write(result(name), folder)
        writer.write(result(), hand_in(course))
    assert {key[1] for key in contents(course)} == {"ada"}
    assert [path.name for path in Path(course.root, "autograded").iterdir()] == ["ada"]


def test_a_name_that_is_too_long_for_the_database(tmp_path: Path, postgres: str) -> None:
    """SQLite does not mind."""
    course = make_course(tmp_path / "course", new_database(postgres))
    name = "x" * 200
    with Writer(course) as writer, pytest.raises(NameTrouble, match=r"too long.*Rename"):
        writer.write(result(name), hand_in(course, name))
    assert contents(course) == {}
    assert list(Path(course.root, "autograded").iterdir()) == []


def files(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """What is in a folder, empty folders aside."""
    return {path: what for path, what in tree(folder).items() if what[0] != "folder"}


class Unchanged:
    """A context in which an attempt has to fail with a sentence, and to leave everything as it is."""

    def __init__(self, course: Any, sentence: str):
        self._course, self._raises = course, pytest.raises(CannotWrite, match=sentence)

    def __enter__(self) -> None:
        self._before = files(Path(self._course.root))
        self._raises.__enter__()

    def __exit__(self, *failure: Any) -> bool:
        caught = bool(self._raises.__exit__(*failure))
        assert files(Path(self._course.root)) == self._before
        return caught


def test_without_a_gradebook_it_says_how_to_get_one(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    course = open_course(tmp_path)
    with Unchanged(course, "There is no gradebook yet. Run `nbgrader generate_assignment"):
        write(course, result())


def test_a_lesson_that_is_not_in_the_gradebook(small_course: Any) -> None:
    hand_in(small_course)
    other = result()
    object.__setattr__(other, "lesson", "02_other")
    with Unchanged(small_course, "does not know '02_other'.*nbgrader generate_assignment"):
        write(small_course, other)
    with Writer(small_course) as writer:
        writer.check(LESSON)
        with pytest.raises(CannotWrite, match="nbgrader generate_assignment"):
            writer.check("02_other")


def test_a_lesson_that_changed_since(small_course: Any) -> None:
    hand_in(small_course)
    write(small_course, result())
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        gradebook.update_or_create_grade_cell("double-check", LESSON, LESSON, max_score=7)
    with Unchanged(small_course, "another version of 01_doubling.*nbgrader generate_assignment"):
        write(small_course, result())


def test_a_gradebook_that_may_only_be_read(small_course: Any) -> None:
    hand_in(small_course)
    write(small_course, result())
    path = Path(small_course.root, "gradebook.db")
    reading = open_course(Path(small_course.root), f"sqlite:///file:{path}?mode=ro&uri=true")
    with Unchanged(small_course, "read but not write"):
        write(reading, result(points=(0.0, 0.0)))


def test_a_gradebook_that_is_none(small_course: Any) -> None:
    Path(small_course.root, "gradebook.db").write_bytes(b"not a database at all" * 1000)
    with Unchanged(small_course, "damaged"):
        write(small_course, result())


@pytest.mark.parametrize("url", ["nonsense", "nosuchdatabase://here/there"])
def test_an_address_that_is_none(small_course: Any, url: str) -> None:
    with Unchanged(small_course, "address cannot be used"):
        write(open_course(Path(small_course.root), url), result())


def test_a_server_that_is_not_there(small_course: Any) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://teacher:hunter2@127.0.0.1:9/grades"
    with pytest.raises(CannotWrite, match="trouble with the gradebook") as caught:
        write(open_course(Path(small_course.root), url), result())
    assert "hunter2" not in str(caught.value)


def test_a_gradebook_that_somebody_keeps_locked(small_course: Any) -> None:
    hand_in(small_course)
    write(small_course, result())
    path = Path(small_course.root, "gradebook.db")
    course = open_course(Path(small_course.root), f"sqlite:///{path}?timeout=0.05")
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        with Unchanged(small_course, "Somebody else keeps"):
            write(course, result(points=(0.0, 0.0)), patience=0.3)
    finally:
        other.close()


def test_a_reader_in_the_way_of_the_commit_leaves_nothing_half_written(small_course: Any) -> None:
    hand_in(small_course)
    write(small_course, result())
    path = Path(small_course.root, "gradebook.db")
    course = open_course(Path(small_course.root), f"sqlite:///{path}?timeout=0.05")
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM grade").fetchone()
    before = tree(Path(small_course.root, "autograded")) | tree(Path(small_course.root, "grading"))
    try:
        with pytest.raises(CannotWrite, match="Somebody else keeps"):
            write(course, result(points=(0.0, 0.0)), patience=0.3)
    finally:
        reader.close()
    after = tree(Path(small_course.root, "autograded")) | tree(Path(small_course.root, "grading"))
    assert after == before
    assert grade(small_course, "double-check")[0] == 2.0


def test_a_lock_that_is_let_go_is_waited_for(small_course: Any) -> None:
    hand_in(small_course)
    path = Path(small_course.root, "gradebook.db")
    course = open_course(Path(small_course.root), f"sqlite:///{path}?timeout=0.05")
    other = sqlite3.connect(path, check_same_thread=False)
    with Writer(course, patience=60) as writer:
        other.execute("BEGIN EXCLUSIVE")
        letting_go = threading.Timer(0.5, other.close)
        letting_go.start()
        writer.write(result(), hand_in(course))
        letting_go.join()
    assert grade(course, "double-check")[0] == 2.0


def test_a_plug_in_for_late_work_that_fails(tmp_path: Path) -> None:
    config = CONFIG + (
        "from nbgrader.plugins import LateSubmissionPlugin\n"
        "class Broken(LateSubmissionPlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return 1 / 0\n"
        "c.AssignLatePenalties.plugin_class = Broken\n"
    )
    course = make_course(tmp_path / "course", config=config)
    hand_in(course, when=f"{DUE + timedelta(days=1)} UTC")
    with Unchanged(course, "Broken, failed with ZeroDivisionError"):
        write(course, result())


def test_a_folder_in_the_place_of_the_time_is_said(tmp_path: Path) -> None:
    (tmp_path / "timestamp.txt").mkdir()
    when, why = read_timestamp(tmp_path)
    assert when is None
    assert "no ordinary file" in why


def by_hand(course: Any, **values: Any) -> None:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_grade("double-hidden", LESSON, LESSON, "ada")
        for name, value in values.items():
            setattr(found, name, value)
        gradebook.db.commit()


def test_points_by_hand_survive_unchanged_work(course: Any) -> None:
    """As with `--all`; another automatic result, or other work, is to be looked at again."""
    hand_in(course)
    write(course, result(content="a"))
    by_hand(course, manual_score=1.5, needs_manual_grade=False)
    write(course, result(content="a"))
    assert grade(course, "double-hidden") == (3.0, 1.5, None, False)
    write(course, result(points=(2.0, 0.0), content="a"))
    assert grade(course, "double-hidden") == (0.0, 1.5, None, True)
    write(course, result(points=(2.0, 0.0), content="a"))
    assert grade(course, "double-hidden")[3] is True  # still nobody has looked
    by_hand(course, needs_manual_grade=False)
    write(course, result(points=(2.0, 0.0), content="b"))
    assert grade(course, "double-hidden") == (0.0, 1.5, None, True)


def test_what_counts_no_more_after_a_kill_still_tells_what_is_unchanged(small_course: Any) -> None:
    hand_in(small_course)
    write(small_course, result(content="a"))
    by_hand(small_course, manual_score=1.5, needs_manual_grade=False)
    with Writer(small_course) as writer:
        hidden(writer.records.path("ada", LESSON)).touch()
        assert writer.records.read("ada", LESSON) is None
    write(small_course, result(content="a"))
    assert grade(small_course, "double-hidden") == (3.0, 1.5, None, False)
