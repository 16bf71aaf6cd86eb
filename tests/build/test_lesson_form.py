"""What every lesson has: a line to type early, predictions, a bug to find, sources, little drawing code."""

from __future__ import annotations

import ast
import re
from functools import cache

import nbformat
import pytest
from nbformat import NotebookNode

from lessons.convert import notebook_path
from lessons.source import Lesson, read_lessons
from tests.build.real_course import REPOSITORY
from widgets.quiz_data import bug_of, lesson_of, predictions_of

FIRST_TYPED = 10  # cells, in which a learner types a first line
DRAWN = 10  # lines of a lesson that only draw, folded cells aside
SOURCE = re.compile(
    r"- (?P<who>[^(]+) \((?P<when>\d{4}|torch \d+\.\d+)\): \[\*.+\*\]\(https://\S+\)\. \S.+\."
)


@cache
def lessons() -> dict[str, Lesson]:
    return {lesson.name: lesson for lesson in read_lessons(REPOSITORY / "lessons")}


def each_lesson(*left_out: str) -> list[str]:
    return [name for name in lessons() if name not in left_out]


def quiz_of(lesson: str) -> str:
    return lesson.partition("_")[2]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", each_lesson())
def test_a_first_line_is_typed_within_ten_cells(name: str) -> None:
    open_cells = {
        cell.id
        for cell in code_cells(lessons()[name].notebook)
        if not cell.metadata.nbgrader.locked
    }
    built = nbformat.read(notebook_path(REPOSITORY / "course", name), as_version=4)
    place = next(index for index, cell in enumerate(built.cells) if cell.id in open_cells)
    assert place < FIRST_TYPED


@pytest.mark.parametrize("name", each_lesson("00_start_here"))
def test_a_lesson_asks_before_it_shows(name: str) -> None:
    cells = [cell.source for cell in code_cells(lessons()[name].notebook)]
    asked = {
        called: place for place, cell in enumerate(cells) for called in calls("predict", cell)
    }
    told = {
        called: place for place, cell in enumerate(cells) for called in calls("outcome", cell)
    }
    assert len(asked) >= 3
    assert asked.keys() == told.keys()
    assert all(asked[called] < told[called] for called in asked)
    expected = set(predictions_of(quiz_of(name))) - {bug_of(quiz_of(name))}
    assert set(asked) == expected, "written and never asked"


@pytest.mark.parametrize("name", each_lesson("00_start_here"))
def test_a_lesson_ends_with_a_bug_to_find(name: str) -> None:
    source = "\n".join(cell.source for cell in code_cells(lessons()[name].notebook))
    assert calls("suspects", source) == calls("verdict", source) == [quiz_of(name)]
    assert lesson_of(bug_of(quiz_of(name))) == quiz_of(name)


@pytest.mark.parametrize("name", each_lesson("00_start_here"))
def test_a_lesson_names_its_sources(name: str) -> None:
    sections = [
        cell.source
        for cell in lessons()[name].notebook.cells
        if cell.cell_type == "markdown" and re.search(r"^## Sources$", cell.source, re.M)
    ]
    assert len(sections) == 1
    lines = [line for line in sections[0].splitlines() if line.startswith("- ")]
    assert [line for line in lines if not SOURCE.fullmatch(line)] == []
    whens = [SOURCE.fullmatch(line)["when"] for line in lines]
    assert any(when.startswith("torch") for when in whens), "no page of torch's own"
    assert sum(when.isdigit() for when in whens) >= 2, "no paper or book"


@pytest.mark.parametrize("name", each_lesson())
def test_nobody_has_to_read_how_pictures_are_drawn(name: str) -> None:
    lines = {
        cell.id: drawn
        for cell in code_cells(lessons()[name].notebook)
        if not cell.metadata.get("jupyter", {}).get("source_hidden")
        and (drawn := drawing_lines(cell.source))
    }
    assert sum(lines.values()) <= DRAWN, lines


def calls(function: str, source: str) -> list[str]:
    """What a function is called with, where it is called with one name in quotes."""
    return [
        node.args[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == function
        and isinstance(node.args[0], ast.Constant)
    ]


def drawing_lines(source: str) -> int:
    """How many lines of a cell only draw: statements that call a method of a figure or of axes."""
    tree = ast.parse(source)
    drawn: set[str] = {"plt", "show"}  # and what comes of them: figures, axes, loops over axes
    while True:
        more = {
            name.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.For)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if _names(node.value if isinstance(node, ast.Assign) else node.iter) & drawn
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        if more <= drawn:
            break
        drawn |= more
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr | ast.Assign) and _names(node.value) & drawn:
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _names(node: ast.AST) -> set[str]:
    """The names whose methods a statement calls, or that it calls."""
    found = set()
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            base: ast.AST = call.func
            while isinstance(base, ast.Attribute | ast.Subscript | ast.Call):
                base = base.func if isinstance(base, ast.Call) else base.value
            if isinstance(base, ast.Name):
                found.add(base.id)
            found |= {arg.id for arg in call.args if isinstance(arg, ast.Name)}
        elif isinstance(call, ast.Name) and node is call:
            found.add(call.id)
    return found


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("y = torch.sin(x)\nprint(y)", 0),
        ("figures.u_curve(steps, errors)", 0),
        ("fig, ax = plt.subplots()\nax.plot(x)\nax.set(\n    title='t',\n)\nshow(fig, alt='a')", 6),
        ("figure, axes = plt.subplots(1, 2)\nfor ax in axes:\n    y = 2\n    ax.plot(y)", 2),
        ("figure, (left, right) = plt.subplots(1, 2)\nleft.plot(x)", 2),
    ],
)
def test_drawing_is_told_from_computing(cell: str, lines: int) -> None:
    assert drawing_lines(cell) == lines


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ("- Jane Doe and others (2017): [*A paper*](https://arxiv.org/abs/1). Why to read it.", True),
        ("- PyTorch (torch 2.13): [*A page*](https://docs.pytorch.org/x). What it says.", True),
        ("- Jane Doe (2017): *A paper*. Why to read it.", False),
        ("- Jane Doe: [*A paper*](https://arxiv.org/abs/1). Why to read it.", False),
        ("- Jane Doe (2017): [*A paper*](https://arxiv.org/abs/1).", False),
    ],
)
def test_a_source_has_name_year_link_and_reason(line: str, good: bool) -> None:
    assert bool(SOURCE.fullmatch(line)) == good
