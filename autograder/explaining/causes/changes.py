"""What may have been done wrong in an expression: the expressions that may belong in its place, each with what it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from torch import Tensor

from autograder.explaining.causes.precision import constant
from autograder.observation.syntax import called

_SIGNS = {ast.Mult: "*", ast.Div: "/", ast.Add: "+", ast.Sub: "-", ast.MatMult: "@", ast.Pow: "**"}
_FORMS = (
    "-{}", "{} ** 2", "1 - {}", "{}.abs()", "{} ** 0.5", "{}.mT", "2 * {}", "{} / 2", "{} / 2 ** 0.5", "{}.log()", "{}.exp()",
)  # fmt: skip
_ALIKE = (
    {"sum", "mean", "prod", "amax", "amin", "logsumexp"}, {"round", "floor", "ceil", "trunc"},
    {"maximum", "minimum"}, {"max", "min"}, {"any", "all"}, {"softmax", "log_softmax"}, {"cumsum", "cumprod"},
    {"exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "abs", "sign", "sigmoid", "tanh", "erf", "erfc", "relu", "sin", "cos"},
)  # fmt: skip
_FUNCTIONS = {
    "the absolute value": "abs", "the square": "square", "the root": "sqrt", "the inverse": "reciprocal",
    "the exponential": "exp", "the logarithm": "log", "the sigmoid": "sigmoid", "the tanh": "tanh",
    "the sign": "sign", "the ReLU": "relu",
}  # fmt: skip
_TOKENS = re.compile(r"-?\d[\d.]*|\w+|[<>=!*/]+|\S")
_SUMS = ("sum(0)", "mean(0)", "sum(-1, keepdim=True)", "mean(-1, keepdim=True)")
_TERMS = (("", 1.0), ("2 · ", 2.0), ("½ · ", 0.5))


@dataclass(frozen=True)
class Edit:
    """What was done wrong: a code of ``departs/`` with its facts."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def of_whole(
    code: str, names: Mapping[str, Any], factor: float | None
) -> Iterator[tuple[Edit, str]]:
    """Something done to all of it: a sign, a factor, a term, a function."""
    yield Edit("sign"), f"-({code})"
    if factor:
        named = constant(factor)
        if named or abs(12 * factor - round(12 * factor)) < 1e-6 < abs(factor):
            yield Edit("scale", {"ratio": factor, "named": named}), f"({code}) / {factor!r}"
    for words, function in _FUNCTIONS.items():
        yield Edit("function", {"function": words}), f"({code}).{function}()"
    tensors = [name for name, value in names.items() if isinstance(value, Tensor)]
    atoms = [*names, *(f"(1 - {name})" for name in tensors)]
    for factors in (*((n,) for n in atoms), *combinations_with_replacement(atoms, 2)):
        words, term = " · ".join(factors), " * ".join(factors)
        # Where it stands below already, it is one division too many.
        if not re.search(rf"/ (\w+\.)?{re.escape(term)}\b", code):
            yield Edit("divided", {"factor": words}), f"({code}) * {term}"
        inverse = Edit("divided", {"factor": f"1 / ({words})" if factors[1:] else f"1 / {words}"})
        there = all(name in code for name in factors)
        yield Edit("times", {"factor": words}) if there else inverse, f"({code}) / ({term})"
    sums = [f"{name}.{form}" for name in tensors for form in _SUMS]
    for factors in (*((n,) for n in (*names, *sums)), *combinations_with_replacement(names, 2)):
        words, term = " · ".join(factors), " * ".join(factors)
        there = all(name in code for name in factors)
        for said, coefficient in _TERMS:
            yield Edit("no-term", {"term": said + words}), f"({code}) + {coefficient} * {term}"
            less = Edit("term" if there else "no-term", {"term": "−" * (not there) + said + words})
            yield less, f"({code}) - {coefficient} * {term}"


def inside(code: str, tree: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[Edit, str]]:
    """Another part in the place of one."""
    for name in names:
        yield Edit("edit", {"mine": code, "other": name}), name
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr)]
    # What only a size is read of: its numbers count nothing.
    counted = {n for each in nodes if called(each) == "len" for n in ast.walk(each)} - {*nodes[:1]}
    for others in (_replacements, _wrappings):
        for node in nodes if others is _replacements else [n for n in nodes if n not in counted]:
            start, end = node.col_offset, node.end_col_offset or 0
            for other in others(node, _Parts(code, names)):
                told = apart(code[start:end], other) | {"part": end - start < len(code)}
                yield Edit("edit", told), f"{code[:start]}({other}){code[end:]}"


def apart(mine: str, other: str) -> dict[str, Any]:
    """Where two expressions differ: "mean" and "sum", "<" and "<="; all of both where one has more than the other."""
    a, b = (_TOKENS.findall(text) for text in (mine, other))
    apart = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    if len(a) == len(b) and len(apart) == 1:
        mine, other = apart[0]
    return {"mine": mine, "other": other}


def signs_of(operator: ast.operator) -> Iterator[str]:
    """The signs that may belong in the place of one."""
    yield from _SIGNS.values() if type(operator) in _SIGNS else "&|"


@dataclass(frozen=True)
class _Parts:
    """The text of an expression's parts, and the names that stand for numbers there."""

    code: str
    names: Mapping[str, Any]

    def of(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.code, node) or ""

    def operand(self, node: ast.AST) -> str:
        """The same, to stand beside an operator."""
        alone = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
        return self.of(node) if alone else f"({self.of(node)})"

    @property
    def numbers(self) -> list[str]:
        return [name for name, value in self.names.items() if not isinstance(value, Tensor)]


def _replacements(node: ast.expr, parts: _Parts) -> Iterator[str]:
    """What may belong in the place of a name, a number, an operator or a call."""
    text, names = parts.of(node), parts.names
    if isinstance(node, ast.Constant) or isinstance(getattr(node, "operand", None), ast.Constant):
        yield from _numbers(ast.literal_eval(text), parts)
    elif text in names:
        kind = isinstance(names[text], Tensor)
        yield from (n for n, v in names.items() if isinstance(v, Tensor) == kind and n != text)
    elif isinstance(node, ast.BinOp):
        yield from _brackets(node, parts)
        left, right = parts.operand(node.left), parts.operand(node.right)
        yield from (f"{left} {sign} {right}" for sign in signs_of(node.op))
        yield from (f"{right} {sign} {left}" for sign in "-/@" if type(node.op) in _SIGNS)
        yield from (parts.of(node.left), parts.of(node.right))
    elif isinstance(node, ast.UnaryOp):
        yield parts.of(node.operand)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = parts.of(node.left), parts.of(node.comparators[0])
        alike = isinstance(node.ops[0], ast.Eq | ast.NotEq)
        orders = ("==", "!=") if alike else ("<", "<=", ">", ">=")
        yield from (f"{left} {order} {right}" for order in orders)
    elif isinstance(node, ast.Call):
        yield from _calls(node, parts)


def _brackets(node: ast.BinOp, parts: _Parts) -> Iterator[str]:
    """The same operators with the brackets elsewhere: a * (b - c) for a * b - c, and the other way round."""
    outer = _SIGNS.get(type(node.op), "")
    for inner, first in ((node.left, True), (node.right, False)):
        if outer and isinstance(inner, ast.BinOp) and type(inner.op) in _SIGNS:
            a, sign, b = parts.operand(inner.left), _SIGNS[type(inner.op)], parts.operand(inner.right)  # fmt: skip
            if first:
                yield f"{a} {sign} ({b} {outer} {parts.operand(node.right)})"
            else:
                yield f"({parts.operand(node.left)} {outer} {a}) {sign} {b}"


def _numbers(number: Any, parts: _Parts) -> Iterator[str]:
    """Other numbers, and names of numbers, in the place of one."""
    if isinstance(number, bool):
        yield str(not number)
    elif isinstance(number, int | float):
        yield from parts.numbers
        near = number + 1, number - 1, 2 * number, number / 2, -number
        yield from map(str, dict.fromkeys((0, 1, 2, 3, -1, -2, 0.5, *near)))


def _calls(node: ast.Call, parts: _Parts) -> Iterator[str]:
    """None of it, another function, or other keywords."""
    name, function = called(node), parts.of(node.func)
    given = parts.of(node)[len(function) :]
    # First: for what is positive, or squared afterwards, `abs` gives the same numbers.
    yield from map(parts.of, node.args)
    if isinstance(node.func, ast.Attribute):
        yield parts.of(node.func.value)
    for group in _ALIKE:
        if name in group:
            yield from (function[: -len(name)] + other + given for other in sorted(group - {name}))
    turned = re.sub(r"\b(min|max)=", lambda m: "max=" if m[1] == "min" else "min=", given)
    if turned != given:
        yield function + turned
    if name in ("var", "std"):
        yield f"{function}{given[:-1]}, correction=0)"


def _wrappings(node: ast.expr, parts: _Parts) -> Iterator[str]:
    """A part with something done to it."""
    text = parts.operand(node)
    if isinstance(node, ast.Compare):
        yield f"~{text}"
    elif isinstance(node, ast.Name | ast.Attribute | ast.BinOp | ast.Call | ast.Subscript):
        yield from (form.format(text) for form in _FORMS)
        others = [name for name in parts.names if name != text]
        yield from (f"{text} {sign} {name}" for name in others for sign in "*/+-")
