"""Nothing of an answer stands in course/, solving only adds lines, and these checks can fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import nbformat
import pytest

from lessons.build import write_sources
from lessons.convert import released, solved
from lessons.source import Lesson
from tests.build.leaks import changes_besides_adding, leaks
from tests.build.mini_course import NAME, change_lesson, released_path, solved_path
from tests.build.real_course import copy_of_the_course, exercise_lessons


Real = tuple[Path, Lesson, nbformat.NotebookNode]  # the course, the lesson, what is released of it


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Real]:
    """The repository's lessons, each released once, from a copy."""
    root = copy_of_the_course(tmp_path_factory.mktemp("real") / "course")
    lessons = {lesson.name: lesson for lesson in write_sources(root)}
    return cache(lambda name: (root, lessons[name], released(root, lessons[name])))


@pytest.mark.parametrize("name", exercise_lessons())
def test_no_answer_stands_in_the_course(name: str, real) -> None:
    _, lesson, stubs = real(name)
    assert leaks(lesson.notebook, stubs) == []


@pytest.mark.parametrize("name", exercise_lessons())
def test_solving_only_adds_lines(name: str, real) -> None:
    root, lesson, stubs = real(name)
    assert changes_besides_adding(stubs, solved(root, lesson, execute=False)) == []


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


@pytest.fixture
def source(course: Path) -> nbformat.NotebookNode:
    return read(course / "build/source" / NAME / f"{NAME}.ipynb")


def test_the_mini_course_is_clean(course: Path, source) -> None:
    assert leaks(source, read(released_path(course))) == []
    assert changes_besides_adding(read(released_path(course)), read(solved_path(course))) == []


ANSWER = (
    "first_addend, second_addend = number, number\ntotal = first_addend + second_addend\n"
    "return total if total == 2 * number else None"
)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("in a text", f"For example:\n```python\n{ANSWER}\n```"),
        ("re-indented", ANSWER.replace("\n", "\n        ")),
        ("on one line", ANSWER.replace("\n", "; ")),
        ("commented out", "# " + ANSWER.replace("\n", "\n# ")),
    ],
)
def test_an_answer_in_another_cell_is_seen(course: Path, source, where: str, what: str) -> None:
    notebook = read(released_path(course))
    notebook.cells.append(nbformat.v4.new_markdown_cell(what))
    assert any("double: solution stands" in sentence for sentence in leaks(source, notebook))


def test_a_short_answer_in_its_own_cell_is_seen(course: Path) -> None:
    change_lesson(course, ANSWER.replace("\n", "\n    "), "return 2 * number")
    (lesson,) = [one for one in write_sources(course) if one.name == NAME]
    notebook = released(course, lesson)
    assert leaks(lesson.notebook, notebook) == []
    stub = next(cell for cell in notebook.cells if cell.id == "double")
    stub.source += "\n    return 2*number"
    assert leaks(lesson.notebook, notebook) == ["double: its own cell still holds its solution"]


def test_a_hidden_test_is_seen(course: Path, source) -> None:
    notebook = read(released_path(course))
    full = next(cell for cell in source.cells if cell.id == "double-hidden")
    next(cell for cell in notebook.cells if cell.id == "double-hidden").source = full.source
    said = leaks(source, notebook)
    assert any("hidden tests stands" in sentence for sentence in said)
    assert "the marker BEGIN HIDDEN stands in the release" in said


def test_an_answer_in_metadata_or_outputs_is_seen(course: Path, source) -> None:
    for place in ("metadata", "outputs"):
        notebook = read(released_path(course))
        cell = next(cell for cell in notebook.cells if cell.id == "setup")
        if place == "metadata":
            cell.metadata["kept"] = {"before": [ANSWER]}
        else:
            cell.outputs = [nbformat.v4.new_output("stream", text=ANSWER)]
        assert any("solution stands" in sentence for sentence in leaks(source, notebook)), place


def test_a_solution_note_is_seen(course: Path, source) -> None:
    notebook = read(released_path(course))
    note = next(cell for cell in source.cells if "solution-note" in cell.metadata.get("tags", []))
    notebook.cells.append(nbformat.v4.new_markdown_cell(f"By the way: {note.source}"))
    assert leaks(source, notebook) == [
        "double-hidden--note-1: a solution note stands in the release"
    ]


def test_a_line_that_solving_changes_is_seen(course: Path) -> None:
    notebook = read(released_path(course))
    stub = next(cell for cell in notebook.cells if cell.id == "double")
    stub.source = stub.source.replace("def double(number)", "def double(n)")
    said = changes_besides_adding(notebook, read(solved_path(course)))
    assert said == ["double: solving it changes lines that are not the stub's"]
    stub.metadata.tags = ["repair"]
    assert changes_besides_adding(notebook, read(solved_path(course))) == []


def test_a_stub_with_no_place_to_write_is_seen(course: Path) -> None:
    notebook = read(released_path(course))
    stub = next(cell for cell in notebook.cells if cell.id == "double")
    stub.source = 'def double(number):\n    """Twice the number."""'
    said = changes_besides_adding(notebook, read(solved_path(course)))
    assert said == ["double: nothing in it says where to write"]
