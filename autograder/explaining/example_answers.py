"""An exercise's known mistakes and right answers: what they answer to the questions that a learner was asked.

They are the course's own code: they run in this process (inside ``contained``), and what one answered is remembered for as long
as the questions are, so that a class pays once.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from autograder.contract.exercise import Exercise
from autograder.contract.known_mistakes import Answer as Example
from autograder.contract.known_mistakes import read_answers
from autograder.contract.measured import Measured
from autograder.contract.references import References, expect
from autograder.explaining.likeness import Parts, parts, right_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.observation.observation import Answer, Question
from autograder.observation.syntax import called
from autograder.running.containment import contained
from autograder.running.operations import LARGEST, Array
from autograder.running.probe import answered, flow
from autograder.running.value_flow import Flow, Value, ancestors, flow_of

MOST = 200  # answers of an exercise that are looked at


def known_answers(exercise: Exercise, right: bool = False) -> list[Example]:
    """The known mistakes of an exercise, or its right answers; none where it has no file of them."""
    return [a for a in _read(exercise.mistakes, exercise.name) if a.right == right]


@lru_cache(maxsize=256)
def _read(given: Path | str | None, exercise: str) -> tuple[Example, ...]:
    if given is None or (isinstance(given, Path) and not given.exists()):
        return ()
    return tuple(read_answers(given, exercise)[:MOST])


@cache
def loaded(example: Example) -> Any:
    """The object that an example's code defines; None where it stops with an error."""
    space: dict[str, Any] = {
        "__name__": "__main__", "torch": torch, "Function": torch.autograd.Function,
    }  # fmt: skip
    try:
        exec(code_of(example.source, f"<{example.id}>"), space)
    except Exception:  # the course's tests say so; a learner's check goes on without it
        return None
    return space.get(example.exercise)


_numbers = itertools.count()


def code_of(source: str, file: str) -> CodeType:
    """The code of an example, whose lines Python and Triton can read, and whose operators have names of their own.

    An operator of a name that is taken silently takes the place of the other: also in what a learner made.
    """
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source)
    made = (node.args[0] for node in ast.walk(tree) if called(node) == "custom_op")  # type: ignore[attr-defined]
    own = {n.value: f"{n.value!s}_{next(_numbers)}" for n in made if isinstance(n, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(
            node.value, str
        ):  # register_fake names it again
            node.value = own.get(node.value, node.value)
    return compile(tree, file, "exec")


def right_of(ev: Evidence, pair: Pair) -> Parts:
    """The right parts of an answer; of an experiment what a right answer of the exercise gives."""
    if pair.references is not None:
        return right_parts(pair)
    for answer in known_answers(ev.exercise, right=True):
        if (other := answers_of(ev, answer).pair(pair)) is not None:
            return parts(other)
    return {}


class ExampleAnswers:
    """What one example answers, question by question, asked when it is first wanted."""

    def __init__(self, ev: Evidence, example: Example):
        self.value = loaded(example)
        self.scenarios = {s.name: s for s in ev.exercise.scenarios}
        self._answers: dict[str, tuple[Question, Answer]] = {}

    def pair(self, asked: Pair) -> Pair | None:
        """The answer to a question beside what is right; None where it cannot be asked."""
        question = asked.question
        if self.value is None:
            return None
        if question.id not in self._answers or self._answers[question.id][0] is not question:
            answer = answered(self.value, question, self.scenarios)
            self._answers[question.id] = question, answer
        return Pair(question, self._answers[question.id][1], asked.references)


# Questions live as long as the references that answer them.
_asked: WeakKeyDictionary[References, dict[Example, ExampleAnswers]] = WeakKeyDictionary()


def answers_of(ev: Evidence, example: Example) -> ExampleAnswers:
    """The answers of one example to the questions of this evaluation."""
    known = _asked.setdefault(ev.references, {})
    if example not in known:
        known[example] = ExampleAnswers(ev, example)
    return known[example]


# ---- the numbers that right answers have on their way -------------------------------------------

_MOST = 8  # right answers of an exercise whose numbers are looked at
_STEPS = 1200  # numbers of all of them, before the last
Place = tuple[str, int]  # ("output", 0), ("gradient", 1)
Shape = tuple[int, ...]


class _OfSize:
    """Different numbers, a row each, with the shapes that each has."""

    def __init__(self, size: int) -> None:
        self._rows, self.shapes = np.empty((8, size)), list[list[Shape]]()

    @property
    def rows(self) -> Array:
        return self._rows[: len(self.shapes)]

    def add(self, numbers: Array, apart: float) -> None:
        same = _near(numbers, self.rows, apart)
        if same.any():
            shapes = self.shapes[int(same.argmax())]
            shapes += [] if numbers.shape in shapes else [numbers.shape]
            return
        if len(self.shapes) == len(self._rows):
            self._rows = np.concatenate((self._rows, self._rows))
        self._rows[len(self.shapes)] = numbers.reshape(-1)
        self.shapes.append([numbers.shape])


class Numbers:
    """Numbers that are found again in whatever shape they have. ``apart``: how far they may be, as a share."""

    def __init__(self, apart: float) -> None:
        self._apart, self._by_size = apart, dict[int, _OfSize]()

    def add(self, numbers: Array) -> None:
        self._by_size.setdefault(numbers.size, _OfSize(numbers.size)).add(numbers, self._apart)

    def have(self, numbers: Array) -> bool:
        return bool(_near(numbers, self.of_size(numbers.size).rows, self._apart).any())

    def of_size(self, size: int) -> _OfSize:
        """As many numbers."""
        return self._by_size.get(size) or _OfSize(size)


def _near(numbers: Array, rows: Array, apart: float = 1e-9) -> Array:
    """Which rows are these numbers."""
    flat = numbers.reshape(-1)
    with np.errstate(invalid="ignore"):  # inf − inf
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
        near = np.abs(rows - flat) <= apart * (1e-3 * largest + np.abs(rows))
    near &= np.isfinite(rows) & np.isfinite(flat)
    same = near | (rows == flat) | (np.isnan(rows) & np.isnan(flat))
    return np.asarray(same.all(axis=1))


class RightNumbers:
    """The numbers that right answers have on their way to one result of one question.

    toward    the arguments and upstream gradients, and what leads to this result
    anywhere  what they have at all
    values    the same as toward, as values of a run
    """

    def __init__(self, ev: Evidence, question: Question, place: Place):
        flows = _flows(ev, question)
        right = flows[0].results.get(place)
        ends = [f.results[place] for f in flows if place in f.results and right is not None and like(f.results[place].numbers, right.numbers)]  # fmt: skip
        if place[0] == "error":  # nobody knows which result it was to be
            ends = [end for f in flows for end in f.results.values()]
        self.values = list(dict.fromkeys(v for end in ends for v in ancestors(end)))
        tensors = [v for v in (*question.args, *question.upstream) if isinstance(v, Tensor)]
        apart = 1e-4 if any(t.dtype == torch.float32 for t in tensors) else 1e-9
        self.toward, self.anywhere = Numbers(apart), Numbers(apart)
        given = [t.detach().double().numpy() for t in tensors if t.numel() <= LARGEST]
        for numbers in (*given, *(v.numbers for v in self.values)):
            self.toward.add(numbers)
        for value in (v for f in flows for v in f.values):
            self.anywhere.add(value.numbers)

    def has(self, value: Value) -> bool:
        """Whether right answers have it in this very order and shape."""
        known = self.toward.of_size(value.numbers.size)
        same = np.flatnonzero(_near(value.numbers, known.rows))
        return any(value.numbers.shape in known.shapes[i] for i in same)

    def moved(self, value: Value) -> Iterator[Array]:
        """The same numbers in another order or shape, as right answers have them."""
        known, shape = self.toward.of_size(value.numbers.size), value.numbers.shape
        same = _near(value.numbers, known.rows)
        if not value.mask:
            ordered = _near(np.sort(value.numbers, None), np.sort(known.rows))
        for i in np.flatnonzero(same if value.mask else ordered) if value.numbers.size > 1 else ():
            shapes = [s for s in known.shapes[i] if s != shape]
            yield from map(known.rows[i].reshape, shapes if same[i] else [shape, *shapes])

    def instead_of(self, value: Value) -> Iterator[Array]:
        """What may belong in the place of a value: right numbers on the way to the same result, as many; the nearest first."""
        known, shape = self.toward.of_size(value.numbers.size), value.numbers.shape
        fits = np.isin(known.rows, (0, 1)).all(axis=1) if value.mask else known.rows.any(axis=1)
        apart = np.abs(known.rows - value.numbers.reshape(-1)).mean(axis=1)
        for i in sorted(np.flatnonzero(fits), key=lambda i: apart[i]):  # zeros are right for much
            row = known.rows[i]
            shapes = () if value.mask or shape in known.shapes[i] else known.shapes[i]
            for each in (row, 1 - row) if value.mask else (row,):
                if not like(value.numbers, each):
                    yield from map(each.reshape, (shape, *shapes))


def _flows(ev: Evidence, question: Question) -> list[Flow]:
    """The runs of the reference and of right answers."""
    known = _known.setdefault(ev.references, {})
    if question.id not in known:
        scenarios = {s.name: s for s in ev.exercise.scenarios}
        right = known_answers(ev.exercise, right=True)[:_MOST]
        answers = map(loaded, right)
        with contained():
            flows = [_of_reference(ev, question)]
            for answer in answers:
                if answer is not None and sum(len(f.values) for f in flows) < _STEPS:
                    flows.append(flow(answer, question, scenarios))
            for each in itertools.chain.from_iterable(f.operations.all for f in flows):
                # Their tensors are not kept: they stay as long as the questions do.
                each.call, each.given, each.made = (each.call[0], (), {}), [], []
            known[question.id] = flows
    return known[question.id]


_known: WeakKeyDictionary[References, dict[str, list[Flow]]] = WeakKeyDictionary()


def _of_reference(ev: Evidence, question: Question) -> Flow:
    exercise = ev.exercise
    # Measured slopes have no steps: those of forward's own operations have.
    if isinstance(exercise.reference, Measured):
        opened = getattr(exercise.reference.call, "opened", None)
        if opened is None:
            return Flow({}, ())
        exercise = replace(exercise, reference=opened)

    def run(answer: Answer) -> None:
        expected = expect(exercise, question)
        answer.outputs, answer.gradients = expected.outputs, expected.gradients
        answer.second = expected.second

    return flow_of(run, question, frozenset())


def like(numbers: Array, others: Array) -> bool:
    """Whether these are the same numbers, in whatever shape."""
    return numbers.size == others.size and bool(_near(numbers, others.reshape(1, -1)).any())
