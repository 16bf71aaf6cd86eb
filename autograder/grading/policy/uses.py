"""What the names of a slice stand for, and remarks on how they are used."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from symtable import symtable
from textwrap import indent
from types import SimpleNamespace
from typing import Any

from autograder.grading.policy.language import (
    ASKED,
    HANDS_OUT,
    KEEPS,
    NOT_HERE,
    NOT_READ,
    PATCHES,
    REACHES_IN,
    SET,
    SPELT,
)
from autograder.grading.policy.meanings import Meanings, Scope, bound_by
from autograder.grading.policy.objects import (
    MODULE_LIKE,
    RISKY,
    SHARED,
    UNKNOWN,
    imported,
    inside,
    is_admitted,
    is_below,
    is_module,
    is_plain,
    is_text,
    module_at,
    not_to_be_allowed,
    part_of,
    readable,
    stands,
    text_given,
)
from autograder.observation.syntax import at_once

_DUNDER = re.compile(r"__\w+__")
_MUTABLE, _FIXED = 1 << 9, 1 << 8  # flags of a class: made in Python; cannot be changed


class Uses(Meanings):
    """Names and attributes of one slice; ``remarks``: the nodes that a person has to look at, and why.

    lesson   trees of the lesson's own pieces: their names may be used, nothing in them is read
    own      trees of the learner's pieces, in their order
    allowed  dotted paths that an instructor allows besides
    """

    def __init__(self, lesson: Sequence[ast.AST], own: Sequence[ast.AST], allowed: Iterable[str]):
        super().__init__([*lesson, *own])
        self.remarks: list[tuple[ast.AST, str]] = []
        self._allowed = frozenset(allowed)
        self._wide = False  # whether a package is used of which nothing is known
        self._methods = set[ast.AST]()
        self._attributes = set[str]()
        self._in_class = False
        for number, tree in enumerate((*lesson, *own)):
            if number == len(lesson):
                self._packages.clear()  # nobody remarks on what the lesson imports
            nodes = list(at_once(tree))
            self._bind(nodes, bound_by(nodes))
        for node in (n for tree in own for n in ast.walk(tree)):
            self._note_given(node)
            self._note(node)
        self._attributes -= inside() | NOT_READ

    def _bind(self, nodes: Iterable[ast.AST], names: Iterable[str]) -> None:
        """What names stand for in the innermost scope; a name has every meaning that it is given."""
        scope = self._scopes[-1].names
        for name in names:
            scope[name].append(UNKNOWN)
        for node in nodes:
            for name, module, part in imported(node):
                found = module_at(module)
                if part == "*" and found is not None:
                    for one, value in vars(found).items():
                        if not one.startswith("_"):
                            scope[one].append(value)
                    continue
                path = f"{module}.{part}".rstrip(".*")
                self._wide |= is_below(path, self._allowed)
                if not is_module(module) and not_to_be_allowed(path) is None:
                    self._packages.add(name)
                value = part_of(found, part) if part and found is not None else found
                scope[name].append(UNKNOWN if value is None else value)
            if isinstance(node, ast.Assign) and self._modules(
                node.value
            ):  # F = torch.nn.functional
                scope[getattr(node.targets[0], "id", "")] = self._objects(node.value)

    @contextmanager
    def _scope(self, first: str, function: str | None) -> Iterator[None]:
        self._scopes.append(Scope(first=first, function=function))
        yield
        self._scopes.pop()

    def _note(self, node: ast.AST) -> None:
        """Take in the names that the answer gives to things of its own."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            self._ours.add(node.name)
            if isinstance(node, ast.ClassDef):
                self._methods.update(node.body)
                self._attributes |= bound_by(run_with(node.body))
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._attributes.add(node.attr)
        elif isinstance(node, ast.Call):
            self._attributes |= {k.arg for k in node.keywords if k.arg}
            if getattr(node.func, "id", "") == "setattr":
                self._attributes.add(text_given(node))
            if self._stands(node.func, SPELT):
                texts = (str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))
                self._attributes.update(*(re.findall(r"\w+", text) for text in texts))

    def _visit(self, node: ast.AST | None, loose: bool = False) -> None:
        raise NotImplementedError

    def _remark(self, node: ast.AST, why: str) -> None:
        self.remarks.append((node, why))

    def _is_spelt(self, node: ast.Call) -> bool:
        """Whether a call is of what takes its names as texts, and they can be read."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "format":
            return isinstance(function.value, ast.Constant) and is_plain(function.value.value)
        if self._objects(function) == [SimpleNamespace]:
            return not node.args and all(keyword.arg for keyword in node.keywords)
        named = all(keyword.arg == "defaults" for keyword in node.keywords)
        return named and self._stands(function, SPELT) and all(map(is_text, node.args))

    def _has_members(self, node: ast.ClassDef) -> bool:
        """Whether an enumeration has a member for certain, so that nobody can call it for a new class."""
        methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        settings = any(name.startswith("_") for name in bound_by(run_with(node.body)) - methods)
        deletes = any(isinstance(part, ast.Delete) for part in node.body)
        values = (p.value for p in node.body if isinstance(p, ast.Assign | ast.AnnAssign))
        return not settings and not deletes and any(map(self._is_member, values))

    def _is_member(self, value: ast.expr | None) -> bool:
        plain = value.operand if isinstance(value, ast.UnaryOp) else value
        made = isinstance(value, ast.Call) and self._objects(value.func) == [enum.auto]
        return made or isinstance(plain, ast.Constant)

    # ---- remarks on uses ------------------------------------------------------------------------

    def _uses(self, node: ast.AST, one: Any, loose: bool) -> None:
        """Remark on an object that a name or a path stands for."""
        if isinstance(one, MODULE_LIKE):
            self._remark(node, HANDS_OUT)
        elif one is not UNKNOWN and not is_admitted(one) and not (loose and stands(one, ASKED)):
            self._remark(node, NOT_HERE)
        elif isinstance(one, type) and not loose and _can_be_changed(one):
            self._remark(node, HANDS_OUT)

    def _reads_of_module(self, node: ast.AST, module: Any, name: str, loose: bool) -> None:
        one = part_of(module, name)
        if is_below(f"{module.__name__}.{name}", self._allowed):
            self._wide = True
        elif one is None:
            if name.startswith("_"):
                self._remark(node, REACHES_IN)
        elif isinstance(one, MODULE_LIKE):
            if not (loose and is_module(one.__name__)):
                self._remark(node, HANDS_OUT if is_module(one.__name__) else NOT_HERE)
        elif name != "__version__":
            self._uses(node, one, loose)

    def _reads(self, node: ast.AST, name: str, base: ast.expr) -> None:
        """Remark on an attribute that may not be read of what nobody knows."""
        around = self._scopes[-1].function
        if name == "register_hook" and self._is_self(base):
            self._remark(node, "gives a node a hook, which changes gradients where no check looks")
        elif (name == "__enter__" != around) or (name == "enter_context" and around is None):
            self._remark(node, "stays switched on after the code that needs it: use with")
        elif name not in readable() and not self._is_own_name(name, base):
            hidden = name.startswith("_") or name in inside()
            known = self._wide or self._is_self(base) or self._is_of_package(base)
            if hidden or name in NOT_READ | RISKY or not known:
                self._remark(node, REACHES_IN if hidden else f".{name} {NOT_HERE}")

    def _is_own_name(self, name: str, base: ast.expr) -> bool:
        """Whether the answer gives this name to things of its own, and what it is read of may be one of them."""
        theirs = any(one is not UNKNOWN for one in self._objects(base))
        risky = (name in RISKY or name in SHARED) and not self._is_self(base)
        return name in self._attributes and not theirs and not risky

    def _sets(self, base: ast.expr, name: str, node: ast.AST) -> None:
        """Remark on an attribute that may not be assigned or deleted."""
        if any(one is not UNKNOWN for one in self._objects(base)):
            return self._remark(node, PATCHES)
        self._visit(base, True)
        if self._is_own_class(base):
            return
        if name in inside() - SET and (name.startswith("_") or not self._is_self(base)):
            self._remark(node, PATCHES)
        elif (own := self._is_own(base)) is None or not (own or name in SET):
            self._remark(node, KEEPS)


def _can_be_changed(one: type) -> bool:
    return one.__flags__ & (_MUTABLE | _FIXED) == _MUTABLE


def run_with(body: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes that run with these."""
    return [node for part in body for node in at_once(part)]


def local_names(node: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that are a function's own: not those of a class's body, nor what a comprehension runs over."""
    outer = {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}
    text = f"def around({', '.join(outer)}):\n{indent(ast.unparse(node), ' ')}"
    table = symtable(text, "function", "exec").get_children()[0]
    while table.get_name() == "around" or table.get_type() != "function":
        table = table.get_children()[-1]  # behind its defaults
    return frozenset(one.get_name() for one in table.get_symbols() if one.is_local())


def is_dunder(name: object) -> bool:
    """Whether a name is one of Python's own."""
    return isinstance(name, str) and _DUNDER.fullmatch(name) is not None
