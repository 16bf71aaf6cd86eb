"""A result that is the right one with something done to it: its sign, a factor, a term, a function.

Nothing here knows whose result it is: an output, a gradient or a second derivative.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import torch
from torch import Tensor

from autograder.contract.plan import FAR
from autograder.contract.references import expect
from autograder.explaining.causes.departures import ZEROS
from autograder.explaining.causes.precision import constant
from autograder.explaining.causes.results import (
    Reason,
    Result,
    Seen,
    departure_of,
    two_cases,
)
from autograder.observation.compare import close, ratio
from autograder.running.value_flow import ancestors


def _cause(result: Result, code: str, **facts: object) -> Reason:
    rule = f"gradient-{code.partition('-')[0]}" if result.kind == "gradient" else ""
    return Reason(f"value/{code}", facts, rule=rule)


def vanishing(result: Result) -> Reason | None:
    """0, whatever the arguments are."""
    if not result.all(_vanishes, wrong_only=True):
        return None
    found = departure_of(result)
    only = found is not None and found.value.op in ZEROS and found.value.line
    facts: dict[str, object] = {"made": only, "condition": (result.ev.source.condition(only) or ("", ""))[1].rstrip(":")} if only else {}  # fmt: skip
    facts["rounding"] = any(bool(s.got.any()) for s in result.wrong)
    line = (found.line, found.text) if found is not None and only else None
    return replace(_cause(result, "zero", **facts), line=line, symptom=True)


def _vanishes(seen: Seen) -> bool:
    """Whether it is zero, or nothing but what rounding leaves."""
    if not isinstance(seen.got, Tensor) or not seen.got.numel() or seen.right is None:
        return False
    return float(seen.got.abs().max()) <= 1e-13 * float(seen.right.abs().max())


def turned(result: Result) -> Reason | None:
    """The wrong sign, everywhere or in some cases."""
    if not result.fitting or not result.all(lambda s: close(-s.got, s.right), wrong_only=True):
        return None
    if len(result.wrong) == len(result.every):
        return _cause(result, "sign")
    return _cause(result, "sign-somewhere", **two_cases(result))


def conjugated(result: Result) -> Reason | None:
    """The right numbers with the other sign of their imaginary parts."""
    if not result.all(
        lambda s: s.got.is_complex() and close(s.got.conj(), s.right), wrong_only=True
    ):
        return None
    return Reason("value/conjugated")


def transposed(result: Result) -> Reason | None:
    """The right numbers with one dimension in another place."""

    def moved(s: Seen) -> bool:
        places = permutations(range(s.got.dim()), 2)
        return any(close(s.got.movedim(*each), s.right) for each in places)

    return _cause(result, "transposed") if result.all(moved, wrong_only=True) else None


def unsummed(result: Result) -> Reason | None:
    """The right numbers before they were summed down to their shape."""

    def summed(s: Seen) -> bool:
        return s.fits or close(s.got.sum_to_size(s.right.shape).to(s.right.dtype), s.right)  # type: ignore[union-attr]

    more = any(s.got.numel() > s.right.numel() for s in result.wrong if isinstance(s.got, Tensor) and s.right is not None)  # fmt: skip
    return _cause(result, "unsummed") if more and result.all(summed) else None


# ---- factors -------------------------------------------------------------------------------------


def scaled(result: Result) -> Reason | None:
    """One factor in each case."""
    found = [ratio(s.got, s.right) for s in result.every]
    factors = [f for f in found if f is not None]
    if not result.fitting or not factors or len(factors) < len(found):
        return None
    if max(factors) - min(factors) > 1e-6 * abs(factors[0]):
        return _cause(result, "scale-somewhere", ratio=factors[0])
    return _cause(result, "scale", ratio=factors[0], named=constant(factors[0]))


# ---- grad_output: not used, or not in proportion -------------------------------------------------


def _near_and_far(result: Result) -> tuple[Seen, Seen] | None:
    """What came of one case, and what came of a multiple of its grad_output."""
    by_id = {s.pair.question.id: s for s in result.every}
    for id, far in by_id.items():
        kind, _, index = id.partition(":")
        near = by_id.get(f"run:{index}") if kind == "linear" else None
        both = [s.got for s in (near, far) if s is not None and isinstance(s.got, Tensor)]
        if near is not None and len(both) == 2 and both[0].shape == both[1].shape:
            return near, far
    return None


def ignored(result: Result) -> Reason | None:
    """The same gradient whatever grad_output is."""
    both = _near_and_far(result) if result.kind == "gradient" else None
    if both is None or not bool(both[0].got.any()) or not torch.equal(both[0].got, both[1].got):
        return None
    first = both[0]
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
    run = result.ev.flow(result.wrong[0].pair.question)
    end = run and run.results.get((result.kind, result.place))
    masked = run is None or (end is not None and any(v.mask for v in ancestors(end)))
    stops = any(s.right is not None and bool((s.right == 0).any()) for s in result.wrong)
    if stops and masked and run is not None:
        return None  # the mask is told
    return Reason("mask/none" if stops else "upstream/passed-on")


def not_linear(result: Result) -> Reason | None:
    """f(c · g) is not c · f(g): a term without grad_output, or something done to it."""
    both = _near_and_far(result) if result.kind == "gradient" else None
    if both is None or not result.ev.exercise.linear_upstream:
        return None
    near, far = both
    if not all(bool(torch.isfinite(s.got).all()) for s in both):
        return None
    constant = far.got.double() / FAR - near.got.double()  # of f(g) = L g + k
    # What float32 rounds off on the way is no term, nor what rounding leaves of nothing.
    if _vanishes(near) or bool((constant.abs() <= 1e-5 * near.got.double().abs().max()).all()):
        return None
    return Reason("upstream/nonlinear", rule="upstream-nonlinear")
