"""The gallery: every known mistake and right answer of the course's exercises, ready to be checked."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import nbformat
import pytest
import torch
from nbformat import NotebookNode

from autograder.contract.known_mistakes import Answer as KnownAnswer
from autograder.contract.known_mistakes import read_answers
from autograder.exercises import LESSONS, find, lesson_exercises
from autograder.explaining.example_answers import code_of

_counter = itertools.count()


@dataclass(frozen=True)
class Answer(KnownAnswer):
    """One answer with its lesson."""

    lesson: str = ""

    def load(self) -> Any:
        """The submission: the source is run as a notebook cell would be."""
        return load(self.source, self.exercise)


def load(source: str, name: str) -> Any:
    """Run source with what a lesson's set-up cell gives, and return the object called ``name``."""
    if "import triton" in source:
        pytest.importorskip("triton", reason="triton is not installed: kernels were not run")
    file = f"<gallery {next(_counter)}>"
    space: dict[str, Any] = {
        "__name__": "__main__",
        "torch": torch,
        "Function": torch.autograd.Function,
    }
    exec(code_of(source, file), space)
    return space[name]


def answers(lesson: str | None = None) -> list[Answer]:
    """Every answer of the gallery, or of one lesson."""
    lessons = [lesson] if lesson else list(LESSONS)
    return [
        answer for name in lessons for each in lesson_exercises(name) for answer in of(each.name)
    ]


@cache
def of(exercise: str) -> tuple[Answer, ...]:
    """The answers to one exercise of the course."""
    asked = find(exercise)
    if asked.mistakes is None:
        raise ValueError(f"{exercise} has no file of known mistakes")
    found = read_answers(asked.mistakes, exercise)
    return tuple(Answer(**vars(answer), lesson=asked.lesson) for answer in found)


def filled_in(released: NotebookNode, lesson: str, turn: int) -> NotebookNode:
    """The released notebook with another answer of the gallery in each solution cell."""
    notebook = nbformat.from_dict(released)
    gallery: dict[str, list[Answer]] = {}
    for answer in answers():
        if answer.lesson == lesson:
            gallery.setdefault(answer.exercise, []).append(answer)
    place = 0
    for cell in notebook.cells:
        if not cell.metadata.get("nbgrader", {}).get("solution"):
            continue
        for name, known in gallery.items():
            if f"class {name}(" in cell.source or f"def {name}(" in cell.source:
                # right and wrong ones in turns, further on in each notebook
                wanted = [a for a in known if a.right == ((place + turn) % 2 == 0)]
                cell.source = wanted[(7 * turn + place) % len(wanted)].source
                place += 1
                break
    assert place > 2, "the solution cells were not found"
    return notebook
