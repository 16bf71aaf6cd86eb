"""Building: what is written, when, and what stays exactly as it was."""

from __future__ import annotations

import os
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum

from lessons.build import build, check, main
from lessons.source import BuildError, read_lesson
from tests.build.mini_course import (
    LESSON,
    NAME,
    change_lesson,
    released_path,
    solved_path,
    write_mini_course,
)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def cells(path: Path) -> dict[str, nbformat.NotebookNode]:
    return {cell.id: cell for cell in read(path).cells}


def test_a_first_build_writes_course_and_solutions(course: Path) -> None:
    assert released_path(course).exists()
    assert solved_path(course).exists()
    assert (course / "course/00_start_here/00_start_here.ipynb").exists()
    assert not (course / "solutions/00_start_here").exists()
    assert check(course) == []


def test_the_start_page_is_plain(course: Path) -> None:
    for cell in read(course / "course/00_start_here/00_start_here.ipynb").cells:
        assert "nbgrader" not in cell.metadata


def test_the_release_is_what_nbgrader_expects(course: Path) -> None:
    notebook = read(released_path(course))
    MetadataValidator().validate_nb(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            role = cell.metadata.nbgrader
            assert role.schema_version == 3
            assert role.checksum == compute_checksum(cell)
            assert not cell.outputs
            assert cell.execution_count is None


def test_a_stub_stands_where_the_solution_was(course: Path) -> None:
    found = cells(released_path(course))
    assert found["double"].source == (
        'def double(number):\n    """Twice the number."""\n'
        "    # YOUR CODE HERE\n    raise NotImplementedError()"
    )
    assert found["double-hidden"].source == (
        "# The hidden checks of double run here when this notebook is graded."
    )


def test_learners_may_try_things_in_demonstrations_but_not_edit_checks(course: Path) -> None:
    found = cells(released_path(course))
    assert found["double-check"].metadata.editable is False
    assert "editable" not in found["demo-token"].metadata
    assert found["demo-token"].metadata.nbgrader.locked, "or autograding would run a changed one"


def test_solutions_are_executed_and_have_notes_and_no_markers(course: Path) -> None:
    notebook = read(solved_path(course))
    found = {cell.id: cell for cell in notebook.cells}
    assert found["demo-token"].outputs[0].text.startswith("run ")
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == [
        1, 2, 3, 4, 5,
    ]  # fmt: skip
    assert "double-hidden--note-1" in found
    assert "unseen_number" in found["double-hidden"].source
    for cell in notebook.cells:
        assert "BEGIN " not in cell.source
        assert "END " not in cell.source
        assert "execution" not in cell.metadata, "times differ on every run"


def test_ids_come_from_grade_ids_and_are_the_same_in_both_notebooks(course: Path) -> None:
    released, solved = list(cells(released_path(course))), list(cells(solved_path(course)))
    assert [name for name in solved if name != "double-hidden--note-1"] == released
    assert released[:3] == ["top--text-1", "setup", "setup--text-1"]


def test_without_us_ids_would_differ_on_every_read() -> None:
    ids = [[cell.id for cell in jupytext.reads(LESSON, "py:percent").cells] for _ in range(2)]
    assert ids[0] != ids[1]


def test_a_rebuild_changes_no_byte_and_runs_nothing(course: Path) -> None:
    before = {path: path.read_bytes() for path in course.glob("[cs]*/*/*.ipynb")}
    assert build(course) == []
    assert {path: path.read_bytes() for path in before} == before


def test_editing_a_text_changes_that_cell_only(course: Path) -> None:
    before = cells(released_path(course))
    change_lesson(course, "Write a function that doubles.", "Write a function that doubles it.")
    build(course)
    after = cells(released_path(course))
    assert list(after) == list(before)
    assert [name for name in after if after[name] != before[name]] == ["setup--text-1"]


def test_adding_a_text_renames_only_its_neighbours(course: Path) -> None:
    before = cells(released_path(course))
    change_lesson(
        course,
        "# %% [markdown]\n# ## Twice",
        "# %% [markdown]\n# New.\n\n# %% [markdown]\n# ## Twice",
    )
    build(course)
    after = cells(released_path(course))
    assert set(after) - set(before) == {"setup--text-2"}
    assert [n for n in before if after[n] != before[n]] == ["setup--text-1"]


def test_solutions_run_again_when_their_lesson_changed_and_only_then(course: Path) -> None:
    def token() -> str:
        return cells(solved_path(course))["demo-token"].outputs[0].text

    first = token()
    build(course)
    assert token() == first
    change_lesson(course, "You can double.", "Now you can double.")
    build(course)
    second = token()
    assert second != first
    build(course, execute_all=True)
    assert token() != second


def test_check_says_what_does_not_match_and_changes_nothing(course: Path) -> None:
    change_lesson(course, "You can double.", "Now you can double.")
    before = {path: path.read_bytes() for path in course.glob("[cs]*/*/*.ipynb")}
    assert check(course) == [
        f"course/{NAME}/{NAME}.ipynb does not match lessons/{NAME}.py",
        f"solutions/{NAME}/{NAME}.ipynb does not match lessons/{NAME}.py",
    ]
    assert {path: path.read_bytes() for path in before} == before


def test_check_sees_a_missing_notebook_and_one_without_a_lesson(course: Path) -> None:
    solved_path(course).unlink()
    (course / "lessons/00_start_here.py").unlink()
    assert check(course) == [
        f"solutions/{NAME}/{NAME}.ipynb is missing",
        "course/00_start_here/00_start_here.ipynb has no lesson",
    ]


def test_check_sees_a_released_cell_that_was_edited_by_hand(course: Path) -> None:
    text = released_path(course).read_text()
    released_path(course).write_text(text.replace("YOUR CODE HERE", "your code here"))
    assert check(course) == [f"course/{NAME}/{NAME}.ipynb does not match lessons/{NAME}.py"]


def test_running_solutions_is_nobodys_progress(course: Path) -> None:
    mine = os.environ["BACKWARD_BY_HAND_HOME"]
    code = "import os\nprint(os.environ['BACKWARD_BY_HAND_HOME'], os.environ.get('NBGRADER_EXECUTION'))"
    change_lesson(course, 'print("run", uuid.uuid4().hex)', code)
    build(course)
    said = cells(solved_path(course))["demo-token"].outputs[0].text.split()
    assert said[0] != mine
    assert said[1] == "None", "finales run in full in solutions"
    assert os.environ["BACKWARD_BY_HAND_HOME"] == mine


def test_solutions_hold_nothing_of_the_machine_they_were_made_on(course: Path) -> None:
    code = (
        "import os, sys\nprint(object(), os.path.join(sys.prefix, 'lib'))\n"
        "from IPython.display import display\n"
        "display({'application/vnd.jupyter.widget-view+json': {'model_id': '1'},"
        " 'text/plain': 'a picture'}, raw=True)"
    )
    change_lesson(course, 'print("run", uuid.uuid4().hex)', code)
    build(course)
    outputs = cells(solved_path(course))["demo-token"].outputs
    assert outputs[0].text == "<object object at 0x…> …/lib\n"
    assert outputs[1].data == {"text/plain": "a picture"}


def test_what_a_cell_printed_is_one_output_in_a_solution(course: Path) -> None:
    code = (
        "import sys\nfor word in 'one two three'.split():\n"
        "    print(word, flush=True)\nprint('careful', file=sys.stderr, flush=True)\nprint('four')"
    )
    change_lesson(course, 'print("run", uuid.uuid4().hex)', code)
    build(course)
    outputs = cells(solved_path(course))["demo-token"].outputs
    assert [(one.name, one.text) for one in outputs] == [
        ("stdout", "one\ntwo\nthree\n"), ("stderr", "careful\n"), ("stdout", "four\n"),
    ]  # fmt: skip


def test_a_picture_is_saved_once_with_its_alternative_text(course: Path) -> None:
    code = (
        'from IPython.display import display\ntag = \'<img src="data:image/png;base64,{}" alt="a dot">\'\n'
        "for html in (tag.format('iVBORw0K'), tag.format('other'), '<p>no picture</p>'):\n"
        "    display({'image/png': 'iVBORw0K', 'text/html': html}, raw=True)"
    )
    change_lesson(course, 'print("run", uuid.uuid4().hex)', code)
    build(course)
    same, other, none = cells(solved_path(course))["demo-token"].outputs
    assert set(same.data) == {"text/html"}
    assert 'alt="a dot"' in same.data["text/html"]
    assert set(other.data) == set(none.data) == {"text/html", "image/png"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('# %% nbgrader={"grade": false, "grade_id": "setup"', '# %% other={"grade_id": "setup"', "no grade_id"),
        ('"grade_id": "setup"', '"grade_id": "double"', "two cells have the grade_id 'double'"),
        ('"grade_id": "setup"', '"grade_id": "set up"', "'set up' is not a name"),
        ("# The hidden checks of double run here when this notebook is graded.\n", "", "is empty once"),
        ("    ### END SOLUTION\n", "", "no end solution statement"),
        ("total = first", "total = 1 + first", "fails with AssertionError: 2 doubled is 4"),
    ],
)  # fmt: skip
def test_a_wrong_lesson_is_refused_with_a_reason(
    course: Path, old: str, new: str, sentence: str
) -> None:
    before = released_path(course).read_bytes()
    change_lesson(course, old, new)
    with pytest.raises(BuildError, match=sentence) as refusal:
        build(course)
    assert str(refusal.value).startswith(NAME)
    if "fails with" not in sentence:
        assert released_path(course).read_bytes() == before


def test_a_cell_that_is_meant_to_fail_may(course: Path) -> None:
    change_lesson(
        course,
        '# %% nbgrader={"grade": false, "grade_id": "demo-token"',
        '# %% tags=["raises-exception"] nbgrader={"grade": false, "grade_id": "demo-token"',
    )
    change_lesson(course, 'print("run", uuid.uuid4().hex)', "1 / 0")
    build(course)
    assert cells(solved_path(course))["demo-token"].outputs[0].ename == "ZeroDivisionError"


def test_no_lessons_is_said(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="There is no lesson"):
        build(tmp_path)


def test_nbgraders_defaults_may_be_left_out(tmp_path: Path) -> None:
    course = write_mini_course(tmp_path / "course")
    notebook = read_lesson(course / "lessons/00_start_here.py").notebook
    assert notebook.cells[1].metadata.nbgrader == {
        "grade_id": "setup", "locked": True, "grade": False, "solution": False, "task": False,
        "schema_version": 3,
    }  # fmt: skip


def test_a_lesson_opens_as_a_notebook_in_jupytext_and_comes_back_the_same(tmp_path: Path) -> None:
    course = write_mini_course(tmp_path / "course")
    path = course / "lessons" / f"{NAME}.py"
    notebook = jupytext.read(path)
    jupytext.write(notebook, path)
    again = read_lesson(path).notebook
    assert [cell.source for cell in again.cells] == [cell.source for cell in notebook.cells]


def test_the_command_line_says_what_it_did(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lessons.build.ROOT", course)
    assert main([]) == 0
    assert "Nothing to do" in capsys.readouterr().out
    assert main(["--check"]) == 0
    change_lesson(course, "You can double.", "Now you can double.")
    assert main(["--check"]) == 1
    assert "Run `make build`" in capsys.readouterr().out
    assert main(["--gradebook"]) == 0
    assert (course / "gradebook.db").exists()
