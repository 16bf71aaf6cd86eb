"""Numbers that are right to a few digits only: the formula is right, a number in it is not exact."""

from __future__ import annotations

from typing import Any

from autograder.compare import nearly, single_inside
from autograder.evidence import Evidence, Finding, Pair


def few_digits(what: str, actual: Any, expected: Any) -> tuple[str, str] | None:
    """(message, hint) for what is off by very little; None where it is not."""
    if not nearly(actual, expected):
        return None
    if single_inside(actual, expected):
        return (
            f"{what} has the precision of float32 only, though it is float64: every number in it is one "
            "that float32 has.",
            "Compute in the dtype of the input: look for .float(), for dtype=torch.float32, and for a "
            "tensor made without a dtype.",
        )
    return (
        f"{what} is right to about four digits, and wrong behind them.",
        "The formula is right; a number in it is not exact. Look, in forward too, for a small number that "
        "is added (an eps), for a constant with few digits, and for float32 on the way.",
    )


def almost(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient that no part of the formula is missing from."""
    words = {few_digits(f"The gradient for {ev.argument(i)}", p.raw(i), p.right(i)) for p in wrong}
    found = words.pop()
    return None if found is None or words else Finding("gradient-value", *found)
