"""A constant with few digits in the learner's code (3.14 for π), where the numbers are a little off."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from autograder.causes.precision import CONSTANTS
from autograder.compare import off_by
from autograder.evidence import Evidence, Finding, Pair
from autograder.source import Source

_LITTLE = 0.05  # by how much, as a share of the largest number, such a constant may be off at most


def rounded_constant(
    ev: Evidence, what: str, pairs: Iterable[tuple[Tensor, Tensor | None]], *methods: str
) -> tuple[str, str] | None:
    """(headline, next step) where what came is a little off and the code has such a constant."""
    shares = [off_by(mine, right) for mine, right in pairs if right is not None]
    off = max(shares, default=math.inf)
    found = _in_code(ev.source, *methods) if off < _LITTLE else None
    if found is None:
        return None
    literal, meant, line = found
    return (
        f"{what} is off by up to {_percent(off)} of its largest number: {literal} in line {line} is {meant} "
        "with few digits only.",
        "Take it from math, or compute it (math.e, math.pi, math.sqrt(2)): then it has all digits of float64.",
    )


def imprecise(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient that is a little off in every case."""
    pairs = [(p.raw(i), p.right(i)) for p in every]
    if not all(isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape for a, b in pairs):  # fmt: skip
        return None
    said = rounded_constant(ev, f"The gradient for {ev.argument(i)}", pairs, "backward", "vjp")
    return None if said is None else Finding("gradient-value", *said)


def _in_code(source: Source, *methods: str) -> tuple[str, str, int] | None:
    """(literal, what it is a rounding of, line); None where none is, or several are."""
    nodes: Sequence[ast.AST] = [
        n for m in methods if m in source.methods for n in ast.walk(source.methods[m])
    ]
    found = [(n, name) for n in nodes if (name := _rounding_of(n)) is not None]
    if len({name for _, name in found}) != 1:
        return None
    node, name = found[0]
    return ast.unparse(node), name, source.line_of(node)[0]


def _rounding_of(node: Any) -> str | None:
    """The constant that a literal is a rounding (or a cut) of: one to ten digits behind the point."""
    if not isinstance(node, ast.Constant) or type(node.value) is not float:
        return None
    written = repr(node.value)
    if "e" in written or "." not in written:
        return None
    step = 10.0 ** -len(written.split(".")[1])
    for name, value in CONSTANTS.items():
        if step > 1e-11 and abs(node.value - value) < step and abs(node.value / value - 1) < 0.02:
            return name
    return None


def _percent(share: float) -> str:
    return f"{100 * share:.1g} %"
