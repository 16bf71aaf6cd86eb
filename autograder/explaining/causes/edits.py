"""What may have been done to all of an expression, a sign, a factor, a term, a function; and to a statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from torch import Tensor

from autograder.explaining.causes.precision import constant

_RANKS = {"sign": 0, "scale": 0, "term": 2, "no-term": 2, "function": 4}
_FUNCTIONS = {
    "the absolute value": "abs", "the square": "square", "the root": "sqrt", "the inverse": "reciprocal",
    "the exponential": "exp", "the logarithm": "log", "the sigmoid": "sigmoid", "the tanh": "tanh",
    "the sign": "sign", "the ReLU": "relu",
}  # fmt: skip
_SUMS = ("sum(0)", "mean(0)", "sum(-1, keepdim=True)", "mean(-1, keepdim=True)")
_TERMS = (("", 1.0), ("2 · ", 2.0), ("½ · ", 0.5))


@dataclass(frozen=True)
class Edit:
    """What was done wrong: a code of ``departs/`` with its facts."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """How unlikely it is, where it is done to all of an expression: two factors at once are more so."""
        return _RANKS.get(self.code, 1) + 2 * ("·" in str(self.facts.get("factor", "")))


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
    atoms = [*names, *(f"(1 - {n})" for n, v in names.items() if isinstance(v, Tensor | float))]
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


def of_statement(tree: ast.stmt) -> Iterator[str]:
    """What is written into a part of something added to it instead, and the reverse."""
    match tree:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            yield f"{ast.unparse(target)} += {ast.unparse(value)}"
        case ast.AugAssign(target=target, value=value):
            yield f"{ast.unparse(target)} = {ast.unparse(value)}"
