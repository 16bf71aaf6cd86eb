"""The notebook, the terminal and grading say the same of an answer, set into its whole lesson.

Each day another answer to each exercise; `make report-card` takes them all.
"""

from __future__ import annotations

import nbformat
import pytest

from tests.conftest import of_today
from tests.grading import one_verdict
from tests.grading.one_verdict import LESSONS, ROOT, TODAY
from tests.grading.walls import needs_walls


@needs_walls
@pytest.mark.parametrize("lesson", of_today(LESSONS, 11))
def test_three_places_give_one_verdict(lesson: str) -> None:
    print(f"turn {TODAY}: {[answer.id for answer in one_verdict.one_of_each(lesson, TODAY)]}")
    assert list(one_verdict.differences(lesson, TODAY)) == []


@needs_walls
@pytest.mark.parametrize("lesson", of_today(LESSONS[::-1], 11))
def test_an_executed_solution_passes_in_each(lesson: str) -> None:
    notebook = one_verdict.solution(lesson)
    checks = [c for c in notebook.cells if c.cell_type == "code" and c.source.startswith("check(")]
    assert checks
    for cell in checks:  # as it was executed in a notebook
        assert not [one for one in cell.outputs if one.output_type == "error"]
        assert "✓" in nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    path = ROOT / "solutions" / lesson / f"{lesson}.ipynb"
    reports = one_verdict.check_notebook(path, hidden=True).reports
    graded = one_verdict.in_grading(notebook, lesson)
    assert {r.exercise: (r.passed, "") for r in reports} == graded
    assert all(passed for passed, _ in graded.values())


def test_a_terminal_knows_a_lesson_under_another_name(tmp_path) -> None:
    path = tmp_path / "my own copy (1).ipynb"
    nbformat.write(one_verdict.solution("01_template"), path)
    found = one_verdict.check_notebook(path, only="Square")
    assert [report.exercise for report in found.reports] == ["Square"]
    assert all(report.passed for report in found.reports)


def test_what_stands_in_a_locked_cell_is_the_lessons(tmp_path) -> None:
    """A check that somebody wrote over is asked all the same, as when it is graded."""
    notebook = one_verdict.solution("01_template")
    for cell in notebook.cells:
        if cell.source.startswith("check("):
            cell.source = "print('all is well')"
        if one_verdict.is_answer(cell) and "class Square" in cell.source:
            cell.source = cell.source.replace("2 *", "3 *")
        cell.metadata = {}
    path = tmp_path / "01_template.ipynb"
    nbformat.write(notebook, path)
    found = one_verdict.check_notebook(path, only="Square", seed=lambda name: 3)
    assert [report.passed for report in found.reports] == [False]


def test_a_cell_that_stops_is_named_and_the_rest_runs(tmp_path) -> None:
    notebook = one_verdict.solution("01_template")
    at = next(
        i
        for i, c in enumerate(notebook.cells)
        if one_verdict.is_answer(c) and "class Square" in c.source
    )
    notebook.cells[at].source = notebook.cells[at].source.replace(
        "(Function):\n", "(Function):\n    limit = limit\n", 1
    )
    own = ["1 / 0\nraise SystemExit", "%matplotlib inline\n!ls\nlimit = 1\nlimit = limit / 0"]
    for text in own:
        notebook.cells.insert(at, nbformat.v4.new_code_cell(text))
    path = tmp_path / "01_template.ipynb"
    nbformat.write(notebook, path)
    found = one_verdict.check_notebook(path, only="Square")
    assert all(report.passed for report in found.reports)
    (trouble,) = found.troubles
    assert "ZeroDivisionError: division by zero (line 4: limit = limit / 0)" in trouble
