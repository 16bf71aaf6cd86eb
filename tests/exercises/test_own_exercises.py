"""Exercises that an instructor registers: found by name, in notebooks and in nbgrader's own runs."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder import check, evaluate, exercises, hint
from autograder.learner.terminal_check import check_notebook
from tests.docs import documents
from tests.docs.documents import ROOT
from tests.sigmoid_and_product import SIGMOID, Sigmoid, sigmoid_with

PAGE = ROOT / "docs" / "new-exercise.md"
CELL = {
    "read-only": {"grade": False, "locked": True, "solution": False},
    "solution": {"grade": False, "locked": False, "solution": True},
    "tests": {"grade": True, "locked": True, "solution": False, "points": 2},
}


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch):
    monkeypatch.setattr(exercises, "_registered", {})


def test_a_registered_exercise_is_found_by_the_name_of_the_class(capsys):
    mine = exercises.register(replace(SIGMOID, name="Logistic"))
    assert exercises.find("Logistic") is mine
    Logistic = type("Logistic", (Sigmoid,), {})
    assert check(Logistic) is None
    assert check(Logistic, hidden=True) is None
    assert "every promise is kept" in capsys.readouterr().out
    assert not evaluate(sigmoid_with(lambda ctx, g: g), exercise="Logistic").passed
    hint("Logistic")
    assert "Hint 1 of 3 for Logistic" in capsys.readouterr().out


def test_it_is_among_the_closest_names():
    exercises.register(replace(SIGMOID, name="Logistic"))
    with pytest.raises(ValueError, match=r"Did you mean .*Logistic"):
        exercises.find("Logistik")


def test_the_same_name_again_replaces_it():
    exercises.register(replace(SIGMOID, name="Logistic", lesson="week_1"))
    held = evaluate(Sigmoid, exercise="Logistic").held
    exercises.register(replace(SIGMOID, name="Logistic", lesson="week_1", budget=None, half=False))
    assert len(evaluate(Sigmoid, exercise="Logistic").held) < len(held)


@pytest.mark.parametrize("name", ["MySigmoid", "Double"])
def test_the_course_keeps_its_names(name):
    with pytest.raises(ValueError, match="exercise of the course"):
        exercises.register(replace(SIGMOID, name=name))


def test_only_exercises_can_be_registered():
    with pytest.raises(TypeError, match="takes an Exercise"):
        exercises.register(Sigmoid)


# ---- the page of the documentation, from nothing to graded ------------------------------------


def test_the_exercise_and_its_cells_take_fewer_than_fifty_lines():
    made = [module(), *(body for _, body in documents.blocks(PAGE, "cell"))]
    assert sum(line.strip() != "" for body in made for line in body.splitlines()) < 50


def lesson() -> nbformat.NotebookNode:
    """The notebook that the page describes."""
    cells = []
    for number, (kind, source) in enumerate(documents.blocks(PAGE, "cell")):
        data = {
            "schema_version": 3, "task": False, "grade_id": f"cell-{number}", **CELL[kind]
        }  # fmt: skip
        cells.append(new_code_cell(source.rstrip(), metadata={"nbgrader": data}))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(cells=cells, metadata=kernel)


def module() -> str:
    return dict(documents.blocks(PAGE, "file"))["week_3_exercises.py"]


def test_a_terminal_checks_the_notebook_with_the_module_beside_it(tmp_path):
    (tmp_path / "week_3_exercises.py").write_text(module())
    nbformat.write(lesson(), tmp_path / "week_3.ipynb")
    try:
        found = check_notebook(tmp_path / "week_3.ipynb", hidden=True)
    finally:
        sys.modules.pop("week_3_exercises", None)
    assert found.troubles == []
    assert [report.exercise for report in found.reports] == ["Softsign"]
    assert all(report.passed for report in found.reports)
    assert str(tmp_path) not in sys.path


def nbgrader(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_nbgrader_grades_it_by_the_instructors_own_module(tmp_path, monkeypatch):
    from nbgrader.api import Gradebook

    # nbgrader calls alembic by its name.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path.resolve()
    (folder / "nbgrader_config.py").write_text('get_config().CourseDirectory.course_id = "own"\n')
    source = folder / "source" / "week_3"
    source.mkdir(parents=True)
    (source / "week_3_exercises.py").write_text(module())
    nbformat.write(lesson(), source / "week_3.ipynb")
    nbgrader(folder, "generate_assignment", "week_3")
    released = nbformat.read(folder / "release" / "week_3" / "week_3.ipynb", as_version=4)
    assert (folder / "release" / "week_3" / "week_3_exercises.py").is_file()
    assert "hidden=True" not in str(released)

    right = "return grad_output / (1 + x.abs()) ** 2"
    wrong = right.replace("x.abs()", "x")
    forged = module().replace(
        "torch.nn.functional.softsign", "lambda x: torch.where(x > 0, x, 0 * x)"
    )
    for learner, line, beside in (
        ("ada", right, module()), ("bob", wrong, module()), ("eve", wrong, forged)
    ):  # fmt: skip
        submitted = folder / "submitted" / learner / "week_3"
        submitted.mkdir(parents=True)
        notebook = nbformat.from_dict(released)
        answer = next(cell for cell in notebook.cells if "class Softsign" in cell.source)
        answer.source = lesson().cells[1].source.replace(right, line)
        nbformat.write(notebook, submitted / "week_3.ipynb")
        (submitted / "week_3_exercises.py").write_text(beside)
    nbgrader(folder, "autograde", "week_3")
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        scores = {
            learner: book.find_submission("week_3", learner).score
            for learner in ("ada", "bob", "eve")
        }
    assert scores == {"ada": 4.0, "bob": 0.0, "eve": 0.0}
