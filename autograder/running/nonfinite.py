"""Where nan, infinities and lost numbers come from: the first operation that made them.

A run that has failed is repeated with every operation recorded, and an element is followed back to
the operation that overflowed, underflowed, divided by 0 or lost a number beside a larger one. Only
what was measured is told; in which words, ``autograder.explaining.causes.arithmetic`` decides.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.ending import errors_only
from autograder.observation.observation import Answer, Question
from autograder.running.operations import LARGEST, Number, Operations, Origin, recorded

_RESULTS = ("outputs", "gradients", "second")
_FOLLOWED = ("run", "function", "second")
_ELEMENTS = 8  # of one result
_STEPS = 4  # of the way to one element
_VISITS = 300
_LOST = 1e-6  # a summand that changes a sum by less is lost in it: float32 has seven digits

Step = dict[str, Any]
Element = tuple[str, int, int]  # outputs, gradients or second; which of them; flat index
_MOVE = frozenset({"_to_copy", "alias", "clone", "contiguous", "copy", "neg"})
# Operations that give 0 for what is not: because they were asked to, and nothing is lost.
_GIVE_ZERO = frozenset({
    "abs", "amax", "amin", "ceil", "clamp", "clamp_max", "clamp_min", "fill", "floor", "heaviside", "log",
    "masked_fill", "max", "maximum", "min", "minimum", "relu", "round", "sign", "threshold",
    "threshold_backward", "trunc", "where", "zero", *_MOVE,
})  # fmt: skip
_GIVE_INFINITY = frozenset({"fill", "full", "masked_fill", "where"})
_MATRIX = frozenset({"addmm", "baddbmm", "bmm", "dot", "mm", "mv"})
_LIMITS = frozenset({"clamp", "clamp_max", "clamp_min"})
_SUMS = frozenset({"add", "mean", "rsub", "sub", "sum"})
_LONG = frozenset({"mean", "sum"})
_ROWS = frozenset({"_softmax", "_log_softmax"})  # exp(0) is 1: a 0 among what they get makes no 0


def to_be_followed(question: Question, answer: Answer) -> bool:
    """Whether a run has numbers that its inputs do not explain: nan, or inf from finite numbers."""
    if question.kind not in _FOLLOWED or question.device != "cpu" or answer.failure is not None:
        return False
    odd = [t for of in _RESULTS for t in getattr(answer, of) or () if not _is_finite(t)]
    if not odd:
        return False
    given = (*question.args, *question.upstream)
    return any(bool(t.isnan().any()) for t in odd) or all(map(_is_finite, given))


def _is_finite(value: Any) -> bool:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return True
    return math.isfinite(float(value.sum())) or bool(torch.isfinite(value).all())


def follow(
    answer: Answer, run: Callable[[], None], files: frozenset[str], wrong: Element | None = None
) -> list[dict[str, Any]]:
    """Repeat the run that gives an answer, and say what happened on the way to its elements: plain data.

    wrong  one element that is finite and wrong: it alone is followed; None: what is not finite
    Each entry: of (outputs, gradients, second), place (which of them), index (flat) and steps, the
    first one first. Each step: op, operands, result, line (None: nobody knows), again (part of that
    line's derivative), minus (a and b where the operand is a − b), minus_line (where it was made), count (of the
    numbers of a sum).
    """
    with contextlib.suppress(Exception), errors_only(), recorded(files) as operations:
        run()
    way = _Way(operations)
    told: list[dict[str, Any]] = []
    for of in _RESULTS:
        for place, tensor in enumerate(getattr(answer, of) or ()):
            if not isinstance(tensor, Tensor) or not 0 < tensor.numel() <= LARGEST:
                continue
            odd = (~torch.isfinite(tensor)).reshape(-1).nonzero().reshape(-1).tolist()[:_ELEMENTS]
            if wrong is not None:
                odd = [wrong[2]] if wrong[:2] == (of, place) else []
            told += [
                {"of": of, "place": place, "index": index, "steps": steps}
                for index in odd
                if (steps := way.steps(operations.number(tensor, index))[-_STEPS:])
            ]
    return told


class _Way:
    """Follows numbers back through one recorded run."""

    def __init__(self, operations: Operations) -> None:
        self.origin = operations.origin
        self._known: dict[Origin, list[Step]] = {}

    def steps(self, number: Number) -> list[Step]:
        """What happened on the way to a number, first things first."""
        return self.lost(number) if math.isfinite(number.value) else self.back(number)

    def back(self, number: Number) -> list[Step]:
        """How a nan, an infinity or a 0 came about, first things first; [] where it was given."""
        origin = self.origin(number)
        if origin is None or not origin.sources:
            return []
        if origin not in self._known:
            explain = self._zero if number.value == 0 else self._not_finite
            self._known[origin] = explain(origin)
        return self._known[origin]

    def _first(self, numbers: Sequence[Number]) -> list[Step]:
        return next(filter(None, map(self.back, numbers)), [])

    def _not_finite(self, origin: Origin) -> list[Step]:
        alike = math.isnan if math.isnan(origin.value) else math.isinf
        if earlier := [s for s in origin.sources if alike(s.value)]:
            return self.back(earlier[0])
        if math.isinf(origin.value) and origin.operation.name in _GIVE_INFINITY:
            return []
        steps: list[Step] = []
        for cause in origin.sources:
            if cause.value == 0 or not math.isfinite(cause.value):
                steps += [step for step in self.back(cause) if step not in steps]
        return [*steps, self._step(origin)]

    def _zero(self, origin: Origin) -> list[Step]:
        name, sources = origin.operation.name, origin.sources
        zeros = [s for s in sources if s.value == 0 and name not in _ROWS]
        infinite = [s for s in sources if not math.isfinite(s.value)]
        # 1 / inf, exp(-inf): what was given as such is meant
        asked_to = name in _GIVE_ZERO or not origin.operation.made[0].is_floating_point()  # a mask
        ways = self._first(zeros if asked_to else infinite or zeros)
        if asked_to or infinite:
            return ways
        if name in _MATRIX and zeros:
            row, _ = _factors(sources)
            lost = not any(s.value for s in row)
            return [*ways, self._step(replace(origin, sources=row))] if ways and lost else ways
        if zeros and (name not in _LONG or len(zeros) == len(sources)):
            several = len(zeros) == len(sources) > 1 and name in _LONG
            return [*ways, self._step(origin)] if ways and several else ways
        return [] if name in _SUMS else [self._step(origin)]  # a − a: nothing is lost

    # ---- numbers that are finite, and may be wrong ------------------------------------------
    def lost(self, number: Number) -> list[Step]:
        """The first thing that may have made a finite number wrong; [] where there is nothing."""
        if number.value == 0 and (steps := self.back(number) or self._difference(number)):
            return steps
        waiting, seen = [number], set[Origin]()
        while waiting and len(seen) < _VISITS:
            origin = self.origin(waiting.pop())
            if origin is not None and origin not in seen:
                seen.add(origin)
                waiting += origin.sources
        first = sorted(seen, key=lambda o: (o.operation.name in _LIMITS, o.operation.order))
        way: list[Step] = []
        for steps in filter(None, map(self._loss, first)):
            # What came of it on the same way: 1 / inf is 0, and 0 + 1e-9 is 1e-9.
            if not way or (len(steps) > len(way) and steps[: len(way)] == way):
                way = steps
        return way

    def _difference(self, number: Number) -> list[Step]:
        """How a 0 came about that is a − a, one of the two having been rounded to the other."""
        origin = self.origin(number)
        if origin is not None and origin.operation.name in _MOVE and origin.sources:
            return self._difference(origin.sources[0])
        if origin is None or origin.operation.name not in ("sub", "rsub"):
            return []
        makers = filter(None, map(self.origin, origin.sources))
        last = max(makers, key=lambda made: made.operation.order, default=None)
        return [self._step(last), self._step(origin)] if last is not None else []

    def _loss(self, origin: Origin) -> list[Step]:
        name, value, sources = origin.operation.name, origin.value, origin.sources
        numbers = [s.value for s in sources]
        if infinite := [s for s in sources if not math.isfinite(s.value)]:
            return self._first(infinite)
        if name in _LONG:
            return self._zero(origin) if len(numbers) > 1 and not any(numbers) else []
        if name in _LIMITS and sources and numbers[0] != value:
            return [*self._maker(sources[0]), self._step(origin)]
        if name not in _SUMS or len(numbers) != 2:
            return []
        small, large = sorted(sources, key=lambda s: abs(s.value))
        if value == 0 and numbers[0] == numbers[1] != 0 and 0 in (small.storage, large.storage):
            made = next((s for s in sources if s.storage), small)
            return [*self._maker(made), self._step(origin)]  # 1 − σ(x) where σ(x) was rounded to 1
        if large.value == 0 or not math.isclose(abs(value), abs(large.value), rel_tol=_LOST):
            return []
        before = self.back(small) if small.value == 0 else self._maker(small)
        return [*before, self._step(origin)] if before else []

    def _maker(self, number: Number) -> list[Step]:
        """The operation that a number came out of."""
        origin = self.origin(number)
        if origin is None:
            return []
        moved = origin.operation.name in _MOVE and origin.sources
        return self._maker(origin.sources[0]) if moved else [self._step(origin)]

    def _step(self, origin: Origin) -> Step:
        operation, numbers = origin.operation, [s.value for s in origin.sources]
        if operation.name in _MATRIX and origin.value != 0:
            pairs = [[a, b] for a, b in zip(*_factors(numbers), strict=True)]
            alike = math.isnan if math.isnan(origin.value) else math.isinf
            products = [a * b for a, b in pairs]
            numbers = next((pair for pair in pairs if alike(math.prod(pair))), _apart(products))
        elif operation.name in _LONG and math.isnan(origin.value):
            numbers = _apart(numbers) or numbers
        step: Step = {
            "op": operation.name, "operands": numbers[:3], "result": origin.value,
            "line": operation.line, "again": operation.again, "count": len(origin.sources), "minus": [],
            "minus_line": None,
        }  # fmt: skip
        before = self.origin(origin.sources[0]) if len(origin.sources) == 1 else None
        if before is not None and before.operation.name in ("sub", "rsub"):
            terms = [s.value for s in before.sources[:2]]
            step["minus"] = terms if before.operation.name == "sub" else terms[::-1]
            step["minus_line"] = before.operation.line
        return step


def _apart(terms: Sequence[float]) -> list[float]:
    """∞ and −∞, where a sum has both and no nan; [] where it has not."""
    both = [math.inf, -math.inf]
    return both if set(both) <= set(terms) and not any(map(math.isnan, terms)) else []


def _factors(sources: list[Any]) -> tuple[list[Any], list[Any]]:
    """The row and the column of a matrix product, without what they were added to."""
    both = sources[len(sources) % 2 :]
    return both[: len(both) // 2], both[len(both) // 2 :]
