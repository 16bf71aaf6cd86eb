"""backward followed on paper: which gradients it returns, by its conditions about needs_input_grad alone.

The source is read, never run. Everything but None, these conditions and what is made of them is SOMETHING.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

SOMETHING = object()  # any value that is not followed: a tensor, a size, …


class UnclearError(Exception):
    """The source does something that is not followed here."""


@dataclass
class Run:
    """backward on paper, for these needs.

    forced  conditions (by id) that are taken to be True or False, whatever they say
    tests   the conditions about needs that were met, and what they were
    """

    needs: tuple[bool, ...]
    forced: dict[int, bool] = field(default_factory=dict)
    tests: list[tuple[ast.If | ast.IfExp, bool]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    within: int = 0
    returns_early: bool = False

    def of(self, node: ast.FunctionDef) -> list[Any]:
        """What it returns, one entry an argument: None, or something."""
        found = self._block(node.body)
        if not isinstance(found, list | tuple):
            found = [found]
        return list(found)

    def _block(self, statements: list[ast.stmt]) -> Any:
        """The value that is returned from it; NotImplemented where it comes to its end."""
        for statement in statements:
            found = self._statement(statement)
            if found is not NotImplemented:
                return found
        return NotImplemented

    def _statement(self, s: ast.stmt) -> Any:
        if isinstance(s, ast.Return):
            self.returns_early = self.within > 0
            return self._value(s.value) if s.value is not None else None
        if isinstance(s, ast.Assign):
            value = self._value(s.value)
            for target in s.targets:
                self._bind(target, value)
        elif isinstance(s, ast.AnnAssign | ast.AugAssign):
            self._bind(s.target, SOMETHING)
        elif isinstance(s, ast.If):
            return self._if(s)
        elif isinstance(s, ast.With):
            return self._block(s.body)
        elif isinstance(s, ast.For | ast.While | ast.Try | ast.Match):
            raise UnclearError
        return NotImplemented

    def _if(self, s: ast.If) -> Any:
        truth = self._truth(s)
        if truth is None:
            before = dict(self.names)
            ends = [self._block(s.body)]
            first, self.names = self.names, before
            ends.append(self._block(s.orelse))
            if any(end is not NotImplemented for end in ends):
                raise UnclearError
            both = {*first, *self.names}
            self.names = {n: self._either(first.get(n), self.names.get(n)) for n in both}
            return NotImplemented
        self.within += 1
        found = self._block(s.body if truth else s.orelse)
        self.within -= 1
        return found

    @staticmethod
    def _either(a: Any, b: Any) -> Any:
        return a if a is b else SOMETHING

    def _truth(self, test: ast.If | ast.IfExp) -> bool | None:
        value = self._value(test.test)
        if value is SOMETHING:
            return None
        truth = self.forced.get(id(test), bool(value))
        self.tests.append((test, truth))
        return truth

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if any(isinstance(t, ast.Starred) for t in target.elts):
                raise UnclearError
            each = value if isinstance(value, list | tuple) else [SOMETHING] * len(target.elts)
            for inner, one in zip(target.elts, each, strict=False):
                self._bind(inner, one)
        elif isinstance(target, ast.Subscript):
            held, place = self._value(target.value), self._value(target.slice)
            if isinstance(held, list):
                if type(place) is not int:
                    raise UnclearError
                held[place] = value

    def _value(self, e: ast.expr) -> Any:
        if isinstance(e, ast.Constant):
            return e.value
        if isinstance(e, ast.Name):
            return self.names.get(e.id, SOMETHING)
        if isinstance(e, ast.Attribute):
            return self.needs if e.attr == "needs_input_grad" else SOMETHING
        if isinstance(e, ast.Tuple | ast.List):
            if any(isinstance(one, ast.Starred) for one in e.elts):
                raise UnclearError
            return [self._value(one) for one in e.elts]
        if isinstance(e, ast.IfExp):
            truth = self._truth(e)
            return SOMETHING if truth is None else self._value(e.body if truth else e.orelse)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            value = self._value(e.operand)
            return SOMETHING if value is SOMETHING else not value
        if isinstance(e, ast.BoolOp):
            return self._bool(e)
        if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
            left, right = self._value(e.left), self._value(e.right)
            return left * right if isinstance(left, list) and type(right) is int else SOMETHING
        if isinstance(e, ast.Subscript):
            return self._entry(e)
        if isinstance(e, ast.Call):
            return self._call(e)
        return SOMETHING

    def _bool(self, e: ast.BoolOp) -> Any:
        ends = isinstance(e.op, ast.Or)
        values = [self._value(v) for v in e.values]
        known = [v for v in values if v is not SOMETHING]
        if any(bool(v) == ends for v in known):
            return ends
        return SOMETHING if len(known) < len(values) else not ends

    def _entry(self, e: ast.Subscript) -> Any:
        held = self._value(e.value)
        if not isinstance(held, list | tuple):
            return SOMETHING
        if isinstance(e.slice, ast.Slice):
            ends = [ast.literal_eval(p) if p else None for p in (e.slice.lower, e.slice.upper)]
            return held[ends[0] : ends[1]]
        return held[ast.literal_eval(e.slice)]

    def _call(self, e: ast.Call) -> Any:
        called = ast.unparse(e.func)
        if called == "len" and len(e.args) == 1:
            held = self._value(e.args[0])
            return len(held) if isinstance(held, list | tuple) else SOMETHING
        if called in ("any", "all", "tuple", "list", "bool") and len(e.args) == 1:
            value = self._value(e.args[0])
            known = isinstance(value, list | tuple)
            if known and called in ("tuple", "list"):
                return list(value)
            if known and not any(v is SOMETHING for v in value):
                return {"any": any, "all": all, "bool": bool}[called](value)
            if called in ("tuple", "list") and not known:
                raise UnclearError
        return SOMETHING
