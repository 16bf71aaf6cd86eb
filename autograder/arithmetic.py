"""Where nan, infinities and lost numbers come from: the first operation that made them.

A run that has failed is repeated with every operation recorded, and an element is followed back to
the operation that overflowed, underflowed, divided by 0 or lost a number beside a larger one. Only
what was measured is told; in which words, ``autograder.causes.arithmetic_words`` decides.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.observation import Answer, Question
from autograder.operations import LARGEST, Number, Operation, Operations

_RESULTS = ("outputs", "gradients", "second")
_FOLLOWED = ("run", "function", "second")
_ELEMENTS = 8  # of one result
_STEPS = 4  # of the way to one element
_VISITS = 300
_LOST = 1e-6  # a summand that changes a sum by less is lost in it: float32 has seven digits

Step = dict[str, Any]
Element = tuple[str, int, int]  # outputs, gradients or second; which of them; flat index
# Operations that give 0 for what is not: because they were asked to, and nothing is lost.
_GIVE_ZERO = frozenset({
    "abs", "amax", "amin", "ceil", "clamp", "clamp_max", "clamp_min", "eq", "fill", "floor", "ge", "gt",
    "heaviside", "le", "log", "lt", "masked_fill", "max", "maximum", "min", "minimum", "ne", "relu", "round",
    "sign", "threshold", "threshold_backward", "trunc", "where", "zero",
})  # fmt: skip
_GIVE_INFINITY = frozenset({"fill", "full", "masked_fill", "where"})
_MOVE = frozenset({"_to_copy", "alias", "clone", "contiguous", "copy", "neg"})
_MATRIX = frozenset({"addmm", "baddbmm", "bmm", "dot", "mm", "mv"})
_LIMITS = frozenset({"clamp", "clamp_max", "clamp_min"})
_SUMS = frozenset({"add", "mean", "rsub", "sub", "sum"})
_LONG = frozenset({"mean", "sum"})


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
    run: Callable[[Answer], None], files: frozenset[str], wrong: Element | None = None
) -> list[dict[str, Any]]:
    """Repeat a run and say what happened on the way to its elements: plain data.

    wrong  one element that is finite and wrong: it alone is followed; None: what is not finite
    Each entry: of (outputs, gradients, second), place (which of them), index (flat) and steps, the
    first one first. Each step: op, operands, result, line (None: nobody knows), again (part of that
    line's derivative), minus (a and b where the operand is a − b), minus_line (where it was made), count (of the
    numbers of a sum).
    """
    answer, operations = Answer(), Operations(files)
    # Anomaly mode notes in which line each node of the graph was made: for second derivatives.
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        with contextlib.suppress(BaseException), operations:
            run(answer)
    finally:
        torch.autograd.set_detect_anomaly(*before)
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
        self.operations = operations
        self._known: dict[tuple[int, int, int], list[Step]] = {}

    def steps(self, number: Number) -> list[Step]:
        """What happened on the way to a number, first things first."""
        return self.lost(number) if math.isfinite(number.value) else self.back(number)

    def back(self, number: Number) -> list[Step]:
        """How a nan, an infinity or a 0 came about, first things first; [] where it was given."""
        written = self.operations.writer(number)
        if written is None:
            return []
        operation, which, flat = written
        key = operation.order, which, flat
        if key not in self._known:
            sources = self.operations.sources(operation, which, flat)
            explain = self._zero if number.value == 0 else self._not_finite
            self._known[key] = explain(number.value, operation, sources) if sources else []
        return self._known[key]

    def _first(self, numbers: Sequence[Number]) -> list[Step]:
        return next(filter(None, map(self.back, numbers)), [])

    def _not_finite(self, value: float, operation: Operation, sources: list[Number]) -> list[Step]:
        alike = math.isnan if math.isnan(value) else math.isinf
        if earlier := [s for s in sources if alike(s.value)]:
            return self.back(earlier[0])
        if math.isinf(value) and operation.name in _GIVE_INFINITY:
            return []
        causes = [s for s in sources if s.value == 0 or not math.isfinite(s.value)]
        steps: list[Step] = []
        for cause in causes:
            steps += [step for step in self.back(cause) if step not in steps]
        return [*steps, self._step(value, operation, sources)]

    def _zero(self, value: float, operation: Operation, sources: list[Number]) -> list[Step]:
        zeros = [s for s in sources if s.value == 0]
        infinite = [s for s in sources if not math.isfinite(s.value)]
        if operation.name in (*_GIVE_ZERO, *_MOVE):
            return self._first(zeros)
        if infinite:  # 1 / inf, exp(-inf): what was given as such is meant
            return self._first(infinite)
        if operation.name in _MATRIX and zeros:
            found, row = self._first(zeros), sources[::2]
            lost = not any(s.value for s in row)
            return [*found, self._step(value, operation, row)] if found and lost else found
        if zeros and operation.name not in _LONG:
            return self._first(zeros)
        if len(zeros) == len(sources):
            found = self._first(zeros)
            several = len(sources) > 1
            return [*found, self._step(value, operation, sources)] if found and several else found
        if operation.name in _SUMS:  # a − a: nothing is lost
            return []
        return [self._step(value, operation, sources)]

    # ---- numbers that are finite, and may be wrong ------------------------------------------
    def lost(self, number: Number) -> list[Step]:
        """The first thing that may have made a finite number wrong; [] where there is nothing."""
        if number.value == 0 and (steps := self.back(number)):
            return steps
        waiting, seen = [number], set[tuple[Operation, int, int]]()
        found: list[tuple[bool, int, list[Step]]] = []
        while waiting and len(seen) < _VISITS:
            written = self.operations.writer(waiting.pop())
            if written is None or written in seen:
                continue
            seen.add(written)
            operation, which, flat = written
            sources = self.operations.sources(operation, which, flat)
            if steps := self._loss(operation, which, flat, sources):
                found.append((operation.name in _LIMITS, operation.order, steps))
            waiting += sources
        found.sort(key=lambda each: each[:2])
        way = found[0][2] if found else []
        for (
            _,
            _,
            steps,
        ) in found:  # what came of it on the same way: 1 / inf is 0, and 0 + 1e-9 is 1e-9
            if len(steps) > len(way) and steps[: len(way)] == way:
                way = steps
        return way

    def _loss(
        self, operation: Operation, which: int, flat: int, sources: list[Number]
    ) -> list[Step]:
        value, numbers = operation.result(which, flat), [s.value for s in sources]
        if infinite := [s for s in sources if not math.isfinite(s.value)]:
            return self._first(infinite)
        if operation.name in _LONG:
            all_lost = len(numbers) > 1 and not any(numbers)
            return self._zero(value, operation, sources) if all_lost else []
        if operation.name in _LIMITS and sources and numbers[0] != value:
            return [*self._maker(sources[0]), self._step(value, operation, sources)]
        if operation.name not in _SUMS or len(numbers) != 2:
            return []
        small, large = sorted(sources, key=lambda s: abs(s.value))
        step = self._step(value, operation, sources)
        if value == 0 and numbers[0] == numbers[1] != 0 and 0 in (small.storage, large.storage):
            made = next((s for s in sources if s.storage), small)
            return [*self._maker(made), step]  # 1 − σ(x) where σ(x) was rounded to 1
        if large.value == 0 or not math.isclose(abs(value), abs(large.value), rel_tol=_LOST):
            return []
        before = self.back(small) if small.value == 0 else self._maker(small)
        return [*before, step] if before else []

    def _maker(self, number: Number) -> list[Step]:
        """The operation that a number came out of."""
        written = self.operations.writer(number)
        if written is None:
            return []
        operation, which, flat = written
        sources = self.operations.sources(operation, which, flat)
        if operation.name in _MOVE and sources:
            return self._maker(sources[0])
        return [self._step(number.value, operation, sources)]

    def _step(self, value: float, operation: Operation, sources: list[Number]) -> Step:
        numbers = [s.value for s in sources]
        if operation.name in _MATRIX and value != 0:
            pairs = zip(numbers[::2], numbers[1::2], strict=False)
            numbers = next(([a, b] for a, b in pairs if not math.isfinite(a * b)), [])
        step: Step = {
            "op": operation.name, "operands": numbers[:3], "result": value, "line": operation.line,
            "again": operation.again, "count": len(numbers), "minus": [],
            "minus_line": None,
        }  # fmt: skip
        written = self.operations.writer(sources[0]) if len(sources) == 1 else None
        if written is not None and written[0].name in ("sub", "rsub"):
            terms = [s.value for s in self.operations.sources(*written)[:2]]
            step["minus"] = terms if written[0].name == "sub" else terms[::-1]
            step["minus_line"] = written[0].line
        return step
