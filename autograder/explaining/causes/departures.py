"""Where a wrong value was made: the first operation on its way whose numbers no right answer has.

A run that was found wrong is repeated with every operation recorded, and so are those of the reference
and of the exercise's right answers. From the wrong result the way goes back through operations, names, helper functions and saved tensors alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
Place = tuple[str, int]  # ("output", 0), ("gradient", 1)


@dataclass
class Numbers:
    """Numbers that are found again in whatever shape they have."""

    by_size: dict[int, list[Array]] = field(default_factory=dict)

    def add(self, numbers: Array) -> None:
        flat = numbers.reshape(-1)
        if not self.have(flat):
            self.by_size.setdefault(flat.size, []).append(flat)

    def have(self, numbers: Array) -> bool:
        return _is_among(numbers.reshape(-1), self.by_size.get(numbers.size, []))

    def have_nearly(self, numbers: Array) -> bool:
        """The same for the other sign, or only once what is there several times."""
        once = np.unique(numbers)
        every = (np.unique(k) for known in self.by_size.values() for k in known)
        return self.have(-numbers) or _is_among(once, [k for k in every if k.size == once.size])


def _is_among(flat: Array, known: list[Array]) -> bool:
    if not known:
        return False
    rows = np.stack(known)
    with np.errstate(invalid="ignore"):  # inf − inf
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
        near = np.abs(rows - flat) <= 1e-9 * largest + 1e-6 * np.abs(rows)
    near &= np.isfinite(rows) & np.isfinite(flat)
    same = near | (rows == flat) | (np.isnan(rows) & np.isnan(flat))
    return bool(same.all(axis=1).any())


class RightNumbers:
    """The numbers that right answers have on their way to one result of one question.

    every   all of their numbers, also those on the way to other results
    given   the arguments and upstream gradients; toward: these, and what leads to this result
    values  the same as values of a run
    """

    def __init__(self, ev: Evidence, question: Question, place: Place):
        flows = _flows(ev, question)
        right = flows[0].results.get(place)
        ends = [f.results[place] for f in flows if place in f.results and right is not None and like(f.results[place], right)]  # fmt: skip
        self.values = list(dict.fromkeys(v for end in ends for v in ancestors(end)))
        self.every, self.toward, self.given = Numbers(), Numbers(), Numbers()
        tensors = [v for v in (*question.args, *question.upstream) if isinstance(v, Tensor)]
        given = [t.detach().double().numpy() for t in tensors if t.numel() <= LARGEST]
        for numbers in given:
            self.given.add(numbers)
        for numbers in (*given, *(v.numbers for v in self.values)):
            self.toward.add(numbers)
        for numbers in (*given, *(v.numbers for f in flows for v in f.values)):
            self.every.add(numbers)


def _flows(ev: Evidence, question: Question) -> list[Flow]:
    """The runs of the reference and of right answers."""
    known = _known.setdefault(ev.references, {})
    if question.id not in known:
        scenarios = {s.name: s for s in ev.exercise.scenarios}
        right = known_answers(ev.exercise, right=True)[:_MOST]
        answers = map(loaded, right)
        with contained():
            known[question.id] = [
                _of_reference(ev, question),
                *(flow(answer, question, scenarios) for answer in answers if answer is not None),
            ]
    return known[question.id]


_known: WeakKeyDictionary[References, dict[str, list[Flow]]] = WeakKeyDictionary()


def _of_reference(ev: Evidence, question: Question) -> Flow:
    def run(answer: Answer) -> None:
        expected = expect(ev.exercise, question)
        answer.outputs, answer.gradients = expected.outputs, expected.gradients

    return flow_of(run, question, frozenset())


def ancestors(end: Value) -> list[Value]:
    """The values that a value was computed from, and itself, what came first first, or nearly so."""
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
    return list(order)


def like(value: Value, other: Value) -> bool:
    """Whether two values have the same numbers, in whatever shape."""
    flat = value.numbers.reshape(-1)
    return flat.size == other.numbers.size and _is_among(flat, [other.numbers.reshape(-1)])


@dataclass(frozen=True)
class Departure:
    """Where the way of a result leaves those of all right answers.

    line, text  of the learner's code
    value       the first wrong value, as its line gives it; mine: all values on the way to the result
    question    the run
    right       what right answers have
    instead     the right value in its place, where that is known
    """

    line: int
    text: str
    value: Value
    mine: tuple[Value, ...]
    right: RightNumbers
    question: Question
    instead: Value | None = None


_found: WeakKeyDictionary[Evidence, dict[tuple[str, Place], Departure | None]] = WeakKeyDictionary()


def departure(ev: Evidence, question: Question, place: Place, method: str) -> Departure | None:
    """Where a result of a run goes wrong; None where no run tells.

    method  whose work the result is
    """
    found = _found.setdefault(ev, {})
    if (question.id, place) not in found:
        found[question.id, place] = _departure(ev, question, place, method)
    return found[question.id, place]


def _departure(ev: Evidence, question: Question, place: Place, method: str) -> Departure | None:
    end = ev.flow(question).results.get(place) if ev.flow is not None else None
    if end is None:
        return None
    mine, right = ancestors(end), RightNumbers(ev, question, place)
    wrong = _wrong(end, mine, right.every)
    first = [v for v in wrong if v.line is not None and not any(g in wrong for g in v.given if g.line)]  # fmt: skip
    least = min(map(doubtful, first), default=0)
    first = [v for v in first if doubtful(v) == least]
    sure = [v for v in first if not right.every.have_nearly(v.numbers)] or first
    # All of it is right for something: then it is right for another result, or a step is missing at the end.
    sure = sure or [v for v in _wrong(end, mine, right.toward) if v.line is not None][:1] or _last(ev, end, method)  # fmt: skip
    for value in sure:
        short = _cut_short(value, right)
        value, instead = short or (value, None)
        if value.line and value.text:
            value = value if short else _of_line(value, mine)
            return Departure(value.line or 0, value.text, value, tuple(mine), right, question, instead)  # fmt: skip
    return None


def doubtful(value: Value) -> int:
    """How little a value says: 1 for a mask that is the same everywhere, 2 for other numbers that are."""
    alike = value.numbers.size > 1 and len(np.unique(value.numbers)) == 1
    return 0 if not alike else 1 if value.mask else 2


def _of_line(value: Value, order: list[Value]) -> Value:
    """What the same line makes of a value in the end."""
    for later in order:
        if value in later.given and later.line == value.line and later.mask == value.mask:
            value = later
    return value


def _cut_short(value: Value, right: RightNumbers) -> tuple[Value, Value] | None:
    """The mask that a value was made with, and what right answers first make of it with another one."""
    for mask in (g for g in value.given if g.mask and g.line is not None and not value.mask):
        used = [v for v in right.values if any(like(mask, g) for g in v.given)]
        if used and all(v.mask and not like(v, mask) for v in used):
            return mask, used[-1]
    return None


def _last(ev: Evidence, end: Value, method: str) -> list[Value]:
    """What made the end, unless this stands in another method of the class."""
    while end.line is None and len(end.given) == 1:
        end = end.given[0]
    others = [ev.source.methods[m] for m in _METHODS if m in ev.source.methods and m != method]
    line = (end.line or 0) - ev.source.offset
    elsewhere = any(m.lineno <= line <= (m.end_lineno or m.lineno) for m in others)
    return [] if elsewhere else [end]


def _wrong(end: Value, order: list[Value], right: Numbers) -> list[Value]:
    """The values on the way to the end that no right answer has, and that lead to none that one has.

    What is the same as the end is not right there, where something wrong was used to make it: a mask
    that stops nothing leaves the numbers as they were.
    """
    has = {v for v in order if right.have(v.numbers) and doubtful(v) != 1}
    has.discard(end)
    has -= {v for v in has if v.line and like(v, end) and any(g not in has for g in v.given)}
    # Whole numbers agree by chance: what they were made of need not be right.
    fine = {v for v in has if bool((v.numbers != np.round(v.numbers)).any())}
    for value in reversed(order):  # what was made of others before these
        if value in fine:
            fine.update(value.given)
    right_ones, reached = fine | has, {end}
    for value in reversed(order):
        if value in reached and value not in right_ones:
            reached.update(value.given)
    return [v for v in order if v in reached and v not in right_ones]
