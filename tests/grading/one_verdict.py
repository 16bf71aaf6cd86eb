"""What the notebook, the terminal and grading say of the gallery's answers, each in its whole lesson.

    python -m tests.grading.one_verdict        every answer, for the report card

One notebook holds an answer to every exercise of its lesson, so few notebooks hold the whole gallery.
Exit status 1 where two of the three places differ.
"""

from __future__ import annotations

import ast
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import evaluate
from autograder.grading.box import Walls
from autograder.grading.judge import examination
from autograder.grading.one_submission import How, Submission, close_boxes, grade
from autograder.learner.lesson import LessonFiles
from autograder.learner.slice import definition_of
from autograder.learner.terminal_check import check_notebook
from autograder.observation.source import Source
from lessons.source import read_lesson as read_source
from tests.mistakes.gallery import Answer, answers, load

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(path.name for path in (ROOT / "solutions").glob("[0-9]*"))
TODAY = int(os.environ.get("TEST_DAY", "0"))  # see tests/conftest.py
SEED = 20_261_121
Said = dict[
    str, tuple[bool, str]
]  # by exercise: whether it passes, and the first rule that is broken


def lesson_files(lesson: str) -> LessonFiles:
    """A lesson as grading reads it."""
    return LessonFiles(
        lesson, nbformat.writes(read_source(ROOT / "lessons" / f"{lesson}.py").notebook)
    )


def solution(lesson: str) -> NotebookNode:
    """The lesson with its answers, as it was built."""
    return nbformat.read(ROOT / "solutions" / lesson / f"{lesson}.ipynb", as_version=4)


def filled_in(lesson: str, chosen: list[Answer]) -> NotebookNode:
    """The lesson's solution with these answers in place of its own."""
    notebook = solution(lesson)
    for cell in notebook.cells:
        for answer in chosen:
            if is_answer(cell) and definition(answer.exercise, cell.source):
                cell.source = answer.source
    return notebook


def definition(exercise: str, text: str) -> Source | None:
    """The last class or function of that name in a cell; None where there is none."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    for node in reversed(body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == exercise:
            return definition_of(node, text)
    return None


def is_answer(cell: NotebookNode) -> bool:
    """Whether a learner fills in this cell."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def one_of_each(lesson: str, turn: int) -> list[Answer]:
    """An answer to each exercise of a lesson; another one in each turn, until all have had theirs."""
    by_exercise: dict[str, list[Answer]] = {}
    for answer in answers(lesson):
        by_exercise.setdefault(answer.exercise, []).append(answer)
    chosen = []
    for exercise, known in by_exercise.items():
        random.Random(exercise).shuffle(known)
        chosen.append(known[turn % len(known)])
    return chosen


def turns(lesson: str) -> int:
    """How many notebooks hold every answer to every exercise of a lesson."""
    counts: dict[str, int] = {}
    for answer in answers(lesson):
        counts[answer.exercise] = counts.get(answer.exercise, 0) + 1
    return max(counts.values())


def seed_of(exercise: str) -> int:
    """The seed with which a whole class is asked this exercise."""
    return examination(exercise, SEED).seed


def in_the_notebook(chosen: list[Answer]) -> Said:
    """What `check` says below the answer's own cell."""
    said = {}
    for answer in chosen:
        report = evaluate(
            load(answer.source, answer.exercise),
            exercise=answer.exercise,
            seed=seed_of(answer.exercise),
        )
        said[answer.exercise] = report.passed, report.findings[0].rule if report.findings else ""
    return said


def in_the_terminal(notebook: NotebookNode, lesson: str) -> Said:
    """What `python -m autograder check` says of a notebook."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{lesson}.ipynb")
        nbformat.write(notebook, path)
        reports = check_notebook(path, hidden=True, seed=seed_of).reports
    return {r.exercise: (r.passed, r.findings[0].rule if r.findings else "") for r in reports}


def in_grading(notebook: NotebookNode, lesson: str, walls: Walls | None = None) -> Said:
    """What `autograder grade` says of a notebook."""
    how = How(SEED, walls=walls or Walls())
    result = grade(Submission("ada", json.dumps(notebook).encode()), lesson_files(lesson), how)
    return {m.exercise: (bool(m.report["passed"]), m.rule) for m in result.marks if m.hidden}


def differences(lesson: str, turn: int) -> Iterator[str]:
    """Where two of the three places differ on the answers of one notebook."""
    chosen = one_of_each(lesson, turn)
    notebook = filled_in(lesson, chosen)
    said = in_the_notebook(chosen), in_the_terminal(notebook, lesson)
    graded = in_grading(notebook, lesson)
    for answer in chosen:
        found = [one.get(answer.exercise) for one in (*said, graded)]
        if len(set(found)) > 1 or found[0] is None or found[0][0] != answer.right:
            yield f"{answer.id}: notebook {found[0]}, terminal {found[1]}, grading {found[2]}"


def main() -> int:
    """Every answer of the gallery."""
    found = []
    for lesson in LESSONS:
        for turn in range(turns(lesson)):
            found += differences(lesson, turn)
        print(
            f"{lesson}: {turns(lesson)} notebooks; so far {len(found)} answers differ", flush=True
        )
    close_boxes()
    print("\n".join(dict.fromkeys(found)) or "One verdict in all three places.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
