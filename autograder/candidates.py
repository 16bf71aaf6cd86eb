"""The possible causes of a wrong gradient, each a small function that explains it or gives None.

A candidate gets the evidence, the position of the argument, the pairs in which its gradient is wrong
and all pairs in which it was asked; it has to explain all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.candidates_factor import scale
from autograder.candidates_upstream import nonlinear, pooled, upstream_ignored
from autograder.compare import close, first_difference, mismatch, shape_words, where_wrong
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream, reference_arguments
from autograder.precision import almost


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
    return Finding(
        "gradient-missing",
        f"backward returns no gradient (None) for {name}, which needs one.",
        f"Work out how the output changes when {name} changes; None is only for what needs no gradient.",
    )


def _returned_nothing(pair: Pair) -> bool:
    calls = pair.answer.backward
    return bool(calls) and calls[-1].returned_type == "NoneType"


def _shape(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    odd = [
        p
        for p in wrong
        if isinstance(p.raw(i), Tensor) and p.raw(i).shape != p.question.args[i].shape
    ]
    if not odd:
        return None
    name, pair = ev.argument(i), odd[0]
    got, right = pair.raw(i), pair.right(i)
    if right is None:
        return None
    shapes = f"{shape_words(got.shape)} instead of {shape_words(right.shape)}"
    if all(_reshapes_to(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The numbers of the gradient for {name} are right, but their shape is {shapes}.",
            "A dimension of size 1 is left over or lost: look at keepdim, unsqueeze and squeeze.",
        )
    if all(_sums_to(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-unsummed",
            f"The gradient for {name} is not summed down to its shape: backward returns {shapes}.",
            f"{name} was broadcast in forward, so every use adds to its gradient: sum over the broadcast "
            "dimensions. (torch would repair this silently; your formula should say it.)",
            {"repaired_by_torch": True},
        )
    if all(p.raw(i).dim() >= 2 and close(p.raw(i).transpose(-1, -2), p.right(i)) for p in odd):
        return _transposed_finding(name, shapes)
    other = _equals_other_argument(ev, i, odd)
    if other is not None:
        return other
    if got.dim() == 0 and ev.source.mentions("backward", "sum"):
        return Finding(
            "gradient-shape",
            f"The gradient for {name} is summed up to a single number: {shapes}.",
            "With no dimension named, and with an empty tuple of dimensions too, sum adds up everything. "
            "Where there is no dimension to sum, do not sum.",
        )
    return Finding(
        "gradient-shape",
        f"The gradient for {name} has shape {shapes}.",
        f"A gradient has exactly the shape of the argument it belongs to: {name} has "
        f"{shape_words(right.shape)}.",
    )


def _reshapes_to(got: Any, right: Tensor | None) -> bool:
    """Whether they differ in dimensions of size 1 alone."""
    if not isinstance(got, Tensor) or right is None:
        return False
    bare = [s for s in got.shape if s != 1] == [s for s in right.shape if s != 1]
    return bare and close(got.reshape(right.shape), right)


def _sums_to(got: Any, right: Tensor | None) -> bool:
    if not isinstance(got, Tensor) or right is None or got.dim() < right.dim():
        return False
    try:
        return close(got.sum_to_size(right.shape).to(right.dtype), right)
    except RuntimeError:
        return False


def _equals_other_argument(ev: Evidence, i: int, pairs: list[Pair]) -> Finding | None:
    for j in pairs[0].question.wants:
        if j != i and all(j in p.question.wants and close(p.raw(i), p.right(j)) for p in pairs):
            return Finding(
                "gradient-swapped",
                f"What backward returns for {ev.argument(i)} is the gradient for {ev.argument(j)}.",
                "Return the gradients in the order of forward's arguments.",
            )
    return None


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
    return Finding(
        "gradient-dtype",
        f"The gradient for {ev.argument(i)} is {_plain(got)}; its argument is {_plain(want)}.",
        "Keep to the dtype of the argument: grad_output * mask keeps it, mask.float() does not. (torch "
        "would cast it silently.)",
    )


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _transposed(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    fits = [p for p in wrong if p.raw(i).dim() >= 2]
    if len(fits) == len(wrong) and all(close(p.raw(i).transpose(-1, -2), p.right(i)) for p in fits):
        return _transposed_finding(ev.argument(i), "")
    return None


def _transposed_finding(name: str, shapes: str) -> Finding:
    tail = f" ({shapes})" if shapes else ""
    return Finding(
        "gradient-transposed",
        f"The gradient for {name} is the transpose of the right one{tail}.",
        f"Write the shapes of both factors beside the product; the result must have the shape of {name}.",
    )


def _zero(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if all(isinstance(p.raw(i), Tensor) and not bool(p.raw(i).any()) for p in wrong):
        return Finding(
            "gradient-zero",
            f"The gradient for {ev.argument(i)} is zero everywhere.",
            "Look whether the local derivative is multiplied in, and whether a mask removes everything.",
        )
    return None


def _sign(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if all(close(-p.raw(i), p.right(i)) for p in wrong):
        return Finding(
            "gradient-sign",
            f"The gradient for {ev.argument(i)} has the wrong sign everywhere; its size is right.",
            "Look for a minus sign too many or too few in the derivative.",
            {"ratio": -1.0},
        )
    return None


def _misconception(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    for known in ev.exercise.misconceptions:
        if all(_follows(known.gradients, p, i) for p in every):
            return Finding(known.rule, known.message, known.hint)
    return None


def _own_words(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A misconception that carries a general rule: the exercise says it better than the rule."""
    found = _misconception(ev, i, wrong, every)
    return found if found is not None and found.rule != "gradient-value" else None


def _follows(formula: Callable[..., Any], pair: Pair, i: int) -> bool:
    args = [a.detach() if isinstance(a, Tensor) else a for a in reference_arguments(pair.question)]
    grads = [g for g in expected_upstream(pair.question, pair.expected.outputs) if g is not None]
    try:
        if "output" in inspect.signature(formula).parameters:
            found = formula(*args, grad_output=grads[0], output=pair.expected.outputs[0])
        else:
            found = formula(*args, grad_output=grads[0])
    except Exception:  # a known mistake need not make sense for every case
        return False
    values = found if isinstance(found, tuple | list) else (found,)
    return i < len(values) and isinstance(values[i], Tensor) and close(pair.raw(i), values[i])


def _value(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    name, pair = ev.argument(i), wrong[0]
    got, right = pair.raw(i), pair.right(i)
    if not isinstance(got, Tensor) or right is None:
        return None
    if not torch.isfinite(got).all():
        return Finding(
            "gradient-unstable" if torch.isfinite(right).all() else "gradient-value",
            f"The gradient for {name} has nan or inf where the right one is finite.",
            "Look for a division by something that can be 0, or an overflow.",
        )
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
        good = next(p for p in every if p not in wrong)
        return Finding(
            "gradient-value",
            f"The gradient for {name} is right for {good.where}, but wrong for {pair.where}.",
            "Ask what differs between the two: shapes, broadcasting, optional arguments.",
        )
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
    _missing, _shape, _dtype, almost, _own_words, _zero, _sign, upstream_ignored, scale,
    _transposed, _misconception, nonlinear, pooled, _value,
)  # fmt: skip
