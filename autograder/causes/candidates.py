"""The possible causes of a wrong gradient, each a small function that explains it or gives None.

A candidate gets the evidence, the position of the argument, the pairs in which its gradient is wrong
and all pairs in which it was asked; it has to explain all of them.
"""

from __future__ import annotations

import ast
from typing import Any

import torch
from torch import Tensor

from autograder.causes.arithmetic_words import happened
from autograder.causes.asked_needs import wrongly_asked
from autograder.causes.changed_arguments import elsewhere, exchanged_numbers
from autograder.causes.dtype_sources import joined, made_by
from autograder.causes.factors import scale
from autograder.causes.known_functions import other_slope
from autograder.causes.misconceptions import misconception
from autograder.causes.own_slope import slope_of_its_own
from autograder.causes.precision import almost, coarse
from autograder.causes.regions import masked
from autograder.causes.rounded_constants import imprecise
from autograder.causes.shapes import shape, summed_otherwise, transposed_finding
from autograder.causes.special_points import for_the_whole
from autograder.causes.terms import constant_term, factor_too_many, term_too_many
from autograder.causes.upstream import nonlinear, pooled, upstream_ignored
from autograder.causes.what_differs import what_differs
from autograder.compare import close, first_difference, mismatch, where_wrong
from autograder.evidence import Evidence, Finding, Pair


def _missing(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if not all(p.raw(i) is None for p in wrong):
        return None
    name = ev.argument(i)
    if all(_returned_nothing(p) for p in wrong):
        return Finding(
            "gradient-missing",
            "backward returns nothing, so no gradient arrives.",
            "The last line of backward must be `return` and the gradients.",
        )
    first = wrong[0].question.args[0]
    if not isinstance(first, Tensor) and ev.source.reads_needs_from_the_start("backward"):
        return Finding(
            "gradient-missing",
            f"backward returns no gradient (None) for {name}, which needs one: needs_input_grad is read one "
            "place off.",
            f"Its position 0 belongs to {ev.argument(0)}: it has one entry for each argument of forward "
            "after ctx.",
        )
    asked = wrongly_asked(ev, i, wrong[0])
    if asked is not None:
        return Finding("gradient-missing", asked.message, asked.hint, asked.line)
    if len(wrong) < len(every):
        good = next(p for p in every if p not in wrong)
        return Finding(
            "gradient-missing",
            f"backward returns no gradient (None) for {name} for {wrong[0].where}; for {good.where} it returns one.",
            "Ask which condition of backward holds in the one case and not in the other.",
        )
    return Finding(
        "gradient-missing",
        f"backward returns no gradient (None) for {name}, which needs one.",
        f"Work out how the output changes when {name} changes; None is only for what needs no gradient.",
    )


def _returned_nothing(pair: Pair) -> bool:
    calls = pair.answer.backward
    return bool(calls) and calls[-1].returned_type == "NoneType"


def _dtype(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    odd = [
        p
        for p in wrong
        if isinstance(p.raw(i), Tensor) and p.raw(i).dtype != p.question.args[i].dtype
    ]
    if not odd:
        return None
    got, want = odd[0].raw(i).dtype, odd[0].question.args[i].dtype
    if not got.is_floating_point and not bool(odd[0].raw(i).any()):
        return None
    message = f"The gradient for {ev.argument(i)} is {_plain(got)}; its argument is {_plain(want)}."
    made = made_by(ev.source, _plain(got), "backward", "vjp")
    if made is not None:
        line = {"line": made.line, "source": made.text}
        return Finding("gradient-dtype", joined(message, made), made.hint, line)
    return Finding(
        "gradient-dtype",
        message,
        "Keep to the dtype of the argument: grad_output * mask keeps it, mask.float() and torch.ones(…) do "
        "not. (torch would cast it silently.)",
    )


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _transposed(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    fits = [p for p in wrong if p.raw(i).dim() >= 2]
    if len(fits) == len(wrong) and all(close(p.raw(i).transpose(-1, -2), p.right(i)) for p in fits):
        return transposed_finding(ev.argument(i), "")
    return None


def _zero(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if all(_vanishes(p.raw(i), p.right(i)) for p in wrong):
        if (rounded := _rounded_down(ev)) is not None:
            return Finding(
                "gradient-zero",
                f"The gradient for {ev.argument(i)} is zero everywhere: // in line {rounded[0]} rounds a fraction down to 0.",
                "/ divides, // divides and rounds down.",
                {"line": rounded[0], "source": rounded[1]},
            )
        if any(bool(p.raw(i).any()) for p in wrong):
            return Finding(
                "gradient-zero",
                f"The gradient for {ev.argument(i)} is zero everywhere, but for rounding: terms of it cancel.",
                "Look which two terms are the same number, and whether both belong to this derivative.",
            )
        other = exchanged_numbers(ev, i, every)
        if other:
            return Finding(
                "gradient-zero",
                f"The gradient for {ev.argument(i)} is zero everywhere, as it would be with {other} exchanged.",
                f"Look at the order in which {other} are kept, and in which backward takes them back.",
            )
        return Finding(
            "gradient-zero",
            f"The gradient for {ev.argument(i)} is zero everywhere.",
            "Look whether the local derivative is multiplied in, and whether a mask removes everything.",
        )
    return None


def _vanishes(got: Any, right: Tensor | None) -> bool:
    """Whether a gradient is zero, or nothing but what rounding leaves of equal terms."""
    if not isinstance(got, Tensor) or not got.numel() or right is None:
        return isinstance(got, Tensor) and not bool(got.any())
    return float(got.abs().max()) <= 1e-13 * float(right.abs().max())


def _rounded_down(ev: Evidence) -> tuple[int, str] | None:
    """The line of the one // in backward."""
    node = ev.source.methods.get("backward")
    found = [n for n in (ast.walk(node) if node is not None else ()) if isinstance(n, ast.BinOp)]
    found = [n for n in found if isinstance(n.op, ast.FloorDiv)]
    return ev.source.line_of(found[0]) if len(found) == 1 else None


def _sign(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if not all(close(-p.raw(i), p.right(i)) for p in wrong):
        return None
    name = ev.argument(i)
    if len(wrong) < len(every):
        good = next(p for p in every if p not in wrong)
        told = _pattern(ev, name, wrong, every)
        return Finding(
            "gradient-sign",
            f"The gradient for {name} has the wrong sign for {wrong[0].where}, but not for {good.where}.",
            f"{told[0]} Does abs, a root or a condition change a sign?"
            if told is not None
            else "Its size is right: look for abs, a root or a condition that changes a sign in some cases.",
            {"ratio": -1.0},
        )
    return Finding(
        "gradient-sign",
        f"The gradient for {name} has the wrong sign everywhere; its size is right.",
        "Look for a minus sign too many or too few in the derivative.",
        {"ratio": -1.0},
    )


def _own_words(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A misconception that carries a general rule: the exercise says it better than the rule."""
    found = misconception(ev, i, wrong, every)
    return found if found is not None and found.rule != "gradient-value" else None


def _value(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    name, pair = ev.argument(i), wrong[0]
    got, right = pair.raw(i), pair.right(i)
    if not isinstance(got, Tensor) or right is None:
        return None
    if not torch.isfinite(got).all():
        odd = ~torch.isfinite(got)
        cause = happened(ev, pair, "gradients", pair.question.wants.index(i), odd)
        if cause is not None and torch.isfinite(right).all():
            return Finding(
                "gradient-unstable",
                f"{cause.beginning}: the gradient for {name} should be finite there.",
                cause.hint,
                cause.line,
            )
        return Finding(
            "gradient-unstable" if torch.isfinite(right).all() else "gradient-value",
            f"The gradient for {name} has nan or inf where the right one is finite.",
            "Look for a division by something that can be 0, or an overflow.",
        )
    if (decided := for_the_whole(ev, i, wrong)) is not None:
        return Finding("gradient-value", *decided)
    regions = {_region(p, i) for p in wrong}
    if len(regions) == 1 and (region := regions.pop()):
        return Finding(
            "gradient-value",
            f"The gradient for {name} is wrong exactly where {name} is {region}.",
            f"Work out the derivative for one {name} that is {region}; perhaps the other branch's "
            "derivative is used there.",
            {"region": region},
        )
    if len(wrong) < len(every):
        if (words := _pattern(ev, name, wrong, every)) is not None:
            return Finding("gradient-value", *words)
        good = next(p for p in every if p not in wrong)
        return Finding(
            "gradient-value",
            f"The gradient for {name} is right for {good.where}, but wrong for {pair.where}.",
            "Ask what differs between the two: shapes, broadcasting, optional arguments.",
        )
    if (words := slope_of_its_own(ev, i, wrong, every)) is not None:
        return Finding("gradient-value", *words)
    mine, right_one = _apart(got, right)
    if not ev.exercise.gradcheck:
        return Finding(
            "gradient-value",
            f"The gradient for {name} is not the one that the contract states: it is {mine} where "
            f"{right_one} is right.",
            f"The contract is: {ev.exercise.summary}",
        )
    return Finding(
        "gradient-value",
        f"The gradient for {name} is not the derivative of forward times grad_output: it is {mine} "
        f"where {right_one} is right.",
        "Derive it on paper for one number, and compare what backward gives there.",
    )


def _pattern(
    ev: Evidence, name: str, wrong: list[Pair], every: list[Pair]
) -> tuple[str, str] | None:
    """What tells the right cases from the wrong ones: one property of an argument, or two that both do."""
    found = what_differs(ev, wrong, every)[:2]
    if not found:
        return None
    first, *more = found
    or_else = f" (or: in which {more[0].name} {more[0].yes})" if more else ""
    as_if = first.as_if if not more else ""
    return (
        f"The gradient for {name} is right in every case in which {first.name} {first.yes}{or_else}, and wrong "
        f"in the others{as_if}.",
        first.hint,
    )


def _region(pair: Pair, i: int) -> str | None:
    """The region of the argument in which its gradient is wrong, when one simple region says it."""
    right = pair.right(i)
    if right is None:
        return None
    return where_wrong(pair.question.args[i], mismatch(pair.raw(i), right))


def _apart(got: Tensor, right: Tensor) -> tuple[str, str]:
    """Both values where they differ most, with as many digits as it takes to tell them apart."""
    difference = first_difference(got, right)
    if difference is None:
        return "nothing", "nothing"
    a, b = difference[1] + 0.0, difference[2] + 0.0  # + 0.0: a zero without a sign
    for digits in range(4, 17):
        words = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if words[0] != words[1]:
            break
    return words


CANDIDATES = (
    _missing, shape, _dtype, almost, coarse, _own_words, _zero, _sign, upstream_ignored, scale,
    _transposed, misconception, constant_term, nonlinear, pooled, summed_otherwise, elsewhere,
    factor_too_many, term_too_many, other_slope, imprecise, masked, _value,
)  # fmt: skip
