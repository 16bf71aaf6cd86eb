"""The line in which a wrong value was made: the first operation on its way whose numbers no right answer has.

A run that was found wrong is repeated with every operation recorded, and so are those of the reference
and of the exercise's right answers. From the wrong result the way goes back through operations, names,
helper functions and saved tensors alike, until the numbers are those of some right answer.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor

from autograder.contract.references import References, expect
from autograder.explaining.example_answers import known_answers, loaded
from autograder.judging.evidence import Evidence
from autograder.observation.observation import Answer, Question
from autograder.running.containment import contained
from autograder.running.operations import LARGEST, Array
from autograder.running.probe import flow
from autograder.running.value_flow import Flow, Value, flow_of

_METHODS = ("forward", "setup_context", "backward", "vjp")
_MOST = 8  # right answers of an exercise whose numbers are looked at


class RightNumbers:
    """The numbers that right answers have on their way, to one question."""

    def __init__(self, ev: Evidence, question: Question):
        self._by_size: dict[int, list[Array]] = {}
        scenarios = {s.name: s for s in ev.exercise.scenarios}
        with contained():
            self._take(_of_reference(ev, question))
            for example in known_answers(ev.exercise, right=True)[:_MOST]:
                if (answer := loaded(example)) is not None:
                    self._take(flow(answer, question, scenarios))
        for value in (*question.args, *question.upstream):
            if isinstance(value, Tensor) and value.numel() <= LARGEST:
                self._add(value.detach().double().numpy())

    def _take(self, flow: Flow) -> None:
        for value in flow.values:
            self._add(value.numbers)

    def _add(self, numbers: Array) -> None:
        flat = numbers.reshape(-1)
        known = self._by_size.setdefault(flat.size, [])
        if not _is_among(flat, known):
            known.append(flat)

    def have(self, value: Value) -> bool:
        """Whether some right answer has these numbers, in whatever shape."""
        return self._has(value.numbers.reshape(-1))

    def _has(self, flat: Array) -> bool:
        return _is_among(flat, self._by_size.get(flat.size, []))

    def have_nearly(self, value: Value) -> bool:
        """The same for the other sign, or only once what is there several times."""
        once = np.unique(value.numbers)
        every = (np.unique(k) for known in self._by_size.values() for k in known)
        return self._has(-value.numbers.reshape(-1)) or _is_among(once, [k for k in every if k.size == once.size])  # fmt: skip


def _is_among(flat: Array, known: list[Array]) -> bool:
    if not known:
        return False
    rows = np.stack(known)
    with np.errstate(invalid="ignore"):  # inf − inf
        near = np.abs(rows - flat) <= 1e-9 * np.abs(rows).max(
            axis=1, keepdims=True, initial=0
        ) + 1e-6 * np.abs(rows)
    near &= np.isfinite(rows) & np.isfinite(flat)
    same = near | (rows == flat) | (np.isnan(rows) & np.isnan(flat))
    return bool(same.all(axis=1).any())


def _of_reference(ev: Evidence, question: Question) -> Flow:
    def run(answer: Answer) -> None:
        expected = expect(ev.exercise, question)
        answer.outputs, answer.gradients = expected.outputs, expected.gradients

    return flow_of(run, question, frozenset())


_known: WeakKeyDictionary[References, dict[str, RightNumbers]] = WeakKeyDictionary()


def departure(ev: Evidence, question: Question, kind: str, place: int) -> tuple[int, str] | None:
    """The line of the learner's code, and its text; None where no run tells.

    kind   output or gradient; place: which output, the gradient for which argument
    """
    if ev.flow is None:
        return None
    end = ev.flow(question).results.get((kind, place))
    if end is None:
        return None
    known = _known.setdefault(ev.references, {})
    right = known.setdefault(question.id, None) or RightNumbers(ev, question)  # type: ignore[arg-type]
    known[question.id] = right
    wrong = [value for value in _wrong(end, right) if value.line is not None]
    first = [v for v in wrong if not any(g in wrong for g in v.given)]
    sure = [v for v in first if not right.have_nearly(v)] or first or _by_a_helper(ev, end)
    return next(((v.line, v.text) for v in sure if v.line is not None and v.text), None)


def _by_a_helper(ev: Evidence, end: Value) -> list[Value]:
    """What made the end, where that is right for something else, outside of the methods that torch calls."""
    while end.line is None and len(end.given) == 1:
        end = end.given[0]
    own = [ev.source.methods[m] for m in _METHODS if m in ev.source.methods]
    lines = (range(m.lineno, (m.end_lineno or m.lineno) + 1) for m in own)
    line = (end.line or 0) - ev.source.offset
    return [] if not own or any(line in each for each in lines) else [end]


def _wrong(end: Value, right: RightNumbers) -> list[Value]:
    """The values on the way to the end that no right answer has, and that lead to none that one has.

    In the order in which they were made, or nearly so.
    """
    order: dict[Value, None] = {}
    seen: set[Value] = set()
    waiting = [(end, False)]
    while waiting:
        value, ready = waiting.pop()
        if ready:
            order.setdefault(value)
        elif value not in seen:
            seen.add(value)
            waiting.append((value, True))
            waiting += [(given, False) for given in reversed(value.given)]
    has = {value for value in order if right.have(value)}
    # Whole numbers agree by chance: what they were made of need not be right.
    fine = {v for v in has if bool((v.numbers != np.round(v.numbers)).any())}
    for value in reversed(order):  # what was made of others before these
        if value in fine:
            fine.update(value.given)
    right_ones, reached = fine | has, {end}
    for value in reversed(order):
        if value in reached and value not in right_ones:
            reached.update(value.given)
    return [value for value in order if value in reached and value not in right_ones]
