"""What of the course goes into the box: what answers questions, and nothing that knows the answers.

References, cases, hints and rules stay outside. Of an exercise only its experiments come along
(functions that run beside the learner's code), each with just the names it uses.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pickletools
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle

import autograder
from autograder.contract.exercise import Exercise
from autograder.contract.functions import FUNCTIONS
from autograder.contract.plan import make_plan
from autograder.exercises import all_exercises, find, registered_exercises
from autograder.observation.packing import to_bytes

PACKAGE = Path(autograder.__file__).parent
_ROOTS = (
    "autograder.running.probe",
    "autograder.contract.functions",
    "autograder.observation.compare",
    "autograder.grading.box.inside.warm",
    "autograder.grading.box.inside.cells",
    "autograder.grading.box.inside.inert",
    "autograder.grading.box.inside.walls",
)
# Rooms and modules that know what is right. A bundle that would need one is not made.
SECRET = tuple(
    f"autograder.{name}"
    for name in (
        "exercises", "judging", "explaining", "reporting", "learner", "contract.references",
        "contract.plan", "contract.known_mistakes",
    )
)  # fmt: skip
_INERT = """from autograder.grading.box.inside.inert import make_inert

make_inert(globals())
"""
_WARM_UP = "Square"


def make_bundle(folder: Path) -> Path:
    """Write the bundle into an empty folder: autograder/, widgets/ and two files; gives the folder."""
    experiments, needed = _by_value()
    for module in sorted(_closure((*_ROOTS, *needed))):
        _copy(module, folder)
    for package in ("autograder", "widgets"):
        (folder / package).mkdir(exist_ok=True)
        (folder / package / "__init__.py").write_text(_INERT)
    (folder / "experiments.pickle").write_bytes(experiments)
    questions = make_plan(find(_WARM_UP), seed=0, hidden=True)
    asked = [q for q in questions if q.kind != "scenario"]
    (folder / "questions.bin").write_bytes(to_bytes(asked))
    return folder


def inert_names() -> list[str]:
    """Top-level modules that notebooks import and the box has nothing behind."""
    own = {e.reference.__module__.partition(".")[0] for e in registered_exercises().values()}
    return sorted({"autograder", "widgets", *own} - {"__main__", "torch"})


def _by_value() -> tuple[bytes, set[str]]:
    """What an exercise runs beside the learner's code, pickled by value: its experiments and functions.

    With it, the modules of ours that this needs there.
    """
    functions: dict[str, dict[str, Any]] = {}
    exercises: Iterable[Exercise] = (*all_exercises().values(), *registered_exercises().values())
    by_value = set(_exercise_modules())
    for exercise in exercises:
        if exercise.scenarios:
            functions[exercise.name] = {s.name: s.run for s in exercise.scenarios}
            by_value |= {s.run.__module__ for s in exercise.scenarios}
    own = {name: maker for name, maker in FUNCTIONS.items() if _file(maker.__module__) is None}
    by_value |= {maker.__module__ for maker in own.values()}
    modules = [importlib.import_module(name) for name in sorted(by_value)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps({"experiments": functions, "functions": own})
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return data, set(_modules_named_in(data)) - by_value


def _exercise_modules() -> Iterator[str]:
    """Exercises share experiments: each module of theirs may hold one."""
    for path in (PACKAGE / "exercises").rglob("*.py"):
        if path.stem != "__init__" and not path.stem.endswith("_mistakes"):
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def _modules_named_in(data: bytes) -> Iterator[str]:
    for _, value, _ in pickletools.genops(data):
        if not isinstance(value, str) or not value.startswith("autograder."):
            continue
        if _file(value) and not value.startswith(SECRET):
            yield value


def _closure(roots: Iterable[str]) -> set[str]:
    """The modules and all of ours that they import, by their text."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        if module.startswith(SECRET):
            raise RuntimeError(f"{module} must not go into the box, and something there imports it")
        found.add(module)
        waiting += [name for name in _imports(module) if name not in found]
    return found


def _imports(module: str) -> Iterator[str]:
    file = _file(module)
    assert file is not None
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autograder"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in names if _file(name)]
            yield from modules or [str(node.module)]
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("autograder."))


def _file(module: str) -> Path | None:
    """The file of a module of ours; None for a package or a name that is no module."""
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    return path if path.is_file() else None


def _copy(module: str, folder: Path) -> None:
    file = _file(module)
    assert file is not None
    target = folder / file.relative_to(PACKAGE.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
    for parent in target.relative_to(folder).parents:
        if parent.name:
            (folder / parent / "__init__.py").touch()


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
