"""`make demo`: a small class hands in two lessons and is graded, with nbgrader's own commands.

Three learners: one got everything right, one never started, one has a wrong backward. The folder is
kept, so that its pages can be looked at; it is a course folder like an instructor's.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.grading.box import trouble
from autograder.grading.course import run_python
from autograder.grading.lesson_building import solution_in
from autograder.grading.words import Trouble, filled

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LESSONS = ("01_template", "02_sigmoid")

# Wrong answers to type in, by the cell they are for: a forgotten factor and a flipped sign.
WRONG_ANSWERS = {
    "square": '''\
class Square(torch.autograd.Function):
    """x², element by element."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x
''',
    "my-sigmoid": '''\
class MySigmoid(torch.autograd.Function):
    """The logistic sigmoid."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * (1 - y)
''',
}

# Gives what a learner hands in, from the notebook they got and the lesson it was made from.
Answer = Callable[[NotebookNode, NotebookNode], NotebookNode]


def untouched(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The notebook as the learner got it."""
    return nbformat.from_dict(released)


def right(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The notebook with the solutions typed into the cells that ask for them."""
    answers = {cell.id: solution_in(cell.source) for cell in lesson.cells}
    notebook = untouched(released, lesson)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers[cell.id]
    return notebook


def wrong_backward(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """All right but one backward: a forgotten factor in lesson 01, a flipped sign in 02."""
    notebook = right(released, lesson)
    for cell in notebook.cells:
        cell.source = WRONG_ANSWERS.get(cell.id, cell.source)
    return notebook


LEARNERS: Mapping[str, Answer] = {"ada": right, "ben": untouched, "carla": wrong_backward}


def prepare(repository: Path, folder: Path, lessons: Sequence[str] = ()) -> None:
    """Make `folder` a course folder: the lessons of `repository` (all, or these), released and in a gradebook.

    The notebooks are built here: those in the repository's course/ may hold somebody's answers.
    """
    shutil.copy2(repository / "nbgrader_config.py", folder)
    others = [p.name for p in (repository / "lessons").glob("[0-9]*.py") if p.stem not in lessons]
    left_out = shutil.ignore_patterns("__pycache__", *(others if lessons else ()))
    shutil.copytree(repository / "lessons", folder / "lessons", ignore=left_out)
    run(folder, "lessons/build.py", "--gradebook")
    shutil.copytree(folder / "build" / "release", folder / "course")


def submit(folder: Path, lesson: str, learner: str, answer: Answer) -> Path:
    """Put a learner's notebook where nbgrader collects submissions; gives its path."""
    name = f"{lesson}.ipynb"
    released, source = (
        nbformat.read(folder / part / lesson / name, as_version=4)
        for part in ("course", "build/source")
    )
    target = folder / "submitted" / learner / lesson / name
    target.parent.mkdir(parents=True)
    nbformat.write(answer(released, source), target)
    return target


def grade(folder: Path, lesson: str) -> None:
    """Autograde what was submitted for a lesson, and write the feedback pages.

    These learners are our own invention, so they are graded on machines without a sandbox as well.
    """
    settings = ["--ExecuteInBox.unsafe=True"] if no_sandbox() else []
    run(folder, "-m", "nbgrader", "autograde", lesson, *settings)
    run(folder, "-m", "nbgrader", "generate_feedback", lesson)


@cache
def no_sandbox() -> str:
    """Why submissions cannot be run in the sandbox on this machine; "" where they can."""
    return trouble()


def scores(folder: Path) -> list[dict[str, str]]:
    """What `nbgrader export` says: a row for each lesson and learner."""
    run(folder, "-m", "nbgrader", "export")
    with (folder / "grades.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def run(folder: Path, *command: str) -> None:
    """Run this Python on a command in `folder`. Raises Trouble with the end of what it said."""
    done = run_python(folder, *command)
    with (folder / "demo.log").open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(command)}\n{done.stdout}\n")
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-25:])
        raise Trouble(f"`{' '.join(command)}` in {folder} did not work:\n{end}")


def table(rows: list[dict[str, str]]) -> str:
    """Learners down, lessons across, "score / of how many" in between."""
    return filled("table.txt.j2", rows=rows)


def run_demo(options: argparse.Namespace) -> int:
    """Grade the invented class, and print what came of it."""
    folder = Path(options.folder or tempfile.mkdtemp(prefix="backward-by-hand-class-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Trouble(f"The folder {folder} is not empty; choose another.")
    if why := no_sandbox():
        print(f"*** No sandbox here ({why}). The work of real learners would not be graded.")
    print(f"Making a course folder with its gradebook: {folder} …", flush=True)
    prepare(REPOSITORY, folder, LESSONS)
    for lesson in LESSONS:
        print(f"{', '.join(LEARNERS)} hand in {lesson}; nbgrader grades it …", flush=True)
        for learner, answer in LEARNERS.items():
            submit(folder, lesson, learner, answer)
        grade(folder, lesson)
    rows = [row for row in scores(folder) if row["assignment"] in LESSONS]
    pages, bin = sorted(folder.glob("feedback/*/*/*.html")), Path(sys.executable).parent
    print(filled("demo.txt.j2", table=table(rows), folder=folder, pages=pages, bin=bin))
    return 0
