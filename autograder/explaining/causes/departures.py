"""Where a wrong value was made: the first operation on its way whose numbers no right answer has.

A run that was found wrong is repeated with every operation recorded, and so are those of the reference
and of the exercise's right answers. From the wrong result the way goes back through operations, names, helper functions and
saved tensors alike. Then a right value is put in the place of each value, in a run of its own: the first with
which the result comes out right is the fault, whatever it looks like, and what belongs there is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, combinations, islice, takewhile
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from autograder.explaining.causes.definitions import defined
from autograder.explaining.causes.solving import concerned, moves, narrow, puts, solved_by
from autograder.explaining.example_answers import Place, RightNumbers, like
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.rules.problems import size_of
from autograder.observation.compare import shape_words
from autograder.observation.observation import Question
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.value_flow import Flow, Replaced, Reread, Value, ancestors

ERROR: Place = ("error", 0)  # that a run stops
# Room for numbers.
ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty"})
_MOVED = 6  # other places for the numbers of one value
_DIMENSIONS = 5  # of a tensor that was summed
_AGAIN = 3  # values that one expression gives in a loop
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
    def new(self) -> list[Value]:
        """The values on the way that no right answer has, of each expression the first."""
        return _new(self.mine, self.right)

    @property
    def sure(self) -> bool:
        """Whether the first wrong step is known, and not only that the last can be mended."""
        last = like(self.value.numbers, self.mine[-1].numbers)
        return bool(self.mended) and not last and not self.right.anywhere.have(self.value.numbers)

    @property
    def instead(self) -> Array | None:
        """What belongs in the place of the value, where nothing else would do as well."""
        found = [numbers for value, numbers in self.mended if value is self.value]
        return found[0] if len(found) == 1 else None


_found: WeakKeyDictionary[Evidence, dict[tuple[str, Place], Departure | None]] = WeakKeyDictionary()


def departure(ev: Evidence, question: Question, place: Place) -> Departure | None:
    """Where a result of a run goes wrong; None where no run tells."""
    found = _found.setdefault(ev, {})
    if (question.id, place) not in found:
        found[question.id, place] = _departure(ev, question, place)
    return found[question.id, place]


def moved(found: Departure) -> tuple[str, dict[str, Any]] | None:
    """Right numbers in another shape than they need, or in other places."""
    got, right = found.value.numbers, found.instead
    if right is None:
        return None
    if found.value.op.startswith("sum") and len(found.value.given) == 1:
        whole = found.value.given[0].numbers
        if not found.right.toward.have(whole) or found.right.has(found.value):
            return None
        over, belongs = _summed(whole, got), _summed(whole, right)
        if over is not None and belongs is not None and over != belongs:
            return "departs/sum", {
                "over": over,
                "belongs": belongs,
                "whole": shape_words(whole.shape),
            }
    shapes = {"mine": shape_words(got.shape), "right": shape_words(right.shape)}
    if got.size != right.size and found.right.has(found.value):
        return None  # a right step, and not the last
    if got.size != right.size or (got.shape != right.shape and like(got, right)):
        return "departs/shape", {**shapes, "same": got.size == right.size}
    moved = not found.value.mask and like(np.sort(got, None), np.sort(right, None))
    return ("departs/places", {}) if moved and got.size > 1 else None


def _summed(whole: Array, numbers: Array) -> str | None:
    """The dimensions that were summed to get these numbers, in words; None where it is no such sum."""
    dims = range(min(whole.ndim, _DIMENSIONS))
    for each in chain.from_iterable(combinations(dims, count) for count in range(len(dims) + 1)):
        if like(whole.sum(axis=each), numbers):
            plural = "s" * (len(each) > 1)
            return f"dimension{plural} {' and '.join(map(str, each))}" if each else "no dimension"
    return None


def _departure(ev: Evidence, question: Question, place: Place) -> Departure | None:
    run = ev.flow(question)
    end = run.results.get(place) if run is not None else None
    if run is None or (end is None and place != ERROR):
        return None
    right, mine = RightNumbers(ev, question, place), list(run.values)
    if end is not None:
        reached = {*ancestors(end)}
        mine = [*(v for v in mine if v in reached), end]
    fine = _fine(ev, question, place, run, mine)
    mended, solved = _mended(ev, question, place, run, mine, right, fine)
    values = [mended[solved][0]] if mended else [v for v in (*_new(mine, right), *mine[::-1]) if v.text and v not in fine]  # fmt: skip
    for value in values[:1] if place != ERROR or mended else ():
        place_of = defined(ev.source, value.read) if value.read else None
        line, text = place_of or (value.line or 0, value.text)
        return Departure(line, text, value, tuple(mine), right, question, mended)
    return None


def _new(mine: Iterable[Value], right: RightNumbers) -> list[Value]:
    """The values on the way that no right answer has, of each expression the first."""
    new = [
        v
        for v in mine
        if v.spans and not v.view and right.values and not right.toward.have(v.numbers)
    ]
    return [*{v.spans: v for v in reversed(new)}.values()][::-1]


def _unproven(pair: Pair, place: Place) -> set[Place]:
    """The parts of an answer that are wrong, or that nobody has seen."""
    known = right_parts(pair)
    unseen = place == ERROR and pair.answer.failure and pair.answer.failure.stage == "forward"
    later = {part for part in known if part[0] != "output"} if unseen else set()
    return wrong_parts(pair, known) | later


def _fine(
    ev: Evidence, question: Question, place: Place, run: Flow, mine: list[Value]
) -> set[Value]:
    """The values that lead to something right, and the names that stand for what they say."""
    wrong = _unproven(ev.pair(question.id), place)
    fine = {v for v in mine if v.read and defined(ev.source, v.read) is None}
    # Of a wrong output the gradient may be right: that of 1 − σ is that of σ, but for the sign.
    ends = (end for at, end in run.results.items() if at not in (*wrong, place) and (place[0] != "output" or at[0] == "output"))  # fmt: skip
    # Which numbers a mask lets through shows where they are not 0 alone.
    return fine.union(v for end in ends for v in ancestors(end) if not v.mask)


def _mended(
    ev: Evidence,
    question: Question,
    place: Place,
    run: Flow,
    mine: list[Value],
    right: RightNumbers,
    fine: set[Value],
) -> tuple[tuple[_Mended, ...], int]:
    """Values in whose place others make the result right, with these, the first first; and which of them is told.

    Told is the first with numbers that right answers have. Before it stands what it was made of, with what this
    would have to be. Each is put there in a run of its own. What leads to a right result is right, whatever it looks like.
    """
    pair = ev.pair(question.id)
    if ev.answered is None or pair.references is None:
        return (), 0
    known, wrong = right_parts(pair), _unproven(pair, place)
    either = set[Value]()  # of several masks nobody knows which it is
    left = min(MOST_TRIED, MOST_RUN // (1 + len(run.values)), MOST_NUMBERS // (1 + size_of(pair)))

    def mends(value: Value, numbers: Array) -> bool:
        nonlocal left
        left -= 1
        if ev.answered is None or not (value.made or value.read):
            return False
        other = Reread(value.read, numbers) if value.read else Replaced(value, numbers)
        answer = ev.answered(question, other)
        left -= other.count // (1 + len(run.operations.all))  # it may go round more often
        still = wrong_parts(Pair(question, answer, pair.references), known)
        if place[0] == "output":  # whatever backward makes of it
            return bool(answer.outputs) and not {p for p in still - (wrong - {place}) if p[0] == "output"}  # fmt: skip
        return answer.failure is None and place not in still and still <= wrong

    def right_here(value: Value) -> bool:
        """Whether it is known to be right: what a name stands for need not be what is meant by it."""
        return value.read is None and right.toward.have(value.numbers)

    def mending(value: Value, numbers: Iterable[Array]) -> list[_Mended]:
        tried = takewhile(lambda _: left > 0, numbers)
        return [(value, each) for each in tried if mends(value, each)]

    def moved(value: Value) -> list[_Mended]:
        """The same numbers where they belong, of the last of what only moved them."""
        if any(
            g.numbers.shape == value.numbers.shape and like(g.numbers, value.numbers)
            for g in value.given
        ):
            return []  # a copy
        if question.role != "main" and right.has(value):
            return []  # it may be by chance
        if not all(g.view or right.toward.have(g.numbers) for g in value.given):
            return []  # what it is made of is wrong already
        found = mending(value, islice(right.moved(value), _MOVED))[:1]
        views = (v for v in made if v.view and v.given == (value,)) if found else ()
        return next(filter(None, map(moved, views)), found)

    def back(value: Value, numbers: Array) -> list[_Mended]:
        """The same in what it was made of, as far back as something is not known to be right; the first first."""
        held = [p for p in value.given if moves(value, p) and p.dtype != value.dtype and not p.mask]
        if held and held[0] not in fine:  # it cannot hold them
            return [*back(held[0], numbers), (held[0], numbers)]
        parts = [p for p in value.given if p.exchangeable and p not in fine and p.op not in ZEROS]
        parts = [p for p in parts if any(v.line for v in ancestors(p))]  # the others were given
        parts = [p for p in parts if len(parts) < 2 or concerned(value, numbers, p)]
        new = [p for p in parts if moves(value, p) or puts(value, p) or doubtful(p) or not right_here(p)]  # fmt: skip
        ways = list[list[_Mended]]()
        for part in parts:
            solved = [*solved_by(value, numbers, part)]
            if part not in new:  # right for something: here another may belong
                solved = [s for s in solved if right.toward.have(s) or right.toward.have(narrow(s))]
                found = mending(part, solved)
            else:
                alike = [
                    n for n in right.instead_of(part) if not solved or _agree(n, part, solved[0])
                ]
                alone = solved if part.mask or len(new) == 1 else []
                found = mending(part, alike) or mending(part, alone)
            if found and not part.mask:
                earlier = (back(*each) for each in found[:_MOVED])
                return [*next(filter(None, earlier), ()), *found]
            ways += [found] if found else []
        if len(ways) == 1:
            return [*back(*ways[0][0]), *ways[0]]
        either.update(part for found in ways for part, _ in found)
        return [each for found in ways for each in found]

    with contained():
        made = [v for v in mine if v.line is not None and (v.made or v.read) and v not in fine]
        inner = {g for v in made if not v.view for g in v.given if g.view and g.spans == v.spans}
        made = [v for v in made if v not in inner]
        all_left, left = left, left // 2
        if found := next(filter(None, map(moved, made)), []):
            return tuple(found), 0
        left += all_left // 2
        way = mending(mine[-1].given[0], [known[place].double().numpy()]) if known.get(place) is not None and len(mine[-1].given) == 1 else []  # fmt: skip
        way = [*back(*way[0]), *way] if way else []
        before = ancestors(way[0][0])[:-1] if way else mine
        seldom = Counter[Any]()
        for value in before:
            seldom[value.read or value.spans] += 1
            new = value in made and value.exchangeable and not value.view and seldom[value.read or value.spans] <= _AGAIN  # fmt: skip
            new = new and place != ERROR and not right_here(value)
            if new and (found := mending(value, right.instead_of(value))):
                way = [*back(*found[0]), *found, *way]
                break
        way = [each for each in way if each[0].line is not None]
        sure = [
            i
            for i, (v, numbers) in enumerate(way)
            if v not in either and (v.mask or right.toward.have(numbers))
        ]
        # A right step is not wrong: one that follows it is, or is missing.
        ones = (
            i
            for i in sure
            if way[i][0].mask or way[i][0].read or not right.anywhere.have(way[i][0].numbers)
        )
        told = next(ones, sure[-1] if sure else 0)
    return tuple(way), told


def _agree(numbers: Array, part: Value, solved: Array) -> bool:
    """Whether these are what a part would have to be, where it would have to be another."""
    if not numbers.size == solved.size == part.numbers.size:
        return like(numbers, solved)  # another shape belongs there
    apart = solved.reshape(-1) != part.numbers.reshape(-1)
    return bool(np.allclose(numbers.reshape(-1)[apart], solved.reshape(-1)[apart]))


def doubtful(value: Value) -> int:
    """How little a value says: 1 for a mask that is the same everywhere, 2 for other numbers that are."""
    alike = value.numbers.size > 1 and len(np.unique(value.numbers)) == 1
    return 0 if not alike else 1 if value.mask else 2
