"""A lesson of two exercises, and notebooks that answer it: what every attack is mounted on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from autograder.learner.lesson import LessonFiles

NAME = "01_two"
SETUP = """\
import torch
from torch.autograd import Function

from autograder import check, hint, progress
"""
DEMONSTRATION = """\
def logistic(x):
    return 1 / (1 + torch.exp(-x))


print("a demonstration", logistic(torch.zeros(1)).item())
"""
RIGHT = {
    "Square": """\
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
""",
    "MySigmoid": """\
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)
""",
}
WRONG = {
    "Square": RIGHT["Square"].replace("2 * x * grad_output", "x * grad_output"),
    "MySigmoid": RIGHT["MySigmoid"].replace("y * (1 - y)", "y"),
}
_STUB = "        # YOUR CODE HERE\n        raise NotImplementedError()\n"
_SKELETON = """\
class {name}(Function):
    @staticmethod
    def forward(ctx, x):
{body}
    @staticmethod
    def backward(ctx, grad_output):
{body}"""
STUB = {name: _SKELETON.format(name=name, body=_STUB) for name in RIGHT}
_RELEASED = "# The hidden checks of {name} run here when this notebook is graded.\n"
# The text of hidden graded cells as learners have it, and what stands there when they are graded.
HIDDEN_TESTS = {_RELEASED.format(name=name): f"check({name}, hidden=True)" for name in RIGHT}
VISIBLE, HIDDEN = 2.0, 3.0
EACH = VISIBLE + HIDDEN
FULL = EACH * len(RIGHT)

Cell = dict[str, Any]


def code(source: str, grade_id: str = "", points: float | None = None, solution: bool = False):
    """A code cell as it stands in a file; its id is its grade_id, as the lessons have it."""
    cell: Cell = {
        "cell_type": "code", "source": source, "metadata": {}, "outputs": [],
        "execution_count": None, "id": grade_id or f"own-{abs(hash(source)) % 10**9}",
    }  # fmt: skip
    if grade_id:
        role: dict[str, Any] = {
            "grade_id": grade_id, "grade": points is not None, "solution": solution,
            "locked": not solution, "task": False, "schema_version": 3,
        }  # fmt: skip
        if points is not None:
            role["points"] = points
        cell["metadata"]["nbgrader"] = role
    return cell


def markdown(source: str) -> Cell:
    return {"cell_type": "markdown", "source": source, "metadata": {}, "id": "text"}


def notebook(cells: Iterable[Cell]) -> Cell:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}


def lesson_cells(answers: dict[str, str], source: bool = False) -> list[Cell]:
    """The lesson with these answers in it; as the instructor has it, or as learners get it."""
    cells = [
        code(SETUP, "setup"),
        markdown("# Two exercises"),
        code(DEMONSTRATION, "demo-logistic"),
    ]
    for name, answer in answers.items():
        low = name.lower()
        cells.append(code(answer, low, solution=True))
        cells.append(code(f"check({name})", f"{low}-check", VISIBLE))
        hidden = _RELEASED.format(name=name)
        if source:
            hidden += f"### BEGIN HIDDEN TESTS\n{HIDDEN_TESTS[hidden]}\n### END HIDDEN TESTS"
        cells.append(code(hidden, f"{low}-hidden", HIDDEN))
    return cells


@cache
def lesson_files() -> LessonFiles:
    source, released = notebook(lesson_cells(RIGHT, source=True)), notebook(lesson_cells(STUB))
    return LessonFiles(NAME, json.dumps(source), json.dumps(released))


def handed_in(
    answers: dict[str, str] | None = None, before: Iterable[str] = (), after: Iterable[str] = ()
) -> Cell:
    """What a learner hands in: answers (others are wrong), cells before the first and after the last."""
    cells = lesson_cells(WRONG | (answers or {}))
    own = [code(text) for text in before]
    return notebook([*cells[:3], *own, *cells[3:], *(code(text) for text in after)])


def needing(source: str, answer: str) -> str:
    """The answer with text that runs as its class is made: so it is a part of what is graded."""
    lines = "".join(f"    {line}\n" for line in source.splitlines())
    head, _, body = answer.partition("(Function):\n")
    return f"def hostile():\n{lines}\n\n{head}(Function):\n    _ = hostile()\n{body}"


def as_file(content: Any) -> bytes:
    return json.dumps(content).encode()
