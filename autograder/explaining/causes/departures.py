"""Where a wrong value was made: the first operation on its way whose numbers no right answer has.

A run that was found wrong is repeated with every operation recorded, and so are those of the reference
and of the exercise's right answers. From the wrong result the way goes back through operations, names, helper functions and
saved tensors alike. Then a right value is put in the place of each value, in a run of its own: the first with
which the result comes out right is the fault, whatever it looks like, and what belongs there is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from autograder.explaining.example_answers import Numbers, Place, RightNumbers, like
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.rules.problems import size_of
from autograder.observation.observation import Question
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.value_flow import Replaced, Value, ancestors

_METHODS = ("forward", "setup_context", "backward", "vjp")
# What puts numbers somewhere else, and makes none.
_MOVES = frozenset({
    "_to_copy", "clone", "copy", "cat", "stack", "where", "masked_fill", "gather", "scatter", "index_select", "index_add",
    "constant_pad_nd", "repeat", "flip", "roll", "select_backward", "slice_backward", "diag_embed",
})  # fmt: skip
MOST_TRIED = 160  # runs in which a value is exchanged
MOST_RUN = 12_000  # operations in all of them
MOST_NUMBERS = 2_000_000  # elements that are given in all of them

_Mended = tuple[Value, Array]  # a value, and numbers that make the result right in its place


@dataclass(frozen=True)
class Departure:
    """Where the way of a result leaves those of all right answers.

    line, text  of the learner's code
    value       the first wrong value; mine: all values on the way to the result
    question    the run
    right       what right answers have
    mended      it, what it was made of and what its line makes of it, with the numbers with which, in the place of
                each, the result is right: tried
    """

    line: int
    text: str
    value: Value
    mine: tuple[Value, ...]
    right: RightNumbers
    question: Question
    mended: tuple[_Mended, ...] = ()

    @property
    def instead(self) -> Array | None:
        """What belongs in the place of the value, where nothing else would do as well."""
        found = [numbers for value, numbers in self.mended if value is self.value]
        return found[0] if len(found) == 1 else None


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
    mended, solved = _mended(ev, question, place, mine, right)
    if mended:
        value = mended[solved][0]
        return Departure(value.line or 0, value.text, value, tuple(mine), right, question, mended)
    wrong = _wrong(end, mine, right.every)
    first = [v for v in wrong if v.line is not None and not any(g in wrong for g in v.given if g.line)]  # fmt: skip
    least = min(map(doubtful, first), default=0)
    first = [v for v in first if doubtful(v) == least]
    # All of it is right for something: then it is right for another result, or a step is missing at the end.
    first = first or [v for v in _wrong(end, mine, right.toward) if v.line is not None][:1] or _last(ev, end, method)  # fmt: skip
    for value in first:
        if value.line and value.text:
            value = _line_of(value, mine)[-1]
            return Departure(value.line or 0, value.text, value, tuple(mine), right, question)
    return None


def _mended(
    ev: Evidence, question: Question, place: Place, mine: list[Value], right: RightNumbers
) -> tuple[tuple[_Mended, ...], int]:
    """The first value on the way in whose place a right one makes the result right, and the right one.

    Before it, and counted, what it was made of, with what this would have to be; after it what its line makes of it.
    Each is put there in a run of its own. What leads to a right result is right, whatever it looks like.
    """
    pair, run = ev.pair(question.id), ev.flow(question) if ev.flow is not None else None
    if run is None or ev.answered is None or pair.references is None:
        return (), 0
    known = right_parts(pair)
    wrong = wrong_parts(pair, known)
    fine = {v for at, end in run.results.items() if at not in wrong for v in ancestors(end)}
    left = min(MOST_TRIED, MOST_RUN // (1 + len(run.values)), MOST_NUMBERS // (1 + size_of(pair)))

    def mends(value: Value, numbers: Array) -> bool:
        nonlocal left
        left -= 1
        if left < 0 or ev.answered is None or value.made is None:
            return False
        answer = ev.answered(question, Replaced(value, numbers))
        still = wrong_parts(Pair(question, answer, pair.references), known)
        return answer.failure is None and place not in still and still <= wrong

    def instead(value: Value) -> list[_Mended]:
        return [(value, numbers) for numbers in right.instead_of(value) if mends(value, numbers)]

    def before(value: Value, numbers: Array) -> list[_Mended]:
        """What it was made of, as far back as one part alone is not known to be right; the first first."""
        parts = [p for p in _parts(value, numbers) if p[0] not in fine and not right.toward.have(p[0].numbers)]  # fmt: skip
        found = [p for p in parts if mends(*p)] if len({p[0] for p in parts}) == 1 else []
        return [*before(*found[0]), *found] if len(found) == 1 else []

    with contained():
        open_ = [v for v in mine if v.line is not None and v.exchangeable and v not in fine]
        known_ones = [v for v in open_ if right.toward.have(v.numbers)]
        for value in (*(v for v in open_ if v not in known_ones), *reversed(known_ones)):
            if found := instead(value):
                value, found = _unmoved(value, found, instead)
                earlier = before(*found[0]) if len(found) == 1 else []
                later = [each for v in _line_of(value, mine)[1:] for each in instead(v)]
                return (*earlier, *found, *later), len(earlier)
    return (), 0


def _unmoved(
    value: Value, found: list[_Mended], instead: Callable[[Value], list[_Mended]]
) -> tuple[Value, list[_Mended]]:
    """What was wrong already before it was only moved, joined or picked, and what belongs there."""
    while value.op in _MOVES:
        before = [g for g in value.given if g.line is not None]
        same = len(before) == 1 and np.array_equal(before[0].numbers.reshape(-1), value.numbers.reshape(-1))  # fmt: skip
        if same and (not before[0].mask or all(np.isin(n, (0, 1)).all() for _, n in found)):
            value, found = before[0], [(before[0], numbers) for _, numbers in found]
            continue
        ways = [(g, way) for g in before if g.exchangeable and (way := instead(g))]
        if len(ways) != 1:
            break
        value, found = ways[0]
    return value, found


def _parts(value: Value, numbers: Array) -> Iterator[tuple[Value, Array]]:
    """What each part of a sum, a product or a quotient would have to be, to make these numbers of it."""
    made, wanted = value.numbers, numbers.reshape(value.numbers.shape)
    for part in value.given:
        if part.line is None or not part.exchangeable or part.mask:
            continue
        try:
            same = part.numbers.size == made.size
            mine = part.numbers.reshape(made.shape) if same else np.broadcast_to(part.numbers, made.shape)  # fmt: skip
        except ValueError:
            continue
        with np.errstate(all="ignore"):
            factor = np.where(made == wanted, 1.0, wanted / made)
            ways = {
                "mul": (mine * factor,), "div": (mine * factor, mine / factor), "neg": (-wanted,),
                "add": (mine + wanted - made,), "sub": (mine + wanted - made, mine - wanted + made),
                "rsub": (mine - wanted + made,),
            }  # fmt: skip
        for way in ways.get(value.op, ()):
            once = way if same else _once(way, part.numbers.shape)
            if np.isfinite(once).all() and np.allclose(np.broadcast_to(once, made.shape), way):
                yield part, once


def _once(numbers: Array, shape: tuple[int, ...]) -> Array:
    """One row of what was broadcast from this shape."""
    numbers = numbers[(0,) * (numbers.ndim - len(shape))]
    return numbers[tuple(slice(0, size) for size in shape)]


def doubtful(value: Value) -> int:
    """How little a value says: 1 for a mask that is the same everywhere, 2 for other numbers that are."""
    alike = value.numbers.size > 1 and len(np.unique(value.numbers)) == 1
    return 0 if not alike else 1 if value.mask else 2


def _line_of(value: Value, order: list[Value]) -> list[Value]:
    """A value and what the same line makes of it, the end last."""
    steps = [value]
    for later in order:
        if steps[-1] in later.given and (later.line, later.mask) == (value.line, value.mask):
            steps.append(later)
    return steps


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
    # Zeros made of nothing are room for what is written there.
    return [
        v for v in order if v in reached and v not in right_ones and (v.given or v.numbers.any())
    ]
