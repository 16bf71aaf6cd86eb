"""The objects that an answer's names stand for, and whether the language has them."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import logging
import string
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from autograder.grading.policy.language import (
    ATEN,
    INSIDE,
    MODULES,
    NOT_OPERATIONS,
    NOT_READ,
    OPERATIONS,
    PLACES,
    PRIVATE,
    READ,
    READ_TOO,
    UNCHECKED,
)

# Values in which nothing can be hidden, wherever they stand.
PLAIN = (
    int,
    float,
    complex,
    bool,
    type(None),
    torch.dtype,
    torch.layout,
    torch.memory_format,
    np.ufunc,
)
_OF_TORCH = torch._C._VariableFunctions
_NAMESPACES = [
    getattr(torch._C, n) for n in ("_VariableFunctions", "_nn", "_linalg", "_special", "_fft")
]
_OPERATIONS = frozenset(id(getattr(one, name)) for one in _NAMESPACES for name in dir(one))
MODULE_LIKE = (ModuleType, type(torch.ops), type(torch.ops.aten))
REFUSED = object()  # something that the language does not have, whatever it is
UNKNOWN = object()  # what a name stands for that the answer gave its meaning itself


def admitted(modules: Mapping[str, str] = MODULES) -> Iterator[tuple[str, Any]]:
    """Every object that a list names, with its path."""
    for module, names in modules.items():
        found = module_at(module)
        for name in _names(found, names) if found is not None else ():
            if hasattr(found, name):
                yield f"{module}.{name}", getattr(found, name)


def _names(module: ModuleType, names: str) -> Iterator[str]:
    for name in names.split():
        if name == "*":
            own = (n for n, one in vars(module).items() if _is_of(n, one, module))
            yield from filter(is_operation, own)
        elif name == OPERATIONS:
            every = filter(is_operation, dir(_OF_TORCH))
            yield from (n for n in every if getattr(module, n, None) is getattr(_OF_TORCH, n))
        else:
            yield name


def _is_of(name: str, one: Any, module: ModuleType) -> bool:
    """Whether something is a module's own: defined there, or an operation in C."""
    if name.startswith("_"):
        return False
    if isinstance(one, BuiltinFunctionType):
        return id(one) in _OPERATIONS or one.__module__ == module.__name__
    own = isinstance(one, FunctionType | type) and one.__module__ == module.__name__
    return own or isinstance(one, PLAIN)


def is_operation(name: str) -> bool:
    """Whether an operation of this name keeps to the memory of its tensors."""
    public = not name.startswith("_") or name in PRIVATE
    return public and name not in NOT_OPERATIONS and not UNCHECKED.search(name)


@cache
def _by_identity(place: str = "") -> dict[int, Any]:
    """What may stand in a place, or anywhere; held, so that no other gets its number."""
    every = admitted(PLACES.get(place, MODULES))
    return {id(one): one for _, found in every for one in (found, _unwrapped(found))}


def stands(one: Any, *places: str) -> bool:
    """Whether an object may stand in one of these places (in any)."""
    return any(id(one) in _by_identity(place) for place in places or PLACES)


def is_admitted(one: Any) -> bool:
    """Whether the language has this object, whichever way it was reached."""
    if isinstance(one, PLAIN) or one in (sys.stdout, sys.stderr):
        return True
    return id(one) in _by_identity() or id(_unwrapped(one)) in _by_identity()


def _unwrapped(one: Any) -> Any:
    """What a function wraps: torch puts wrappers around its own ones when its compiler is imported."""
    return inspect.unwrap(one) if isinstance(one, FunctionType) else one


def gives_tensors(one: Any) -> bool:
    """Whether what a call of this gives is a tensor, as nearly all that torch's functions give is."""
    if isinstance(one, type):
        return issubclass(one, torch.Tensor)
    return id(one) in _OPERATIONS or str(getattr(one, "__module__", "")).startswith("torch")


def is_module(name: str) -> bool:
    """Whether a module may be imported: one of the list, or one that those are parts of."""
    return any(f"{one}.".startswith(f"{name}.") for one in (*MODULES, ATEN))


def module_at(name: str) -> ModuleType | None:
    """A module that may be imported; nothing else is imported in this process."""
    if is_module(name) and name != ATEN:
        with suppress(ImportError):
            return importlib.import_module(name)
    return sys.modules.get(name)


def part_of(one: Any, name: str) -> Any:
    """What a module has under a name; None where it has nothing."""
    if one is torch.ops:
        return torch.ops.aten if name == "aten" else REFUSED
    if one is torch.ops.aten:
        return UNKNOWN if is_operation(name) else REFUSED
    found = vars(one).get(name)
    if found is None and is_module(one.__name__):  # some have what they import when it is asked for
        with suppress(Exception):
            found = getattr(one, name)
    return found if found is not None or is_module(one.__name__) else REFUSED


@cache
def readable() -> frozenset[str]:
    """The attributes that may be read of anything."""
    of_types = {name for one in READ for name in dir(one) if not name.startswith("_")}
    return frozenset(
        name for name in (of_types | READ_TOO) - NOT_READ if not UNCHECKED.search(name)
    )


@cache
def inside() -> frozenset[str]:
    """The attributes of Python's and torch's own objects, which an answer's own never are."""
    return frozenset(name for one in INSIDE for name in dir(one))


def imported(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """What an import binds: (name, the module that it stands for or comes from, its name there)."""
    for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, str(node.module), alias.name
        elif alias.asname:
            yield alias.asname, alias.name, ""
        else:
            top = alias.name.partition(".")[0]
            yield top, top, ""


# ---- texts that can be read ----------------------------------------------------------------------


def text_given(node: ast.Call) -> str:
    """The name that getattr and its like are called with; "" where it cannot be read."""
    match node:
        case ast.Call(args=[_, ast.Constant(str(name)), *_], keywords=[]):
            return "" if any(isinstance(one, ast.Starred) for one in node.args) else name
    return ""


def is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(is_text, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


_LEAVES = ast.Name | ast.Constant | ast.expr_context  # most nodes there are
_TEXT_STAYS = _LEAVES | ast.JoinedStr | ast.Compare | ast.Expr


def handed_on(node: ast.AST) -> list[str]:
    """The texts that stand in a node, and may go where somebody takes them for a name."""
    if isinstance(node, _TEXT_STAYS):
        return []
    texts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.Constant)]
    beside = [*getattr(node, "keys", ()), getattr(node, "slice", None)] if texts else []
    return [n.value for n in texts if n not in beside and isinstance(n.value, str)]


@lru_cache(4096)
def names_longer_numbers(text: str) -> bool:
    """Whether this is NumPy's name for numbers with more digits than torch has, or for something with such."""
    try:
        return _are_longer(np.dtype(text))
    except Exception:  # whatever else a text may make it say
        return False


def _are_longer(kind: Any) -> bool:
    if kind.fields:
        return any(_are_longer(field[0]) for field in kind.fields.values())
    return bool(kind.base.itemsize > {"f": 8, "c": 16}.get(kind.base.kind, kind.base.itemsize))


def is_plain(text: object) -> bool:
    """Whether a format text puts in values as they are: no attribute and no item of theirs."""
    try:
        return isinstance(text, str) and not any({".", "["} & {*n} for n in _fields(text))
    except ValueError:
        return False


def _fields(text: str) -> Iterator[str]:
    for _, name, shape, _ in string.Formatter().parse(text):
        yield name or ""
        yield from _fields(shape or "")


# ---- what an instructor may allow besides -------------------------------------------------------

RISKY = frozenset({
    "sys", "os", "builtins", "importlib", "ctypes", "threading", "subprocess", "inspect", "gc",
    "shutil", "socket", "pickle", "multiprocessing", "pathlib", "tempfile", "signal", "atexit",
})  # fmt: skip
# Of what every answer in a process shares: loggers, and the text that was printed.
SHARED = frozenset(
    {*vars(logging.getLogger()), *vars(logging.getLogger("answer")), *dir(io.StringIO)}
)
_NEVER = frozenset({
    "IPython", "autograder", "widgets", "pdb", "bdb", "code", "codeop", "runpy", "marshal", "shelve",
    "traceback", "types", "io", "asyncio",
})  # fmt: skip


def not_to_be_allowed(path: str) -> str | None:
    """Why a class cannot allow a module or a name for all its submissions; None where it can."""
    parts = path.split(".")
    if not all(part.isidentifier() for part in parts):
        return "is no dotted name of a module"
    if path in ("torch", "numpy", "scipy"):
        return "is allowed already, but for parts of it: name those"
    if any(part.startswith("_") for part in parts):
        return "is the inside of a module"
    if parts[0] in _NEVER or not RISKY.isdisjoint(parts):
        return "could change what the checks see, so a person has to look each time"
    return None


def is_below(path: str, allowed: Iterable[str]) -> bool:
    """Whether a path is one of those, or a public part of one."""
    for start in allowed:
        if path == start:
            return True
        if path.startswith(f"{start}."):
            rest = path.removeprefix(start).split(".")[1:]
            return not any(part.startswith("_") or part in RISKY for part in rest)
    return False
