"""A gradient that does not depend on grad_output, or not in proportion to it."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.references import expect
from autograder.explaining.causes.departures import ancestors
from autograder.explaining.causes.results import Reason, Result, Seen, at_hand
from autograder.observation.compare import close

# The three questions of one case: g, h and 2g − 3h.
_Three = tuple[Seen, Seen, Seen]


def _three(result: Result) -> _Three | None:
    by_id = {s.pair.question.id: s for s in result.every}
    for id, both in by_id.items():
        kind, _, index = id.partition(":")
        first, second = by_id.get(f"run:{index}"), by_id.get(f"linear:{index}")
        if kind == "combination" and first is not None and second is not None:
            three = first, second, both
            if all(isinstance(s.got, Tensor) and s.got.shape == first.got.shape for s in three):
                return three
    return None


def ignored(result: Result) -> Reason | None:
    """The same gradient whatever grad_output is."""
    three = _three(result) if result.kind == "gradient" else None
    if three is None or not bool(three[0].got.any()):
        return None
    first = three[0]
    if not all(torch.equal(first.got, s.got) for s in three[1:]):
        return None
    question = first.pair.question
    ones = [None if g is None else torch.ones_like(g, dtype=torch.float64) for g in question.upstream]  # fmt: skip
    local = expect(result.ev.exercise, question, ones).gradients
    right = local[question.wants.index(result.place)] if local else None
    alone = result.ev.exercise.linear_upstream and close(first.got, right)
    return Reason("upstream/ignored", {"alone": alone}, rule="upstream-ignored")


def passed_on(result: Result) -> Reason | None:
    """grad_output itself, in every case."""
    if result.kind != "gradient" or not result.fitting:
        return None
    same = result.all(lambda s: close(s.got, s.pair.question.upstream[0]))
    if not same:
        return None
    run = result.ev.flow(result.wrong[0].pair.question) if result.ev.flow is not None else None
    end = run and run.results.get((result.kind, result.place))
    masked = run is None or (end is not None and any(v.mask for v in ancestors(end)))
    stops = any(s.right is not None and bool((s.right == 0).any()) for s in result.wrong)
    return Reason("mask/none" if stops and not masked else "upstream/passed-on")


def not_linear(result: Result) -> Reason | None:
    """f(2g − 3h) is not 2 f(g) − 3 f(h): a term without grad_output, or something done to it."""
    if result.kind != "gradient" or not result.ev.exercise.linear_upstream:
        return None
    three = _three(result)
    if three is None or not all(bool(torch.isfinite(s.got).all()) for s in three):
        return None
    a, b, c = (s.got.double() for s in three)
    constant = (c - 2.0 * a + 3.0 * b) / 2  # of f(g) = L g + k
    largest = max(float(t.abs().max()) for t in (a, b, c)) if constant.numel() else 0.0
    # What float32 rounds off on the way is no term.
    if close(constant, torch.zeros_like(constant)) or bool(
        (constant.abs() <= 1e-5 * largest).all()
    ):
        return None
    rest = [(s.got - constant, s.right) for s in three[:2]]
    certain = all(right is not None and close(got, right) for got, right in rest)
    hand = at_hand(result, three[0])
    name = next((n for n, t in hand.items() if t.shape == a.shape and close(constant, t)), "")
    if name or certain or _one_slope(a - constant, b - constant, three):
        return Reason("upstream/constant", {"term": name}, rule="upstream-nonlinear")
    return Reason("upstream/nonlinear", rule="upstream-nonlinear")


def _one_slope(a: Tensor, b: Tensor, three: _Three) -> bool:
    """Whether both are their own grad_output times the same tensor: nothing but the constant is odd."""
    g, h = (s.pair.question.upstream[0] for s in three[:2])
    if g is None or h is None or g.shape != a.shape or a.numel() < 3:
        return False
    return close(a * h.double(), b * g.double()) and bool(a.any())
