"""What the names of a slice stand for, and remarks on how they are used."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence
from symtable import symtable
from textwrap import indent
from typing import Any

from autograder.grading.policy.language import ASKED, NOT_READ, SET
from autograder.grading.policy.objects import (
    MODULE_LIKE,
    RISKY,
    UNKNOWN,
    imported,
    inside,
    is_admitted,
    is_below,
    is_module,
    module_at,
    not_to_be_allowed,
    part_of,
    readable,
    stands,
)
from autograder.learner.statements import at_once

_NAMING = (
    ast.ClassDef
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ExceptHandler
    | ast.MatchAs
    | ast.MatchStar
)
_DUNDER = re.compile(r"__\w+__")
_MUTABLE, _FIXED = 1 << 9, 1 << 8  # flags of a class: made in Python; cannot be changed
PATCHES = "changes what torch, Python or the checks do for everybody"
HANDS_OUT = "hands out a whole module or class, so that its use cannot be read"
CANNOT_READ = "which name that is cannot be read from the source"
NOT_HERE = "is not in the language that is graded without a person looking"
INSIDE = "reaches into Python or torch itself"
Scope = dict[str, list[Any]]


class Uses:
    """Names and attributes of one slice; ``remarks``: the nodes that a person has to look at, and why.

    lesson   trees of the lesson's own pieces: their names may be used, nothing in them is read
    own      trees of the learner's pieces, in their order
    allowed  dotted paths that an instructor allows besides
    """

    def __init__(self, lesson: Sequence[ast.AST], own: Sequence[ast.AST], allowed: Iterable[str]):
        self.remarks: list[tuple[ast.AST, str]] = []
        self._allowed = frozenset(allowed)
        self._wide = False  # whether a package is used of which nothing is known
        self._packages: set[str] = (
            set()
        )  # imported of what a class could allow, and remarked on there
        self._scopes: list[Scope] = [{}]
        self._functions: list[str] = []  # those around the node that is looked at
        self._selves: list[str] = [""]  # by scope the name of what a method is called on
        self._ours: set[str] = set()  # the answer's own classes and functions
        self._attributes: set[str] = set()
        self._in_class = False
        for number, tree in enumerate((*lesson, *own)):
            if number == len(lesson):
                self._packages.clear()  # nobody remarks on what the lesson imports
            nodes = list(at_once(tree))
            self._bind(nodes, bound_by(nodes))
        for node in (n for tree in own for n in ast.walk(tree)):
            self._note(node)
        self._attributes -= inside() | NOT_READ

    def _bind(self, nodes: Iterable[ast.AST], names: Iterable[str]) -> None:
        """What names stand for in the innermost scope; a name has every meaning that it is given."""
        scope = self._scopes[-1]
        for name in names:
            scope.setdefault(name, []).append(UNKNOWN)
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name, module, part in imported(node):
                    found = module_at(module)
                    if part == "*" and found is not None:
                        for one in vars(found):
                            if not one.startswith("_"):
                                scope.setdefault(one, []).append(vars(found)[one])
                        continue
                    if part and found is not None:
                        found = part_of(found, part)
                    path = f"{module}.{part}".rstrip(".*")
                    self._wide |= is_below(path, self._allowed)
                    if not is_module(module) and not_to_be_allowed(path) is None:
                        self._packages.add(name)
                    scope.setdefault(name, []).append(UNKNOWN if found is None else found)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                objects = self._objects(node.value)  # F = torch.nn.functional
                if any(isinstance(one, MODULE_LIKE) for one in objects):
                    scope[node.targets[0].id] = objects

    def _note(self, node: ast.AST) -> None:
        """Take in the names that the answer gives to things of its own."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            self._ours.add(node.name)
            if isinstance(node, ast.ClassDef):
                self._attributes |= bound_by([n for part in node.body for n in at_once(part)])
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._attributes.add(node.attr)
        elif isinstance(node, ast.Call):
            self._attributes |= {k.arg for k in node.keywords if k.arg}
            if isinstance(node.func, ast.Name) and node.func.id == "setattr":
                self._attributes.add(text_given(node))

    def _visit(self, node: ast.AST | None, loose: bool = False) -> None:
        raise NotImplementedError

    def _remark(self, node: ast.AST, why: str) -> None:
        self.remarks.append((node, why))

    def _objects(self, node: ast.AST) -> list[Any]:
        """What an expression may stand for; UNKNOWN where that is the answer's own affair."""
        if isinstance(node, ast.Name):
            for scope in reversed(self._scopes):
                if node.id in scope:
                    return scope[node.id]
            return [getattr(builtins, node.id)] if hasattr(builtins, node.id) else [UNKNOWN]
        if isinstance(node, ast.Attribute):
            modules = [m for m in self._objects(node.value) if isinstance(m, MODULE_LIKE)]
            found = [part_of(module, node.attr) for module in modules]
            return [UNKNOWN if one is None else one for one in found] or [UNKNOWN]
        return [UNKNOWN]

    def _uses(self, node: ast.AST, one: Any, loose: bool) -> None:
        """Remark on an object that a name or a path stands for."""
        if isinstance(one, MODULE_LIKE):
            self._remark(node, HANDS_OUT)
        elif one is not UNKNOWN and not is_admitted(one) and not (loose and stands(one, ASKED)):
            self._remark(node, NOT_HERE)
        elif (
            isinstance(one, type) and not loose and one.__flags__ & (_MUTABLE | _FIXED) == _MUTABLE
        ):
            self._remark(node, HANDS_OUT)

    def _is_builtin(self, node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and getattr(builtins, name) in self._objects(node)

    def _reads_of_module(self, node: ast.AST, module: Any, name: str, loose: bool) -> None:
        one = part_of(module, name)
        if is_below(f"{module.__name__}.{name}", self._allowed):
            self._wide = True
        elif one is None:
            if name.startswith("_"):
                self._remark(node, INSIDE)
        elif isinstance(one, MODULE_LIKE) and is_module(one.__name__):
            if not loose:
                self._remark(node, HANDS_OUT)
        elif isinstance(one, MODULE_LIKE):
            self._remark(node, NOT_HERE)
        elif name != "__version__":
            self._uses(node, one, loose)

    def _reads(self, node: ast.AST, name: str, base: ast.expr) -> None:
        """Remark on an attribute that may not be read of what nobody knows."""
        entered = name == "__enter__" and self._functions[-1:] != ["__enter__"]
        if entered or (name == "enter_context" and not self._functions):
            self._remark(node, "stays switched on after the code that needs it: use with")
        elif name not in readable() and name not in self._attributes:
            hidden = name.startswith("_") or name in inside()
            known = self._wide or self._is_self(base) or self._is_of_package(base)
            if hidden or name in NOT_READ | RISKY or not known:
                self._remark(node, INSIDE if hidden else f".{name} {NOT_HERE}")

    def _sets(self, base: ast.expr, name: str, node: ast.AST) -> None:
        """Remark on an attribute that may not be assigned or deleted."""
        own = isinstance(base, ast.Name) and base.id in self._ours
        if any(one is not UNKNOWN for one in self._objects(base)):
            return self._remark(node, PATCHES)
        self._visit(base, True)
        if is_dunder(name):
            self._remark(node, INSIDE)
        elif own or name in SET:
            return
        elif name in inside() and (name.startswith("_") or not self._is_self(base)):
            self._remark(node, PATCHES)

    def _is_of_package(self, base: ast.expr) -> bool:
        """Whether this is a part of a package that is remarked on where it is imported: pd.Series([2.0])."""
        while isinstance(base, ast.Attribute | ast.Call):
            base = base.value if isinstance(base, ast.Attribute) else base.func
        if not isinstance(base, ast.Name) or base.id not in self._packages:
            return False
        return [len(scope[base.id]) for scope in self._scopes if base.id in scope] == [1]

    def _is_self(self, base: ast.expr) -> bool:
        """Whether this is the ctx or self that a method was called with."""
        if not isinstance(base, ast.Name):
            return False
        for scope, first in zip(reversed(self._scopes), reversed(self._selves), strict=True):
            if base.id in scope:
                return first == base.id
        return False


def bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes bind, other than by an import."""
    found = set()
    for node in nodes:
        if isinstance(node, _NAMING) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
    return found


def local_names(node: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that are a function's own: not those of a class's body, nor what a comprehension runs over."""
    outer = {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}
    text = f"def around({', '.join(outer)}):\n{indent(ast.unparse(node), ' ')}"
    table = (
        symtable(text, "function", "exec").get_children()[0].get_children()[-1]
    )  # behind its defaults
    while table.get_type() != "function":
        table = table.get_children()[-1]
    return frozenset(one.get_name() for one in table.get_symbols() if one.is_local())


def is_dunder(name: object) -> bool:
    """Whether a name is one of Python's own."""
    return isinstance(name, str) and _DUNDER.fullmatch(name) is not None


def text_given(node: ast.Call) -> str:
    """The name that getattr and its like are called with; "" where it cannot be read."""
    given = node.args[1] if len(node.args) > 1 else None
    seen = not node.keywords and not any(isinstance(one, ast.Starred) for one in node.args)
    constant = seen and isinstance(given, ast.Constant) and isinstance(given.value, str)
    return given.value if constant else ""  # type: ignore[union-attr]
