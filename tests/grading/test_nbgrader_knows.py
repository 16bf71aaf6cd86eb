"""`nbgrader autograde` knows what `autograder grade` knows of who waits, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from tests.grading import batches
from tests.grading.walls import needs_walls

PLUGINS = "from autograder.grading.config import configure\nconfigure(c)\n"
SLOW = "import time\n" + batches.SQUARE.replace(":\n", ":\n    time.sleep(9)\n", 1)
SUSPICIOUS = batches.using("pdb")
OTHER = "02_other"


def autograde(course: Any, *more: str) -> str:
    """Run nbgrader's own command; what it said."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic
    words = [sys.executable, "-m", "nbgrader", "autograde", batches.LESSON, "--force", *more]
    done = subprocess.run(
        words, cwd=course.root, capture_output=True, text=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(batches.REPOSITORY)},
    )  # fmt: skip
    print(done.stdout + done.stderr)
    return done.stdout + done.stderr


def class_of(tmp_path: Path, **answers: str) -> Any:
    """A course that nbgrader grades with our plug-ins, and who handed in what for Square."""
    course = batches.make_course(tmp_path / "course", 0)
    root = Path(course.root)
    with (root / "nbgrader_config.py").open("a") as settings:
        settings.write(PLUGINS)
    for student, answer in answers.items():
        batches.hand_in(root, student, batches.notebook({"Square": answer}))
    return course


def standing(course: Any, student: str) -> tuple[float, bool]:
    """Points, and whether a person has to look."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_submission(batches.LESSON, student)
        return found.score, found.needs_manual_grade


@needs_walls
@pytest.mark.slow
def test_an_acceptance_holds_for_the_same_work(tmp_path: Path) -> None:
    course = class_of(tmp_path, ada=SUSPICIOUS, ben=SUSPICIOUS)
    assert main(["grade", "--course", course.root, "--jobs", "1"]) == 0
    assert main(["accept", "ada", batches.LESSON, "--yes", "--course", course.root]) == 0
    autograde(course)
    assert (standing(course, "ada"), standing(course, "ben")) == ((5.0, False), (0.0, True))
    notebook = Path(course.root, "autograded/ada", batches.LESSON, f"{batches.LESSON}.ipynb")
    assert "A person looked at this notebook" in notebook.read_text()
    # Handed in again with one more line, it waits again.
    again = batches.notebook({"Square": batches.using("pdb, ctypes")})
    batches.hand_in(Path(course.root), "ada", again)
    autograde(course)
    assert standing(course, "ada") == (0.0, True)


@needs_walls
@pytest.mark.slow
def test_time_that_ran_out_waits(tmp_path: Path) -> None:
    course = class_of(tmp_path, ada=SLOW, ben=batches.SQUARE)
    autograde(course, "--ExecuteInBox.seconds=3")
    assert (standing(course, "ada"), standing(course, "ben")) == ((0.0, True), (5.0, False))
    notebook = Path(course.root, "autograded/ada", batches.LESSON, f"{batches.LESSON}.ipynb")
    assert "ran out before these had been asked" in notebook.read_text()


@needs_walls
@pytest.mark.slow
def test_another_lessons_notebook_is_no_zero(tmp_path: Path) -> None:
    course = class_of(tmp_path, ben=batches.SQUARE)
    root = Path(course.root)
    cells = tuple(
        batches.code(f"print({n})  # {'another lesson' * 4}", f"other-{n}") for n in range(4)
    )
    other = batches.notebook({"MySigmoid": batches.SIGMOID}, "import torch", cells)
    batches.add_lesson(root, OTHER, other)
    batches.hand_in(root, "ada", other)
    said = autograde(course)
    assert f"is the notebook of {OTHER}, not of {batches.LESSON}" in said
    assert standing(course, "ben") == (5.0, False)
    assert not (root / "autograded/ada").exists() or not any(root.glob("autograded/ada/*/*"))
