"""Remarks on single names and attributes: which are refused, which are assigned, what is handed out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from autograder.grading.policy.lists import (
    ATTRIBUTES,
    DUNDERS_DEFINED,
    DUNDERS_READ,
    MODE_METHODS,
    SETTINGS,
)
from autograder.grading.policy.names import Names, Scope
from autograder.grading.policy.paths import THE_TYPE, object_at, refusal

DUNDER = re.compile(r"__\w+__")
_MODULES = frozenset({"sys", "_sys", "os", "_os", "builtins", "importlib", "_module", "subprocess"})
_OF_ANY_CLASS = {"__init__", "__new__", "__repr__", "__doc__", "__module__", "backward"}
MODES = ("TorchDispatchMode", "TorchFunctionMode")
_POSES = "makes a tensor that says other things of itself than torch does"
PATCHES = "changes what torch, Python or the checks do for everybody"
HANDS_OUT = "hands out a whole module, so that its use cannot be read"
CANNOT_READ = "which name that is cannot be read from the source"
Remark = tuple[str, int, str, str, str]


class Remarks:
    """Collects remarks (cell, line, source, what, why) over all cells of a submission."""

    def __init__(self, names: Names, allowed: frozenset[str], has_mode: bool):
        self.names, self.allowed = names, allowed
        self.remarks: list[Remark] = []
        self.has_mode = has_mode
        self._cell, self._lines, self._before = "", [""], 0
        # Attributes assigned on objects that are not known, and torch classes handed to such code.
        self._assigned: list[tuple[str, tuple[str, int, str, str]]] = []
        self._handed_out: set[str] = set()
        self._made: list[tuple[set[str] | None, tuple[str, int, str, str]]] = []
        self.scope: Scope = names.notebook
        self.functions: list[ast.AST] = []  # those around the node that is looked at

    def finish(self) -> None:
        """What can be said only when all cells were read."""
        for attribute, (cell, line, source, what) in self._assigned:
            if any(attribute in _attributes_of(path) for path in self._handed_out):
                self.remarks.append((cell, line, source, what, PATCHES))
        if any(_is_tensor(path) for path in self._handed_out):
            self.remarks += [
                (*place, _POSES) for names, place in self._made if _pose_as_tensor(names)
            ]

    def _place(self, node: ast.AST) -> tuple[str, int, str, str]:
        line = getattr(node, "lineno", 1) + self._before
        source = self._lines[line - 1].strip() if line <= len(self._lines) else ""
        what = ast.unparse(node).split("\n")[0]
        return self._cell, line, source[:200], what if len(what) <= 80 else what[:79] + "…"

    def remark(self, node: ast.AST, why: str) -> None:
        self.remarks.append((*self._place(node), why))

    def paths(self, node: ast.expr) -> set[str]:
        return self.names.paths(node, self.scope)

    def refuse(self, node: ast.AST, paths: Iterable[str]) -> None:
        for path in sorted(paths):
            why = refusal(path, self.allowed)
            if why is not None:
                return self.remark(node, why)

    def reads(self, node: ast.AST, name: str) -> bool:
        """Remark on an attribute that is refused whatever it is read from."""
        why = ATTRIBUTES.get(name)
        if why is None and DUNDER.fullmatch(name) and name not in DUNDERS_READ:
            why = "reaches into Python itself"
        if why is None and name in _MODULES and not self._paths_of_module(node):
            why = HANDS_OUT
        if why is None and name == "__enter__" and not self._may_enter():
            why = "stays switched on after the code that needs it: use with"
        if why is not None:
            self.remark(node, why)
        return why is not None

    def _paths_of_module(self, node: ast.AST) -> set[str]:
        """What an attribute stands for, where that is known: its path says whether it is fine."""
        return self.paths(node) if isinstance(node, ast.expr) else set()

    def _may_enter(self) -> bool:
        """Whether a context manager is being written here: __enter__ itself, or a generator."""
        if self.has_mode or not self.functions:
            return False
        function = self.functions[-1]
        return getattr(function, "name", "") == "__enter__" or any(
            isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function)
        )

    def assigns(self, base: ast.expr, name: str, node: ast.AST) -> None:
        """Remark on an attribute that is assigned or deleted where that patches something."""
        if DUNDER.fullmatch(name) and name not in ("__name__", "__doc__", "__qualname__"):
            return self.remark(node, "reaches into Python itself")
        if name in ATTRIBUTES:
            return self.remark(node, ATTRIBUTES[name])
        paths = self.paths(base)
        if THE_TYPE in paths and name in _attributes_of_torch():
            return self.remark(node, PATCHES)
        if any(not f"{p}.{name}".startswith(SETTINGS) for p in paths - {THE_TYPE}):
            return self.remark(node, PATCHES)
        if not paths:
            self._assigned.append((name, self._place(node)))

    def makes_class(self, node: ast.AST, bases: list[ast.expr], names: set[str] | None) -> None:
        """Remark on a tensor that says other things of itself than torch does.

        names  what the class defines; None where that cannot be read
        """
        paths = [self.names.paths(base, self.scope) for base in bases]
        paths += [self.names.paths(base, self.scope, inside=True) for base in bases]
        found = set().union(*paths)
        if THE_TYPE in found or any(map(_is_tensor, found)):
            if _pose_as_tensor(names):
                self.remark(node, _POSES)
        elif bases and not found:
            self._made.append((names, self._place(node)))

    def hands_out(self, node: ast.expr, paths: set[str], quiet: bool) -> None:
        """A module is never handed to other code; a torch class is remembered where it is."""
        if quiet:
            return
        for path in paths:
            found = object_at(path)
            if isinstance(found, ModuleType):
                return self.remark(node, HANDS_OUT)
            if isinstance(found, type) and is_guarded(path):
                self._handed_out.add(path)

    def defines(self, node: ast.AST, name: str, modes: bool = False) -> None:
        if name in ATTRIBUTES:
            self.remark(node, ATTRIBUTES[name])
        elif modes and name in MODE_METHODS:
            return
        elif DUNDER.fullmatch(name) and name not in DUNDERS_DEFINED:
            self.remark(node, "changes how Python itself treats an object")


def _is_tensor(path: str) -> bool:
    import torch

    found = object_at(path)
    return isinstance(found, type) and issubclass(found, torch.Tensor)


def _pose_as_tensor(names: set[str] | None) -> bool:
    """Whether a subclass of Tensor that defines these names answers for torch."""
    import torch

    return names is None or bool(names & set(dir(torch.Tensor)) - _OF_ANY_CLASS)


def is_guarded(path: str) -> bool:
    return path.split(".")[0] in ("torch", "autograder", "widgets", "numpy", "builtins", "IPython")


@cache
def _attributes_of(path: str) -> frozenset[str]:
    return frozenset(dir(object_at(path)))


@cache
def _attributes_of_torch() -> frozenset[str]:
    import torch

    context = torch.autograd.function.FunctionCtx
    classes = (torch.Tensor, torch.autograd.Function, context, torch.nn.Module)
    return frozenset().union(*map(dir, classes))
