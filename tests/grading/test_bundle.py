"""What goes into the box: what asks, and nothing that knows the answers."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

import pytest

from autograder.exercises import all_exercises
from autograder.grading.box import outer_wall


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return outer_wall.make_bundle(tmp_path_factory.mktemp("bundle"))


def everything(made: Path) -> bytes:
    return b"\n".join(p.read_bytes() for p in sorted(made.rglob("*")) if p.is_file())


def test_the_modules_that_know_are_not_there(made: Path) -> None:
    names = {".".join(p.relative_to(made).with_suffix("").parts) for p in made.rglob("*.py")}
    assert "autograder.running.probe" in names
    contract = {path.name for path in (made / "autograder/contract").glob("*.py")}
    assert contract == {
        "__init__.py",
        "differentiation.py",
        "ending.py",
        "exercise.py",
        "functions.py",
    }
    rooms = {path.name for path in (made / "autograder").iterdir() if path.is_dir()}
    assert rooms == {"contract", "grading", "observation", "running"}
    assert {p.suffix for p in made.rglob("*") if p.is_file()} <= {".py", ".pyc", ".pickle", ".bin"}
    for compiled in made.rglob("*.pyc"):
        assert Path(source_from_cache(compiled)).exists()


def test_no_known_mistake_is_there(made: Path) -> None:
    texts = [path.read_bytes() for path in made.rglob("*") if path.is_file()]
    said = [
        line
        for exercise in all_exercises().values()
        if exercise.mistakes
        for line in exercise.mistakes.read_bytes().splitlines()
        if line.startswith((b"# %%", b"# says:", b"# next:")) and len(line) > 20
    ]
    assert len(said) > 100
    assert not [line for line in said for text in texts if line in text]


def test_no_hint_is_there(made: Path) -> None:
    text = everything(made)
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


def test_no_reference_is_there(made: Path) -> None:
    loaded = pickle.loads((made / "experiments.pickle").read_bytes())
    found = {f.__code__ for f in functions_in(loaded, set())}
    assert len(found) > 20
    for exercise in all_exercises().values():
        code = getattr(exercise.reference, "__code__", None)
        assert code is None or code not in found, exercise.name


def test_the_two_packages_do_nothing(made: Path, tmp_path: Path) -> None:
    script = (
        "from autograder import check, hint, progress\n"
        "from widgets import palette, quiz, show, xray\n"
        "assert check(1) is not None and not list(progress()) and palette['blue']\n"
        "with xray(3) as nothing: pass\n"
        "from autograder.contract.functions import FUNCTIONS; assert FUNCTIONS\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(made)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
