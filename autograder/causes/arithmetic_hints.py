"""The next step after an operation that made a nan, an infinity or lost a number."""

from __future__ import annotations

import math
from typing import Any

from autograder.evidence import Evidence

GROW = ("exp", "exp2", "expm1", "pow", "sinh", "cosh", "square", "mul")
MATRIX = ("addmm", "baddbmm", "bmm", "dot", "mm", "mv")
LIMITS = ("clamp", "clamp_max", "clamp_min")
ROWS = {"_softmax": "softmax", "_log_softmax": "log_softmax"}


def next_step(ev: Evidence, steps: list[dict[str, Any]]) -> str:
    """What to do about these steps; it names no values."""
    step = _next_step(ev, steps)
    if steps[-1]["again"] and "torch.where" not in step and ev.source.mentions("backward", "where"):
        step += (
            " torch.where differentiates both of its sides, the one that it does not choose too."
        )
    if "before you subtract it." in step and ev.source.mentions("backward", "nan_to_num"):
        step += " nan_to_num comes too late: the derivative of what it sweeps away is nan as well."
    return step


def _next_step(ev: Evidence, steps: list[dict[str, Any]]) -> str:
    first, last = steps[0], steps[-1]
    names = [str(s["op"]) for s in steps]
    grows = math.isinf(first["result"]) and names[0] in GROW
    if last["again"] and (first["again"] or not grows):
        return (
            "torch differentiates every operation of backward; this one has no finite slope there, and "
            "torch.where around it does not help. Compute backward from the input with a smooth formula."
        )
    row = any(n in ("sum", "mean", "logsumexp", *ROWS) for n in names) or sums(ev)
    if names[-1] in LIMITS:
        return (
            "A bound that keeps a number from 0 or from infinity gives another number in its place. Leave it out. "
            "Where a step on the way then vanishes or overflows though the result does not, rewrite the formula "
            "so that it does neither."
        )
    if (
        names[-1] in ("add", "sub", "rsub")
        and math.isfinite(last["result"])
        and not any(map(row_is_lost, steps[1:]))
    ):
        return _lost_hint(last, names)
    if names[-1] == "div" and all(math.isinf(v) for v in last["operands"]) and _has_logsumexp(ev):
        return (
            "Numerator and denominator both overflow. To divide by Σ eˣ is to subtract log Σ eˣ in the exponent: subtract "
            "the saved logsumexp before exp, and no exponent is positive."
        )
    if grows:
        return (
            "Subtract the largest number of the row itself (amax along the dimension, keepdim=True) before exp: "
            "then exp sees no positive number, and each row has one exp(0) = 1."
            if row
            else f"{names[0]} overflows for large numbers. Rewrite the formula so that exp only sees numbers that are not "
            "positive, as in exp(−|x|), or use a function of torch that does so."
        )
    if first["result"] == 0 and any(map(row_is_lost, steps[1:])):
        if len(first["minus"]) == 2:
            return (
                "Every exp of that row underflowed: what is subtracted is far above all of its numbers. "
                "Subtract the largest number of the row itself, not of the whole tensor, and not a maximum "
                "that began at 0: then one of them is exp(0) = 1."
            )
        return (
            "Every exp of that row underflowed. Subtract the row's own largest number (amax along the "
            "dimension, keepdim=True) first: then one of them is exp(0) = 1."
        )
    if names[-1] in ("log", "log2", "log10") and first["result"] == 0:
        return (
            "What has underflowed to 0 cannot be brought back by a log. Simplify the formula on paper until no "
            "number that can vanish goes into the log."
        )
    return _birth_hint(first, last, len(steps) == 1)


def _lost_hint(last: dict[str, Any], names: list[str]) -> str:
    if abs(last["result"]) < 0.1 and last["result"] != 0:
        return (
            "The small number that is added keeps log or a division from meeting 0, but where the other number "
            "vanishes it is all that is left. Leave it out, and rewrite the formula so that nothing vanishes."
        )
    hint = (
        "Beside a larger number the small one is rounded away: compute the result without that sum."
    )
    if any(n in ("exp", "sigmoid", "log", "tanh") for n in names):
        hint += " log1p(t) is log(1 + t), expm1(t) is exp(t) − 1, σ(−x) is 1 − σ(x)."
    return hint


def _birth_hint(first: dict[str, Any], last: dict[str, Any], alone: bool) -> str:
    name, given = str(last["op"]), [float(v) for v in last["operands"]]
    if has_no_value(first):
        return "A fractional power is nan for every negative number. Keep x itself, and multiply."
    if name in ("div", "reciprocal", "rsqrt") and given and given[-1] == 0:
        if not alone:
            return (
                "The divisor underflowed to 0. Simplify the quotient on paper, so that nothing that can vanish is "
                "divided by."
            )
        return (
            "Where the divisor is 0 the quotient has no value. Write the formula without that division, or put a "
            "1 in place of the 0 (torch.where, masked_fill) before you divide, and afterwards the right value in "
            "the place of what such a quotient gives."
        )
    if name in ROWS or (name in ("sub", "rsub") and set(given) == {-math.inf}):
        return (
            "Where a whole row is −inf, its maximum and its logsumexp are −inf too. Put 0 in place of what is infinite "
            "(torch.where, masked_fill) before you subtract it"
            + (", and let such a row give 0." if name in ROWS else ".")
        )
    if math.isnan(last["result"]) and 0 in given and first["result"] == 0 and not alone:
        return (
            f"{first['op']} has underflowed to 0, and a division by it is infinite. Simplify on paper first: a factor "
            "that is multiplied and divided by is cancelled, not computed."
        )
    if math.isnan(last["result"]) and 0 in given:
        return (
            "A factor is infinite where the other is 0. Find where the infinite one comes from, and put an ordinary "
            "number there (torch.where) before you multiply; a mask that is multiplied afterwards cannot mend it."
        )
    return (
        "Rewrite the formula so that no intermediate result leaves the range of the dtype: simplify on paper "
        "before you compute."
    )


def _has_logsumexp(ev: Evidence) -> bool:
    """Whether forward calls logsumexp."""
    ran = (op for pair in ev.pairs("structure") for op in pair.answer.forward_ops)
    return any(op.startswith("aten.logsumexp") for op in ran)


def sums(ev: Evidence) -> bool:
    """Whether the forward adds numbers up."""
    ran = (op for pair in ev.pairs("structure") for op in pair.answer.forward_ops)
    if any(op.startswith(("aten.sum", "aten.mean", "aten.bmm", "aten.mm")) for op in ran):
        return True
    return ev.exercise.is_function and ev.source.mentions(ev.exercise.name, "sum")


def row_is_lost(step: dict[str, Any]) -> bool:
    """Whether this is a sum of several numbers of which each has vanished."""
    return step["op"] in ("sum", "mean", *MATRIX) and step["result"] == 0 and step["count"] > 1


def has_no_value(step: dict[str, Any]) -> bool:
    """Whether this is a power of a negative number that is not a whole one."""
    given = [float(v) for v in step["operands"]]
    return (
        step["op"] == "pow"
        and len(given) == 2
        and given[0] < 0
        and math.isfinite(given[1])
        and not given[1].is_integer()
    )
