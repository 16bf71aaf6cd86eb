"""Numbers that are right to a few digits only: the formula is right, a number in it is not exact."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from autograder.causes.second_order import name_of
from autograder.compare import nearly, off_by, single_inside
from autograder.evidence import Evidence, Finding, Pair
from autograder.source import Source

# What people type by hand, and what it is a rounded version of.
CONSTANTS = {
    "e": math.e, "π": math.pi, "2π": math.tau, "π/2": math.pi / 2, "√2": math.sqrt(2),
    "1/√2": math.sqrt(0.5), "√π": math.sqrt(math.pi), "1/√π": 1 / math.sqrt(math.pi),
    "2/√π": 2 / math.sqrt(math.pi), "√(2π)": math.sqrt(math.tau), "1/√(2π)": 1 / math.sqrt(math.tau),
    "√(2/π)": math.sqrt(2 / math.pi), "1/π": 1 / math.pi, "1/e": 1 / math.e, "ln 2": math.log(2),
    "1/ln 2": 1 / math.log(2), "ln 10": math.log(10), "1/ln 10": 1 / math.log(10), "√3": math.sqrt(3),
}  # fmt: skip
_APART = 1e3  # a number in the code explains an error of its own size, within this factor


def few_digits(
    what: str, actual: Any, expected: Any, source: Source | None = None, method: str = "forward"
) -> tuple[str, str] | None:
    """(message, hint) for what is off by very little; None where it is not.

    source, method  where a number that explains it may stand: this method, and forward
    """
    if not nearly(actual, expected):
        return None
    if single_inside(actual, expected):
        place = _single(source, method) if source is not None else None
        return (
            f"{what} has the precision of float32 only, though it is float64"
            + (
                f": {place[1]} in line {place[0]}."
                if place
                else ": every number in it is one that float32 has."
            ),
            "Compute in the dtype of the input: look for .float(), for dtype=torch.float32, and for a "
            "tensor made without a dtype.",
        )
    off = off_by(actual, expected)
    digits = min(15, int(-math.log10(off))) if off else 15
    found = list(dict.fromkeys(_inexact(source, method, off))) if source is not None else []
    if found:
        words, hints = [each[0] for each in found[:2]], dict.fromkeys(each[1] for each in found[:2])
        return f"{what} is right to about {digits} digits: {', and '.join(words)}.", " ".join(hints)
    return (
        f"{what} is right to about {digits} digits, and wrong behind them.",
        "The formula is nearly right: a number in it is not exact, or it is a difference quotient. Look, in forward "
        "too, for a small number that is added (an eps, a step), for a constant with few digits, and for float32 on "
        "the way.",
    )


def difference_quotient(ev: Evidence, what: str) -> tuple[str, str] | None:
    """(message, hint) where an experiment saw a difference quotient in a result that is nearly right."""
    for scenario in ev.exercise.scenarios:
        answer = ev.observation.answers.get(f"scenario:{scenario.name}")
        if scenario.rule != "finite-differences" or answer is None or answer.failure is not None:
            continue
        verdict = scenario.judge(answer.data)
        if verdict is not None and "difference quotient" in verdict[0]:
            return f"{what} is right to some digits only, for {verdict[0]}", verdict[1]
    return None


def _single(source: Source, method: str) -> tuple[int, str] | None:
    """(line, "x.float()"): the first thing there that makes a float32 tensor, and says so."""
    for name in dict.fromkeys((method, "forward", "setup_context")):
        node = source.methods.get(name)
        for part in ast.walk(node) if node is not None else ():
            called = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
            if (called and part.func.attr == "float") or (  # type: ignore[attr-defined]
                isinstance(part, ast.Attribute) and part.attr == "float32"
            ):
                text = ast.unparse(part)
                return source.line_of(part)[0], f"`{text}`" if len(text) <= 40 else "`.float()`"
    return None


def _inexact(source: Source, method: str, off: float) -> Iterator[tuple[str, str]]:
    """(clause, hint) for each number in the code that explains an error of this size."""
    for name in dict.fromkeys((method, "forward", "setup_context")):
        node = source.methods.get(name)
        for part in ast.walk(node) if node is not None else ():
            if not isinstance(part, ast.Constant) or not isinstance(part.value, float):
                continue
            line, typed = source.line_of(part)[0], part.value
            exact = min(CONSTANTS, key=lambda each: abs(typed - CONSTANTS[each]))
            error = abs(typed / CONSTANTS[exact] - 1)
            if 0 < error < 1e-3 and error / _APART < off < error * _APART:
                yield (
                    f"{typed!r} in line {line} is {exact} to a few digits only",
                    "Take it from math, or compute it (math.e, math.pi, math.sqrt(2)): then it has all digits "
                    "of float64. Or call the torch function that needs no such constant.",
                )
            elif 0 < typed < 1e-3 and typed / _APART < off < typed * _APART:
                yield (
                    f"line {line} has the small number {typed!r} in it",
                    "A small number that is added, or set as the smallest one there is, changes every result. "
                    "Leave it out: compute from a tensor that needs no such division, or treat the one point that it "
                    "is meant for by itself.",
                )


def almost(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient that no part of the formula is missing from."""
    words = [
        few_digits(
            f"The gradient for {ev.argument(i)}", p.raw(i), p.right(i), ev.source, "backward"
        )
        for p in wrong
    ]
    return None if not words or None in words else Finding("gradient-value", *words[0])  # type: ignore[misc]


_FEW = {
    "float16": (3, 3e-3),
    "bfloat16": (2, 3e-2),
}  # its digits; what a tensor of it may be off by


def coarse(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient that is a little off, as what backward reads was kept in a dtype of few digits."""
    kept = [
        (k, p) for p in ev.pairs("structure", variant="") for k in p.answer.kept if k.dtype in _FEW
    ]
    pairs = [(p.raw(i), p.right(i)) for p in wrong]
    if not kept or not all(
        isinstance(a, Tensor) and b is not None and a.shape == b.shape for a, b in pairs
    ):
        return None
    small, pair = kept[0]
    digits, most = _FEW[small.dtype]
    floats = [a for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point()]
    if any(str(a.dtype) == f"torch.{small.dtype}" for a in floats):
        return None
    if max(off_by(a, b) for a, b in pairs if b is not None) > 10 * most:
        return None
    name = name_of(ev.source, small.holder)
    return Finding(
        "gradient-value",
        f"The gradient for {ev.argument(i)} is right to about {digits} digits: {name} is kept in {small.dtype}, which "
        "has no more.",
        "Save the tensor in the dtype that it has. What a smaller dtype has rounded away does not come back.",
    )
