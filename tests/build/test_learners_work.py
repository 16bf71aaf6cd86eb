"""A learner's work in course/ is never written over: not edits, not results, not notes beside it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from lessons.build import build, check, main
from lessons.source import BuildError
from lessons.stamp import worked_on
from tests.build.mini_course import NAME, change_lesson, released_path, solved_path


def solve(notebook: nbformat.NotebookNode) -> None:
    cell = next(cell for cell in notebook.cells if cell.id == "double")
    cell.source = "def double(number):\n    return 2 * number"


def run(notebook: nbformat.NotebookNode) -> None:
    cell = next(cell for cell in notebook.cells if cell.id == "demo-token")
    cell.execution_count = 1
    cell.outputs = [nbformat.v4.new_output("stream", text="run\n")]


def add_a_note(notebook: nbformat.NotebookNode) -> None:
    notebook.cells.append(nbformat.v4.new_markdown_cell("My note."))


def delete_a_cell(notebook: nbformat.NotebookNode) -> None:
    del notebook.cells[1]


def edit(path: Path, how) -> bytes:
    notebook = nbformat.read(path, as_version=4)
    how(notebook)
    nbformat.write(notebook, path)
    return path.read_bytes()


@pytest.mark.parametrize("how", [solve, run, add_a_note, delete_a_cell])
def test_work_stays_when_the_lesson_changed(course: Path, how) -> None:
    work = edit(released_path(course), how)
    change_lesson(course, "You can double.", "Now you can double.")
    with pytest.raises(BuildError, match="hold somebody's work") as refusal:
        build(course)
    assert f"course/{NAME}/{NAME}.ipynb" in str(refusal.value)
    assert released_path(course).read_bytes() == work
    assert "Now you can double." in solved_path(course).read_text(), "the rest is built"


@pytest.mark.parametrize("how", [solve, run, add_a_note, delete_a_cell])
def test_work_is_no_trouble_when_the_lesson_did_not_change(course: Path, how) -> None:
    work = edit(released_path(course), how)
    assert build(course) == []
    assert released_path(course).read_bytes() == work


def test_force_replaces_it_after_a_copy(course: Path) -> None:
    work = edit(released_path(course), solve)
    done = build(course, force=True)
    copies = list((course / "backups").iterdir())
    assert [copy.read_bytes() for copy in copies] == [work]
    assert copies[0].name in done[0]
    assert check(course) == []
    edit(released_path(course), solve)
    build(course, force=True)
    assert len(list((course / "backups").iterdir())) == 2, "a second copy takes a name of its own"


def test_a_file_that_is_no_notebook_stays(course: Path) -> None:
    released_path(course).write_text("half a file")
    with pytest.raises(BuildError, match="hold somebody's work"):
        build(course)
    assert released_path(course).read_text() == "half a file"


def test_a_notebook_from_elsewhere_stays(course: Path) -> None:
    nbformat.write(nbformat.v4.new_notebook(), released_path(course))
    before = released_path(course).read_bytes()
    with pytest.raises(BuildError, match="hold somebody's work"):
        build(course)
    assert released_path(course).read_bytes() == before


def test_what_lies_beside_a_notebook_stays(course: Path) -> None:
    note = released_path(course).with_name("my notes.md")
    note.write_text("remember the milk")
    copy = released_path(course).with_name(f"{NAME}-Copy1.ipynb")
    copy.write_bytes(released_path(course).read_bytes())
    change_lesson(course, "You can double.", "Now you can double.")
    build(course, force=True)
    assert note.read_text() == "remember the milk"
    assert copy.exists()
    assert check(course) == [], "a copy beside it is no lesson"


def test_an_edited_solution_is_work_too(course: Path) -> None:
    work = edit(solved_path(course), add_a_note)
    with pytest.raises(BuildError, match=f"solutions/{NAME}"):
        build(course)
    assert solved_path(course).read_bytes() == work


def test_saving_it_in_jupyterlab_without_a_change_is_no_work(course: Path) -> None:
    def save(notebook: nbformat.NotebookNode) -> None:
        notebook.metadata.language_info = {"name": "python", "version": "3.11.7"}
        notebook.cells[0].metadata["collapsed"] = False

    edit(released_path(course), save)
    assert not worked_on(released_path(course), outputs_count=True)
    change_lesson(course, "You can double.", "Now you can double.")
    build(course)
    assert check(course) == []


def test_the_guard_can_fail(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the guard taken away the same build does write over the work."""
    edit(released_path(course), solve)
    change_lesson(course, "You can double.", "Now you can double.")
    monkeypatch.setattr("lessons.build.worked_on", lambda path, outputs_count: False)
    build(course)
    assert "2 * number" not in released_path(course).read_text()


def test_the_command_line_refuses_politely(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lessons.build.ROOT", course)
    edit(released_path(course), solve)
    change_lesson(course, "You can double.", "Now you can double.")
    assert main([]) == 1
    said = capsys.readouterr().err
    assert "--force" in said
    assert "Traceback" not in said
