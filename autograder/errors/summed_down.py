"""Errors of sums: a shape that they cannot give, a dimension that has moved since the one before."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from autograder.causes.shapes import sum_of_gradient
from autograder.causes.summed import explain
from autograder.causes.sums import Sum
from autograder.compare import shape_words
from autograder.evidence import Evidence, Pair
from autograder.observation import Failure

Words = tuple[str, str]

_WORDS = {"select": "index"}  # as a learner calls it


def moved_up(failure: Failure, got: int) -> Words | None:
    """A dimension is named that was there before a reduction dropped one in front of it."""
    if not failure.operation or not failure.operands or got < 1:
        return None
    last = failure.operands[0]
    if len(last.dims) != 1 or not last.dims[0] < got < len(last.before):
        return None
    where = f" in line {last.line}" if last.line else ""
    return (
        f"The {_WORDS.get(last.reduced_by, last.reduced_by)}{where} takes dimension {last.dims[0]} away, and those behind it "
        f"move up: {shape_words(last.before)} becomes {shape_words(last.shape)}, which has no dimension {got}.",
        f"What was dimension {got} is dimension {got - 1} now. To take several away, take the first one each time, begin "
        "with the last one, or name them all in one call: sum((0, 1)).",
    )


def summed_down_wrongly(failure: Failure, ev: Evidence, pair: Pair) -> Words | None:
    """What is summed too much for the shape that it is to get: over which dimensions was it summed?"""
    if not any(o.summed for o in failure.operands):
        return None
    if ev.exercise.is_function:
        sums = [_sum_of(p) for p in ev.plain]
        known = [s for s in sums if s is not None]
        if len(known) < len(sums):
            return None
        return explain(known, ev.argument(0), ev.argument(1))
    found = _asked_for(failure)
    i = next((i for i in pair.question.wants if tuple(pair.question.args[i].shape) == found), None)
    if i is None:
        return None
    sums = [_gradient_of(ev, p, i) for p in ev.plain if i in p.question.wants]
    name = ev.argument(i)
    return explain([s for s in sums if s is not None], f"The gradient for {name}", name)


def _sum_of(pair: Pair) -> Sum | None:
    """What was summed in one case, whether it came to its end or not."""
    args, failure = pair.question.args, pair.answer.failure
    if len(args) != 2 or not isinstance(args[0], Tensor) or not isinstance(args[1], tuple | list):
        return None
    shape = tuple(args[1])
    if failure is None:
        (got,) = pair.answer.outputs or (None,)
        return Sum(args[0], shape, got) if isinstance(got, Tensor) else None
    found = next((o for o in failure.operands if o.summed), None)
    if found is None or found.whole != tuple(args[0].shape):
        return None
    return Sum(args[0], shape, args[0].sum(found.summed))


def _gradient_of(ev: Evidence, pair: Pair, i: int) -> Sum | None:
    """The sum of one gradient; of a case that failed as it would be of any tensor of that shape."""
    failure = pair.answer.failure
    if failure is None:
        return sum_of_gradient(ev, pair, i)
    shape = tuple(pair.question.args[i].shape)
    found = next((o for o in failure.operands if o.summed), None)
    if found is None or _asked_for(failure) != shape:
        return None
    output = next((o for o in pair.expected.outputs if isinstance(o, Tensor)), None)
    if output is None or found.whole != tuple(output.shape):
        return None
    whole = torch.arange(1.0, output.numel() + 1, dtype=torch.float64).sin().reshape(output.shape)
    return Sum(whole, shape, whole.sum(found.summed))


def _asked_for(failure: Failure) -> tuple[int, ...] | None:
    """The shape that a reshape was to give."""
    found = re.search(r"shape '\[([\d, ]*)\]' is invalid", failure.message)
    return tuple(map(int, found[1].split(", "))) if found and found[1] else None
