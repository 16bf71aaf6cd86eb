"""A gradient that does not depend on grad_output, or not in proportion to it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expect, expected_upstream, run_reference


def upstream_ignored(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
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
            tail = " It is the local derivative alone, which is right as such."
        return Finding(
            "upstream-ignored",
            f"The gradient for {ev.argument(i)} does not depend on grad_output.{tail}",
            "backward answers: how does the loss change? Multiply the local derivative by grad_output, "
            "the gradient that arrives from above.",
        )
    return None


def nonlinear(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
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
        if not all(torch.isfinite(t).all() for t in (a, b, c)):
            return None  # nan is not in proportion to anything, and has a cause of its own
        words = _which_nonlinear(ev, i, every)
        # These few upstream gradients may all lie where a clamp changes nothing; other cases tell then.
        if close(c, 2.0 * a - 3.0 * b) and not words:
            return None
        return Finding(
            "upstream-nonlinear",
            f"The gradient for {ev.argument(i)} is not linear in grad_output{words}.",
            "backward multiplies grad_output by the derivative and does nothing else to it: no clamp, no "
            "abs, no sign, no mask that looks at grad_output, no added constant.",
        )
    return None


def _which_nonlinear(ev: Evidence, i: int, pairs: list[Pair]) -> str:
    treatments: dict[str, Callable[[Tensor], Tensor]] = {
        ": it equals the right one for |grad_output|": torch.abs,
        ": negative values of grad_output are lost": lambda g: g.clamp(min=0),
        ": grad_output is clamped to ±1": lambda g: g.clamp(-1, 1),
        ": values of grad_output above 1 are cut": lambda g: g.clamp(max=1),
        ": only the sign of grad_output is used": torch.sign,
        ": it equals the right one for grad_output squared": torch.square,
    }
    for words, treat in treatments.items():
        if all(_with_upstream(ev, p, i, treat) for p in pairs):
            return words
    return ""


_POOLED: dict[str, Callable[[Tensor], Tensor]] = {
    "the mean": lambda g: g.mean().expand_as(g),
    "the sum": lambda g: g.sum().expand_as(g),
}


def pooled(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """One number for the whole of grad_output, where each element has its own."""
    for words, treat in _POOLED.items():
        if all(_with_upstream(ev, p, i, treat) for p in every):
            return Finding(
                "gradient-value",
                f"The gradient for {ev.argument(i)} is the right one for {words} of grad_output, not for "
                "grad_output.",
                "Each element of grad_output says how much the loss depends on that element of the output: "
                "multiply element by element.",
            )
    return None


def _with_upstream(ev: Evidence, pair: Pair, i: int, treat: Callable[[Tensor], Tensor]) -> bool:
    run = run_reference(ev.exercise, pair.question)
    grads = [None if g is None else treat(g) for g in expected_upstream(pair.question, run.outputs)]
    found = expect(ev.exercise, pair.question, grads, run).gradients
    right = found[pair.question.wants.index(i)] if found else None
    return right is not None and close(pair.raw(i), right)
