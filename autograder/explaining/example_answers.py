"""An exercise's known mistakes, and what they answer to the questions that a learner was asked.

They are the course's own code: they run in this process (inside ``contained``), and what one answered is remembered for as long
as the questions are, so that a class pays once.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from autograder.contract.exercise import Exercise
from autograder.contract.known_mistakes import Answer as Example
from autograder.contract.known_mistakes import read_answers
from autograder.contract.references import References
from autograder.explaining.likeness import Parts, parts, right_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.observation.observation import Answer, Question
from autograder.running.probe import answered

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
        exec(compile(example.source, f"<{example.id}>", "exec"), space)
    except Exception:  # the course's tests say so; a learner's check goes on without it
        return None
    return space.get(example.exercise)


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
