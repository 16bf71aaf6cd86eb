"""The widgets in the notebooks as learners open them: nothing is solved yet, and none may fail."""

import ast
import re
from pathlib import Path

import matplotlib
import nbformat
import pytest

from autograder.exercises import lesson_exercises
from tests.conftest import of_today

COURSE = Path(__file__).parents[2] / "course"
LEFT_OUT = ("finale-run", "quiz-")
# Every lesson shows the learner's own Function from within, and these the other widgets too.
SHOWN = {
    "01_template": {"xray", "gradient_flow", "function_builder"},
    "02_sigmoid": {"xray", "function_builder", "saved_ledger"},
    "03_linear": {"xray", "gradient_flow", "saved_ledger"},
    "04_ste": {"xray", "ste_explorer"},
    "05_double_backward": {"xray"},
    "06_checkpointing": {"xray", "memory_timeline", "saved_ledger"},
    "07_attention": {"xray", "attention_map", "saved_ledger"},
    "08_patterns": {"xray", "jacobian_map", "saved_ledger"},
    "09_layers": {"xray", "saved_ledger"},
    "10_debugging": {"xray"},
    "11_outside_torch": {"xray", "saved_ledger"},
    "12_modern": {"xray"},
}


@pytest.mark.parametrize("lesson", of_today(list(SHOWN), 6))
def test_a_widget_on_an_unwritten_exercise_says_so_and_does_not_fail(lesson, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.setenv("NBGRADER_EXECUTION", "1")
    # A repair is released as code that runs; what is wrong with it is there to be seen.
    exercises = {exercise.name for exercise in lesson_exercises(lesson)} - repairs_of(lesson)
    views = views_of(lesson)
    assert {widget for widget, _, _ in views} >= SHOWN[lesson]
    for widget, names, view in views:
        on_an_exercise = widget != "progress" and not exercises.isdisjoint(names)
        assert ("not written yet" in view) == on_an_exercise, (widget, names)
        assert "Error:" not in view


def repairs_of(lesson: str) -> set[str]:
    """The exercises of a lesson that are handed out as code to repair."""
    cells = nbformat.read(COURSE / lesson / f"{lesson}.ipynb", as_version=4).cells
    repairs = [cell.source for cell in cells if "repair" in cell.metadata.get("tags", ())]
    return {re.search(r"^class (\w+)", source, re.MULTILINE)[1] for source in repairs}


def views_of(lesson: str) -> list[tuple[str, set[str], str]]:
    """Of each widget cell of a released notebook: the widget, the names in it, its text."""
    notebook = nbformat.read(COURSE / lesson / f"{lesson}.ipynb", as_version=4)
    space: dict[str, object] = {"__name__": "__main__"}
    views = []
    for cell in notebook.cells:
        data = cell.metadata.get("nbgrader", {})
        name = data.get("grade_id", "")
        if cell.cell_type != "code" or data.get("grade") or name.startswith(LEFT_OUT):
            continue
        if name.startswith("see-"):
            assert data["locked"]
            views.append(view_of(ast.parse(cell.source), space))
        else:
            try:
                exec(cell.source, space)
            except Exception:  # it needs an exercise, or a cell that does
                assert name.startswith(("demo-", "try-", "finale-")), name
    return views


def view_of(cell: ast.Module, space: dict[str, object]) -> tuple[str, set[str], str]:
    """Run a cell whose last line shows a widget, as a notebook does."""
    names = {node.id for node in ast.walk(cell) if isinstance(node, ast.Name)}
    last = cell.body.pop()
    exec(compile(cell, "cell", "exec"), space)
    view = str(eval(compile(ast.Expression(last.value), "cell", "eval"), space))
    return last.value.func.id, names, view
