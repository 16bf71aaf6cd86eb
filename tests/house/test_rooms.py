"""The house of autograder/: rooms in one order, imports only downwards, nobody in the corridor."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from autograder.contract.exercise import Exercise
from autograder.grading.box import outer_wall

ROOT = Path(__file__).resolve().parents[2]
HOUSE = ROOT / "autograder"
# From the top floor down. The face (`__init__`, `__main__`) may ask everybody.
ROOMS = (
    "grading", "learner", "reporting", "explaining", "judging", "exercises", "running", "contract",
    "observation",
)  # fmt: skip
# Judging and explaining are handed an exercise and import none; the box knows nothing that is right.
FORBIDDEN = {("judging", "exercises"), ("explaining", "exercises")}
# Names that something else calls by convention: nbgrader, traitlets, argparse, torch, IPython, pickle.
CALLED = re.compile(
    r"__\w+__|_?visit_\w+|init_\w+|create_module|exec_module|inline_math|latex_environment"
    r"|_can_be_allowed|_should_skip_dynamo|showsyntaxerror|persistent_id|reducer_override"
)


@cache
def modules() -> dict[Path, ast.Module]:
    """Every module of the house, known mistakes and what runs as plain files aside."""
    return {
        path.relative_to(HOUSE): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(HOUSE.rglob("*.py"))
        if not path.stem.endswith("_mistakes")
    }


def of_modules(tree: ast.AST) -> Iterator[ast.stmt]:
    """The import statements that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from of_modules(node)


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of the house that a module imports, as "learner.lesson"."""
    for node in of_modules(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert isinstance(node, ast.ImportFrom)
            assert not node.level, "imports name their module in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if not name.startswith("autograder."):
                continue
            parts = name.split(".")[1:]
            while parts and not (
                HOUSE.joinpath(*parts).is_dir()
                or HOUSE.joinpath(*parts).with_suffix(".py").is_file()
            ):
                parts.pop()
            if parts:
                yield ".".join(parts)


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_nobody_stands_in_the_corridor() -> None:
    assert {p.name for p in HOUSE.glob("*.py")} == {"__init__.py", "__main__.py"}
    found = {p.name for p in HOUSE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert found == set(ROOMS)


def test_imports_go_down() -> None:
    up = {
        f"{path} imports {other}"
        for path, tree in modules().items()
        if path.parts[0] in ROOMS
        for other in imported(tree)
        if not _may(path.parts[0], other.partition(".")[0])
    }
    assert up == set()


def _may(room: str, other: str) -> bool:
    if room == other:
        return True
    return ROOMS.index(room) < ROOMS.index(other) and (room, other) not in FORBIDDEN


def test_there_is_no_circle() -> None:
    after = {
        name_of(path): set(imported(tree)) - {name_of(path)} for path, tree in modules().items()
    }
    while done := {name for name, others in after.items() if not others & after.keys()}:
        after = {name: others for name, others in after.items() if name not in done}
    assert after == {}


def test_no_file_name_stands_twice() -> None:
    names = Counter(path.name for path in modules() if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > 1} == set()


def test_what_goes_into_the_grading_box_imports_nothing_else_of_the_course() -> None:
    taken = [name.removesuffix(".py").replace("/", ".") for name in outer_wall.TAKEN]
    inside = {path: tree for path, tree in modules().items() if _is_below(name_of(path), taken)}
    # Also within a function: whatever runs there must be there.
    imports = {
        f"{path} imports {name}"
        for path, tree in inside.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(ast.Module([node], []))
        if not _is_below(name, taken)
    }
    assert len(inside) > 20
    assert imports == set()


def _is_below(name: str, taken: list[str]) -> bool:
    return any(f"{name}.".startswith(f"{one}.") for one in taken)


def test_nothing_is_defined_that_nobody_reads() -> None:
    words: Counter[str] = Counter()
    for folder in ("autograder", "widgets", "lessons", "tests", "benchmarks", "docs", "course"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".ipynb", ".j2", ".toml") and not path.stem.endswith(
                "_mistakes"
            ):
                words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for name in ("pyproject.toml", "Makefile", "nbgrader_config.py"):
        words.update(re.findall(r"\w+", (ROOT / name).read_text(encoding="utf-8")))
    unread = [
        f"{path}: {name}"
        for path, tree in modules().items()
        for name in defined(tree)
        if words[name] < 2 and not CALLED.fullmatch(name) and not is_exercise(path, name)
    ]
    assert unread == []


def is_exercise(path: Path, name: str) -> bool:
    """Whether it is an exercise of a lesson, which is found by the name that it carries itself."""
    lessons = path.parts[0] == "exercises" and len(path.parts) > 2
    return lessons and isinstance(
        vars(import_module(f"autograder.{name_of(path)}")).get(name), Exercise
    )


def defined(tree: ast.Module) -> Iterator[str]:
    """The names of a module's functions, classes, methods and variables."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (n.name for n in node.body if isinstance(n, ast.FunctionDef))
        if isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
