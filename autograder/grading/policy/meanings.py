"""What an expression of an answer may stand for, and whose that is."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from autograder.grading.policy.objects import (
    MODULE_LIKE,
    UNKNOWN,
    gives_tensors,
    part_of,
    stands,
)

_NOT_SET = ast.ClassDef | ast.FunctionDef  # the names in these are others


@dataclass
class Scope:
    """What names stand for in it: all that each may.

    first     the name of what a method is called on; "" outside of one
    function  the function that it is in; None at the top
    """

    names: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    first: str = ""
    function: str | None = None


class Meanings:
    """Of the names and paths of a slice, by the scopes that are open and by all that is assigned anywhere."""

    def __init__(self, trees: Iterable[ast.AST]):
        self._scopes = [Scope()]
        self._packages = set[str]()  # imported of what a class could allow, and remarked on there
        self._ours = set[str]()  # the answer's own classes and functions
        # What names and paths are set to, anywhere; None where that is no single expression.
        self._given = defaultdict[str, list[ast.expr | None]](list)
        self._single = set[ast.AST]()  # what is assigned by itself, not as a part of a tuple
        nodes = (n for tree in trees for n in ast.walk(tree))
        self._classes = {one.name for one in nodes if isinstance(one, ast.ClassDef)}

    def _note_given(self, node: ast.AST) -> None:
        """Take in what a name or a path is set to."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._single.update(targets)
            for target in targets:
                self._given[ast.unparse(target)].append(node.value)
        elif node not in self._single and not isinstance(node, _NOT_SET):
            names = {node.arg} if isinstance(node, ast.arg) else bound_by([node])
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names = {ast.unparse(node)}
            for name in names:
                self._given[name].append(None)

    def _objects(self, node: ast.AST) -> list[Any]:
        """What an expression may stand for; UNKNOWN where that is the answer's own affair."""
        if isinstance(node, ast.Name):
            of = next((s.names for s in reversed(self._scopes) if node.id in s.names), None)
            return of[node.id] if of else [getattr(builtins, node.id, UNKNOWN)]
        found = []
        if isinstance(node, ast.Attribute):
            found = [part_of(module, node.attr) for module in self._modules(node.value)]
        return [UNKNOWN if one is None else one for one in found] or [UNKNOWN]

    def _modules(self, node: ast.AST) -> list[Any]:
        return [one for one in self._objects(node) if isinstance(one, MODULE_LIKE)]

    def _stands(self, node: ast.AST, place: str) -> bool:
        """Whether all that an expression may stand for may stand in this place."""
        return all(stands(one, place) for one in self._objects(node))

    def _is_builtin(self, node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and getattr(builtins, name) in self._objects(node)

    def _is_ours(self, node: ast.AST) -> bool:
        return getattr(node, "id", None) in self._ours

    def _is_own_class(self, node: ast.AST | None) -> bool:
        return getattr(node, "id", None) in self._classes - self._given.keys()

    def _is_of_package(self, base: ast.expr) -> bool:
        """Whether this is a part of a package that is remarked on where it is imported: pd.Series([2.0])."""
        while isinstance(base, ast.Attribute | ast.Call):
            base = base.value if isinstance(base, ast.Attribute) else base.func
        name = getattr(base, "id", "")
        meanings = [len(scope.names[name]) for scope in self._scopes if name in scope.names]
        return name in self._packages and meanings == [1]

    def _is_self(self, base: ast.expr | None) -> bool:
        """Whether this is the ctx or self that a method was called with."""
        name = getattr(base, "id", None)
        return next((s.first == name for s in reversed(self._scopes) if name in s.names), False)

    def _is_own(self, base: ast.expr) -> bool | None:
        """True for ctx, the answer's classes, what is made of them, and tensors; None for its functions and a library's objects.

        False where nothing is known: of what a function is called with, of what is unpacked.
        """
        found, met, behind = set[bool | None](), set[str](), list[ast.expr | None]([base])
        while behind:
            one = behind.pop()
            text = ast.unparse(one) if isinstance(one, ast.Name | ast.Attribute) else ""
            if isinstance(one, ast.Call) and self._is_builtin(one.func, "type") and one.args:
                behind.append(one.args[0])
            elif isinstance(one, ast.Call):
                found.add(self._makes_own(one.func))
            elif self._is_self(one) or self._is_own_class(one):
                found.add(True)
            elif text not in self._given:
                found.add(None if text in self._ours else False)
            elif text not in met:
                met.add(text)
                behind += self._given[text]
        return None if None in found else found == {True}

    def _makes_own(self, function: ast.expr) -> bool | None:
        made, method = self._objects(function), getattr(function, "attr", "")
        ours = self._is_own_class(function) or self._is_own_class(getattr(function, "value", None))
        if ours or made == [SimpleNamespace]:
            return True
        if UNKNOWN in made:
            return made == [UNKNOWN] and hasattr(torch.Tensor, method)
        if all(map(gives_tensors, made)):
            return True
        return None if any(isinstance(one, type) for one in made) else False


def bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes bind, other than by an import."""
    given = (n for n in nodes if not isinstance(n, ast.alias))
    binding = (n for n in given if not isinstance(getattr(n, "ctx", None), ast.Load))
    of = ((getattr(n, field, None) for field in ("id", "name", "rest")) for n in binding)
    return {name for names in of for name in names if name}
