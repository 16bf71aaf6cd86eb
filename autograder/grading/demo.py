"""`make demo`: a small class hands in two lessons and is graded, with nbgrader's own commands.

Three learners: one got everything right, one never started, one has a wrong backward. The folder is
kept, so that its pages can be looked at; it is a course folder like an instructor's.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.grading.box import trouble
from autograder.grading.lesson_building import DropStart, without_markers

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LESSONS = ("01_template", "02_sigmoid")

# Wrong answers to type in, by the exercise they are for: a forgotten factor and a flipped sign.
WRONG_ANSWERS = {
    "Square": '''\
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
    "MySigmoid": '''\
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


class DemoError(Exception):
    """A step that did not work, with what the command said."""


def untouched(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The notebook as the learner got it."""
    return nbformat.from_dict(released)


def right(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The notebook with the solutions typed into the cells that ask for them."""
    without_broken_versions, _ = DropStart().preprocess(nbformat.from_dict(lesson), {})
    answers = {cell.id: without_markers(cell.source) for cell in without_broken_versions.cells}
    notebook = nbformat.from_dict(released)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers[cell.id]
    return notebook


def wrong_backward(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """All right but one backward: a forgotten factor in lesson 01, a flipped sign in 02."""
    notebook = right(released, lesson)
    for cell in notebook.cells:
        for name, answer in WRONG_ANSWERS.items():
            if (
                cell.metadata.get("nbgrader", {}).get("solution")
                and f"class {name}(" in cell.source
            ):
                cell.source = answer
    return notebook


LEARNERS: Mapping[str, Answer] = {"ada": right, "ben": untouched, "carla": wrong_backward}


def prepare(repository: Path, folder: Path) -> None:
    """Make `folder` a course folder: the lessons of `repository`, released and in a gradebook.

    The notebooks are built here: those in the repository's course/ may hold somebody's answers.
    """
    shutil.copy2(repository / "nbgrader_config.py", folder)
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(repository / "lessons", folder / "lessons", ignore=no_caches)
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
    """Run this Python on a command in `folder`. Raises DemoError with the end of what it said."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    # nbgrader calls `alembic` by its name
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with (folder / "demo.log").open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(command)}\n{done.stdout}\n")
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-25:])
        raise DemoError(f"`{' '.join(command)}` in {folder} did not work:\n{end}")


def table(rows: list[dict[str, str]]) -> str:
    """Learners down, lessons across, "score / of how many" in between."""
    lessons = sorted({row["assignment"] for row in rows})
    learners = sorted({row["student_id"] for row in rows})
    found = {
        (
            row["student_id"],
            row["assignment"],
        ): f"{float(row['score']):g} / {float(row['max_score']):g}"
        for row in rows
    }
    lines = [["learner", *lessons]]
    lines += [[who, *(found.get((who, lesson), "–") for lesson in lessons)] for who in learners]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["   ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([texts[0], "─" * max(map(len, texts)), *texts[1:]])


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.demo", description=__doc__)
    parser.add_argument("--folder", type=Path, help="an empty folder (default: a temporary one)")
    folder = parser.parse_args(arguments).folder
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="backward-by-hand-class-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"The folder {folder} is not empty; choose another.", file=sys.stderr)
        return 1
    try:
        rows = _hold_class(folder.resolve())
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n" + table(rows) + "\n")
    _say_what_to_look_at(folder.resolve())
    return 0


def _hold_class(folder: Path) -> list[dict[str, str]]:
    if why := no_sandbox():
        print(f"*** No sandbox here ({why}). The work of real learners would not be graded.")
    with _Step(f"A course folder with its gradebook: {folder}"):
        prepare(REPOSITORY, folder)
    for lesson in LESSONS:
        for learner, answer in LEARNERS.items():
            submit(folder, lesson, learner, answer)
        with _Step(f"{', '.join(LEARNERS)} hand in {lesson}; nbgrader grades it"):
            grade(folder, lesson)
    return [row for row in scores(folder) if row["assignment"] in LESSONS]


class _Step:
    """Says what is going on before it starts, and how long it took when it is done."""

    def __init__(self, sentence: str):
        self._sentence = sentence

    def __enter__(self) -> None:
        self._start = time.monotonic()
        print(f"{self._sentence} …", end="", flush=True)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        seconds = time.monotonic() - self._start
        print(" failed" if error else f" done ({seconds:.0f} s)", flush=True)


def _say_what_to_look_at(folder: Path) -> None:
    pages = sorted(folder.glob("feedback/*/*/*.html"))
    print("What each of them gets to read (open in a browser):")
    print("\n".join(f"    {page}" for page in pages))
    print(
        "\nAs their instructor, in formgrader:\n"
        f"    cd {folder}\n"
        f"    PATH={Path(sys.executable).parent}:$PATH jupyter lab\n"
        "  then Nbgrader → Formgrader in the menu, and Manual Grading.\n"
        f"\nEverything nbgrader said is in {folder / 'demo.log'}. Delete the folder when you are done."
    )


if __name__ == "__main__":
    sys.exit(main())
