"""What is read by its form: decorators, bases, patterns, and texts that shape what they are given."""

from __future__ import annotations

import ast
import enum
import re
import string
from collections.abc import Iterator

import torch

from autograder.grading.policy.language import ASKED, BASES, DECORATING, DECORATORS, SPELT, WITH
from autograder.grading.policy.objects import UNKNOWN, stands
from autograder.grading.policy.uses import CANNOT_READ, NOT_HERE, Uses, bound_by
from autograder.learner.statements import at_once

_WARNINGS = (
    "all",
    "divide",
    "over",
    "under",
    "invalid",
)  # of np.errstate: text says what becomes of them
_OTHER_KIND = "makes a class of a kind that the language does not have"


class Forms(Uses):
    """The part of the walk that looks at more than a name."""

    def _note(self, node: ast.AST) -> None:
        super()._note(node)
        if isinstance(node, ast.Call) and self._stands(node.func, SPELT):
            texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            self._attributes |= {word for text in texts for word in re.findall(r"\w+", str(text))}

    def _stands(self, node: ast.AST, place: str) -> bool:
        """Whether all that an expression may stand for may stand in this place."""
        return all(stands(one, place) for one in self._objects(node))

    def _decorators(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        for one in node.decorator_list:
            called = one.func if isinstance(one, ast.Call) else one
            if self._stands(
                called, DECORATING
            ):  # of what is given, only whose it is: f, frozen=True
                given = one.args if isinstance(one, ast.Call) else []
                switches = [k.value for k in one.keywords] if isinstance(one, ast.Call) else []
                own = all(isinstance(a, ast.Name) and self._objects(a) == [UNKNOWN] for a in given)
                if not (own and all(getattr(s, "value", "") in (True, False) for s in switches)):
                    self._remark(one, CANNOT_READ)
                continue
            name = getattr(called, "attr", getattr(called, "id", ""))
            own = isinstance(called, ast.Name) and name in self._ours
            if not own and (name not in DECORATORS or UNKNOWN in self._objects(called)):
                self._remark(one, f"as a decorator {NOT_HERE}")
            self._visit(one, True)

    def _bases(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            own = isinstance(base, ast.Name) and base.id in self._ours
            if self._stands(base, BASES):
                enums = any(isinstance(one, enum.EnumType) for one in self._objects(base))
                if enums and not self._has_members(
                    node
                ):  # it could be called for a class of a table
                    self._remark(node, _OTHER_KIND)
                continue
            for one in self._objects(base):
                known = isinstance(one, type) and not issubclass(one, torch.Tensor | type)
                if (not known or stands(one, ASKED)) and not (own and one is UNKNOWN):
                    self._remark(base, _OTHER_KIND)
            self._visit(base, True)

    def _has_members(self, node: ast.ClassDef) -> bool:
        """Whether an enumeration has a member for certain, so that nobody can call it for a new class."""
        names = bound_by(n for part in node.body for n in at_once(part))
        methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        settings = any(name.startswith("_") for name in names - methods)
        values = [p.value for p in node.body if isinstance(p, ast.Assign | ast.AnnAssign)]
        deletes = any(isinstance(part, ast.Delete) for part in node.body)
        return not settings and not deletes and any(map(self._is_member, values))

    def _is_member(self, value: ast.expr | None) -> bool:
        plain = value.operand if isinstance(value, ast.UnaryOp) else value
        made = isinstance(value, ast.Call) and self._objects(value.func) == [enum.auto]
        return made or isinstance(plain, ast.Constant)

    def _is_spelt(self, node: ast.Call) -> bool:
        """Whether a call is of what takes its names as texts, and they can be read."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "format":
            return isinstance(function.value, ast.Constant) and _is_plain(function.value.value)
        named = all(
            k.arg == "defaults" or (k.arg in _WARNINGS and _is_text(k.value)) for k in node.keywords
        )
        return named and self._stands(function, SPELT) and all(map(_is_text, node.args))

    def _visit_withitem(self, node: ast.withitem, loose: bool) -> None:
        """What is entered; with gives the value of entering it, never the object itself."""
        entered = node.context_expr
        if isinstance(entered, ast.Call) and self._stands(entered.func, WITH):
            for given in (*entered.args, *(keyword.value for keyword in entered.keywords)):
                self._visit(given)
        else:
            self._visit(entered, loose)
        self._visit(node.optional_vars)

    def _visit_annassign(self, node: ast.AnnAssign, loose: bool) -> None:
        self._visit(node.annotation, True)
        for part in (node.value, node.target):
            self._visit(part)

    def _visit_matchclass(self, node: ast.MatchClass, loose: bool) -> None:
        self._visit(node.cls, True)
        for name in node.kwd_attrs:
            self._reads(node, name, ast.Constant(None))
        for pattern in (*node.patterns, *node.kwd_patterns):
            self._visit(pattern)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_text, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_plain(text: object) -> bool:
    """Whether a format text puts in values as they are: no attribute and no item of theirs."""
    try:
        return isinstance(text, str) and all("." not in n and "[" not in n for n in _fields(text))
    except ValueError:
        return False


def _fields(text: str) -> Iterator[str]:
    for _, name, shape, _ in string.Formatter().parse(text):
        yield name or ""
        yield from _fields(shape or "")
