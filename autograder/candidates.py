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

from autograder.compare import close, first_difference, mismatch, ratio, shape_words, where_wrong
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expect, expected_upstream, reference_arguments, run_reference


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
    return Finding(
        "gradient-shape",
        f"The gradient for {name} has shape {shapes}.",
        f"A gradient has exactly the shape of the argument it belongs to: {name} has "
        f"{shape_words(right.shape)}.",
    )


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


def _upstream_ignored(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    linear = [p for p in every if p.question.id.startswith("linear:")]
    if not linear:
        return None
    second = linear[0]
    first = next(
        (p for p in every if p.question.id == second.question.id.replace("linear", "run")), None
    )
    if first is None or first.raw(i) is None or not bool(first.raw(i).any()):
        return None
    a, b = first.raw(i), second.raw(i)
    # All three: two upstream gradients of few elements can share their signs by chance.
    both = [p.raw(i) for p in every if p.question.id.startswith("combination:")]
    same = [isinstance(t, Tensor) and a.shape == t.shape and torch.equal(a, t) for t in (b, *both)]
    if all(same):
        ones = [
            None if g is None else torch.ones_like(g, dtype=torch.float64)
            for g in first.question.upstream
        ]
        local = expect(ev.exercise, first.question, ones).gradients
        right = local[first.question.wants.index(i)] if local else None
        tail = ""
        if right is not None and close(a, right):
            tail = " It is the local derivative alone, which is right."
        return Finding(
            "upstream-ignored",
            f"The gradient for {ev.argument(i)} does not depend on grad_output.{tail}",
            "backward answers: how does the loss change? Multiply the local derivative by grad_output, "
            "the gradient that arrives from above.",
        )
    return None


def _scale(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    factors = [ratio(p.raw(i), p.right(i)) for p in every]
    if not factors or any(f is None for f in factors):
        return None
    found = [f for f in factors if f is not None]
    name = ev.argument(i)
    if max(found) - min(found) <= 1e-6 * abs(found[0]):
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is {found[0]:.4f} × the expected one everywhere"
            f"{_value_source(ev, every, found)}.",
            _factor_hint(found[0]),
            {"ratio": found[0]},
        )
    source = _size_source(every, found)
    sizes = ", ".join(f"{f:.4f}" for f in sorted({round(f, 6) for f in found})[:4])
    if source:
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is the right one times {source} (measured {sizes}).",
            "A mean divides by the count, a sum does not: look which of the two the formula needs.",
            {"ratio": found[0]},
        )
    source = _value_source(ev, every, found)
    return Finding(
        "gradient-scale",
        f"The gradient for {name} is the right one times a factor that changes from case to case "
        f"({sizes}){source}.",
        "A factor of the forward pass is missing in backward, or is there twice.",
        {"ratio": found[0]},
    )


def _factor_hint(factor: float) -> str:
    whole = {2.0: "twice too large", 0.5: "half of what it should be"}
    words = whole.get(round(factor, 6))
    lead = f"It is {words}: look" if words else "Look"
    return f"{lead} for a constant factor that is missing in backward, or that is there twice."


def _size_source(pairs: list[Pair], factors: list[float]) -> str:
    """The size whose value (or inverse) is the factor in every case."""
    measures: dict[str, Callable[[Tensor], float]] = {
        "the number of rows": lambda x: float(x.shape[0]) if x.dim() else 1.0,
        "the size of the last dimension": lambda x: float(x.shape[-1]) if x.dim() else 1.0,
        "the number of elements": lambda x: float(x.numel()),
    }
    for words, measure in measures.items():
        sizes = [measure(next(a for a in p.question.args if isinstance(a, Tensor))) for p in pairs]
        for form, power in ((words, 1.0), (f"1 / {words}", -1.0), (f"1 / √({words})", -0.5)):
            if all(abs(f - s**power) <= 1e-6 * abs(f) for f, s in zip(factors, sizes, strict=True)):
                return form
    return ""


def _value_source(ev: Evidence, pairs: list[Pair], factors: list[float]) -> str:
    """A Python number among the arguments (or its inverse) that is the factor in every case."""
    count = min(len(p.question.args) for p in pairs)
    for j in range(count):
        values = [p.question.args[j] for p in pairs]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) and v for v in values):
            continue
        for form, power in (("", 1.0), ("1 / ", -1.0)):
            if all(
                abs(f - v**power) <= 1e-6 * abs(f) for f, v in zip(factors, values, strict=True)
            ):
                return f": it is {form}{ev.argument(j)}"
    return ""


def _nonlinear(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    if not ev.exercise.linear_upstream:
        return None
    by_id = {p.question.id: p for p in every}
    for id, both in by_id.items():
        if not id.startswith("combination:"):
            continue
        index = id.split(":")[1]
        first, second = by_id.get(f"run:{index}"), by_id.get(f"linear:{index}")
        if first is None or second is None:
            continue
        a, b, c = first.raw(i), second.raw(i), both.raw(i)
        if not all(isinstance(t, Tensor) and t.shape == a.shape for t in (a, b, c)):
            continue
        if close(c, 2.0 * a - 3.0 * b):
            return None
        return Finding(
            "upstream-nonlinear",
            f"The gradient for {ev.argument(i)} is not linear in grad_output{_which_nonlinear(ev, i, every)}.",
            "backward multiplies grad_output by the derivative and does nothing else to it: no clamp, no "
            "abs, no sign, no mask that looks at grad_output, no added constant.",
        )
    return None


def _which_nonlinear(ev: Evidence, i: int, pairs: list[Pair]) -> str:
    treatments: dict[str, Callable[[Tensor], Tensor]] = {
        ": it equals the right one for |grad_output|": torch.abs,
        ": negative values of grad_output are lost": lambda g: g.clamp(min=0),
        ": grad_output is clamped to ±1": lambda g: g.clamp(-1, 1),
        ": only the sign of grad_output is used": torch.sign,
        ": it equals the right one for grad_output squared": torch.square,
    }
    for words, treat in treatments.items():
        if all(_with_upstream(ev, p, i, treat) for p in pairs):
            return words
    return ""


def _with_upstream(ev: Evidence, pair: Pair, i: int, treat: Callable[[Tensor], Tensor]) -> bool:
    run = run_reference(ev.exercise, pair.question)
    grads = [None if g is None else treat(g) for g in expected_upstream(pair.question, run.outputs)]
    found = expect(ev.exercise, pair.question, grads, run).gradients
    right = found[pair.question.wants.index(i)] if found else None
    return right is not None and close(pair.raw(i), right)


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
    _, a, b = difference
    for digits in range(4, 17):
        words = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if words[0] != words[1]:
            break
    return words


CANDIDATES = (
    _missing, _shape, _dtype, _own_words, _zero, _sign, _upstream_ignored, _scale, _transposed,
    _misconception, _nonlinear, _value,
)  # fmt: skip
