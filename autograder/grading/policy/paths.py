"""Whether what a dotted path leads to may be used without a person looking."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from autograder.grading.policy.lists import (
    ALLOWED_PATHS,
    ANY,
    BUILTINS,
    OURS,
    PACKAGES,
    PYTHON,
    REFUSED,
)

THE_TYPE = "<type of a value>"  # the path of what type(x) gives


def object_at(path: str) -> Any:
    """The module, class or function a path leads to in this process; None if it is not loaded.

    Nothing is imported and no code runs: only what is in a module's or a class's own dictionary.
    """
    parts = path.split(".")
    found: Any = sys.modules.get(parts[0])
    for i, part in enumerate(parts[1:], 2):
        inside = vars(found) if isinstance(found, ModuleType | type) else {}
        found = inside.get(part, sys.modules.get(".".join(parts[:i])))
        if found is None:
            return None
    return found


def plain_path(path: str) -> str:
    """The path with a module's own name in place of a way around: torch.nn.functional.math is math."""
    found = object_at(path)
    return found.__name__ if isinstance(found, ModuleType) else path


def refusal(path: str, allowed: frozenset[str] = frozenset()) -> str | None:
    """Why a person has to look at what this path leads to; None where it is fine.

    allowed  paths that are fine here; below them what every package may be used for
    """
    path = plain_path(path)
    if path == THE_TYPE:
        return None
    for start in allowed:
        if _within(path, {start}):
            return _refusal_below(path.removeprefix(start).lstrip(".").split("."), start)
    for start in ALLOWED_PATHS:
        if _within(path, {start}):
            return _refusal_inside(path.removeprefix(start).split("."), start)
    for start, why in REFUSED.items():
        if _within(path, {start}) and not path.startswith("torch.ops.aten."):
            return why
    parts = path.split(".")
    if parts[0] == "builtins":
        return BUILTINS.get(parts[1]) if len(parts) > 1 else None
    if parts[0] == "widgets":
        return None if _is_public_widget(parts) else "uses the inside of the course's widgets"
    if parts[0] in PACKAGES:
        return _refusal_in_package(parts)
    return _refusal_by_list(parts, OURS if parts[0] in OURS else PYTHON)


def _refusal_by_list(parts: list[str], lists: dict[str, frozenset[str]]) -> str | None:
    module = next((".".join(parts[:n]) for n in (2, 1) if ".".join(parts[:n]) in lists), None)
    if module is None:
        return f"{parts[0]} is not among the modules that are graded without a person looking"
    rest = parts[module.count(".") + 1 :]
    names = lists[module]
    if rest and names is not ANY and rest[0] not in names:
        return f"{module}.{rest[0]} is not among the names of {module} that are graded without a person looking"
    return _refusal_inside(rest, module)


def _refusal_inside(parts: list[str], where: str) -> str | None:
    return next(
        (f"{part} is part of the inside of {where}" for part in parts if _is_inside(part)), None
    )


def not_to_be_allowed(path: str) -> str | None:
    """Why a class cannot allow a module or a name for all its submissions; None where it can."""
    parts = path.split(".")
    if not all(part.isidentifier() for part in parts):
        return "is no dotted name of a module"
    if path in PACKAGES:
        return "is allowed already, but for parts of it: name those"
    if any(_is_inside(part) or part.startswith("__") for part in parts):
        return "is the inside of a module"
    if parts[0] in _NEVER or any(part in _RISKY for part in parts):
        return "could change what the checks see, so a person has to look each time"
    return None


def _refusal_below(parts: list[str], start: str) -> str | None:
    """What holds for the parts of every package."""
    for part in parts:
        if part.lstrip("_") in _RISKY:
            return f"{part} reaches files, other processes or the inside of Python"
    return _refusal_inside(parts, start)


def _refusal_in_package(parts: list[str]) -> str | None:
    if any(part.lstrip("_") in _RISKY for part in parts[1:]):
        return _refusal_below(parts[1:], parts[0])
    if parts[0] == "torch" and len(parts) == 2 and _is_operation(parts[1]):
        return None
    if parts[:3] == ["torch", "ops", "aten"]:
        parts = parts[:3] + [part.lstrip("_") for part in parts[3:5]] + parts[5:]
    return _refusal_inside(parts[1:], parts[0])


_RISKY = frozenset({
    "sys", "os", "builtins", "importlib", "ctypes", "threading", "subprocess", "inspect", "gc",
    "shutil", "socket", "pickle", "multiprocessing", "pathlib", "tempfile", "signal", "atexit",
    "python_multiprocessing",
})  # fmt: skip
_NEVER = frozenset({
    "IPython", "autograder", "widgets", "pdb", "bdb", "code", "codeop", "runpy", "marshal", "shelve",
    "traceback", "types", "io", "asyncio",
})  # fmt: skip


def _is_inside(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def _is_operation(name: str) -> bool:
    """torch's generated functions, which only compute: torch.relu, torch._softmax."""
    import torch

    return hasattr(torch._C._VariableFunctions, name)


def _is_public_widget(parts: list[str]) -> bool:
    import widgets

    return len(parts) == 1 or (parts[1] in widgets.__all__ and not any(map(_is_inside, parts)))


def _within(path: str, starts: Iterable[str]) -> bool:
    return any(path == start or path.startswith(start + ".") for start in starts)
