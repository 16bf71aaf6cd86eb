"""What of the course goes into the box: what answers questions, and nothing that knows the answers.

References, cases, hints and rules stay outside. Of an exercise only its experiments come along
(functions that run beside the learner's code), each with just the names it uses.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shutil
import sys
from pathlib import Path

import cloudpickle

import autograder
from autograder.contract.functions import FUNCTIONS
from autograder.contract.plan import make_plan
from autograder.exercises import all_exercises, find, registered_exercises
from autograder.observation.packing import to_bytes

PACKAGE = Path(autograder.__file__).parent
# All of the course that goes in. A test looks that none of it imports anything else of the course.
TAKEN = (
    "observation", "running", "grading/box/inside", "contract/differentiation.py",
    "contract/ending.py", "contract/exercise.py", "contract/functions.py",
)  # fmt: skip
# What a lesson imports of the course and no answer needs, such as `check`, is there and does nothing.
_INERT = """from unittest.mock import MagicMock


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return MagicMock()
"""
_WARM_UP = "Square"


def make_bundle(folder: Path) -> Path:
    """Write the bundle into an empty folder: autograder/, widgets/ and two files; gives the folder."""
    for name in TAKEN:
        for file in [PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py"):
            target = folder / "autograder" / file.relative_to(PACKAGE)
            compiled = importlib.util.cache_from_source(target)
            Path(compiled).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(
                file, target
            )  # with its time, so that what Python compiled of it is good here
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(importlib.util.cache_from_source(file), compiled)
    for place in (folder / "autograder").rglob("*/"):
        if place.name != "__pycache__":
            (place / "__init__.py").touch()
    for package in ("autograder", "widgets"):
        (folder / package).mkdir(exist_ok=True)
        (folder / package / "__init__.py").write_text(_INERT)
    (folder / "experiments.pickle").write_bytes(_experiments())
    questions = make_plan(find(_WARM_UP), seed=0, hidden=True)
    asked = [q for q in questions if q.kind != "scenario"]
    (folder / "questions.bin").write_bytes(to_bytes(asked))
    return folder


def inert_names() -> list[str]:
    """An instructor's own modules, which notebooks import and the box has nothing behind."""
    own = {e.reference.__module__.partition(".")[0] for e in registered_exercises().values()}
    return sorted(own - {"__main__", "torch", "autograder", "widgets"})


def _experiments() -> bytes:
    """What exercises run beside the learner's code, pickled by value: experiments and functions."""
    exercises = (*all_exercises().values(), *registered_exercises().values())
    experiments = {e.name: {s.name: s.run for s in e.scenarios} for e in exercises if e.scenarios}
    own = {
        n: f for n, f in FUNCTIONS.items() if not f.__module__.startswith("autograder.contract.")
    }
    # Exercises share experiments: each module of theirs may hold one.
    by_value = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in (PACKAGE / "exercises").rglob("*.py")
        if path.stem != "__init__" and not path.stem.endswith("_mistakes")
    }
    by_value |= {run.__module__ for of_one in experiments.values() for run in of_one.values()}
    by_value |= {function.__module__ for function in own.values()}
    modules = [importlib.import_module(name) for name in sorted(by_value)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps({"experiments": experiments, "functions": own})
        return data
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def package_folders() -> dict[str, Path]:
    """Where the two packages of the course lie on this machine."""
    widgets = importlib.util.find_spec("widgets")
    places = {"autograder": PACKAGE}
    if widgets is not None and widgets.origin:
        places["widgets"] = Path(widgets.origin).parent
    return places


def python_folders() -> list[Path]:
    """The folders Python and its packages are read from."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent}
    return sorted(p for p in found if p != Path("/usr"))
