"""What goes into the box: what asks, and nothing that knows the answers."""

from __future__ import annotations

import pickle
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.exercises import all_exercises
from autograder.grading.box import Box, Said, Step, Walls, outer_wall
from autograder.running.program import Piece


def taken() -> list[Path]:
    """Every file of the course that is in the box."""
    places = [outer_wall.PACKAGE / name for name in outer_wall.TAKEN]
    return [
        file for place in places for file in (place.rglob("*") if place.is_dir() else [place])
        if file.is_file()
    ]  # fmt: skip


@pytest.fixture(scope="module")
def everything() -> list[bytes]:
    """What stands in these files, and what the box is given besides."""
    return [*(path.read_bytes() for path in taken()), outer_wall.what_asks()]


def test_the_modules_that_know_are_not_there() -> None:
    names = {str(path.relative_to(outer_wall.PACKAGE)) for path in taken()}
    assert "running/probe.py" in names
    assert {name for name in names if name.startswith("contract/")} == {
        "contract/differentiation.py", "contract/ending.py", "contract/exercise.py",
        "contract/functions.py",
    }  # fmt: skip
    assert {Path(name).parts[0] for name in names} == {
        "contract", "grading", "observation", "running",
    }  # fmt: skip
    assert {path.suffix for path in taken()} <= {".py", ".pyc"}


def test_no_known_mistake_is_there(everything: list[bytes]) -> None:
    said = [
        line
        for exercise in all_exercises().values()
        if exercise.mistakes
        for line in exercise.mistakes.read_bytes().splitlines()
        if line.startswith((b"# %%", b"# says:", b"# next:")) and len(line) > 20
    ]
    assert len(said) > 100
    assert not [line for line in said for text in everything if line in text]


def test_no_hint_is_there(everything: list[bytes]) -> None:
    text = b"\n".join(everything)
    exercises = all_exercises().values()
    assert exercises
    for exercise in exercises:
        for hint in exercise.hints:
            assert hint.encode() not in text, exercise.name


def functions_in(value: Any, seen: set[int]) -> Iterator[types.FunctionType]:
    """Every Python function that can be reached from what the box unpickles."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    elif isinstance(value, types.FunctionType):
        yield value
        used = value.__code__.co_names
        cells = [c.cell_contents for c in value.__closure__ or ()]
        inner = [*cells, *(value.__globals__[n] for n in used if n in value.__globals__)]
    elif isinstance(value, type) and value.__module__.startswith("autograder.exercises"):
        inner = [getattr(v, "__func__", v) for v in vars(value).values()]
    else:
        inner = []
    for one in inner:
        yield from functions_in(one, seen)


def test_no_reference_is_there() -> None:
    experiments, functions, _ = pickle.loads(outer_wall.what_asks())
    found = {f.__code__ for f in functions_in([experiments, functions], set())}
    assert len(found) > 20
    for exercise in all_exercises().values():
        code = getattr(exercise.reference, "__code__", None)
        assert code is None or code not in found, exercise.name


def test_of_the_course_only_what_asks_is_there() -> None:
    there = "from autograder.contract.functions import FUNCTIONS; assert FUNCTIONS"
    steps = [Step((Piece("cell", text),)) for text in (there, "from autograder import check")]
    with Box(walls=Walls.none()) as box:
        found = box.run(steps)
    assert found.said(0) == Said()
    assert found.said(1).error == "ImportError"
