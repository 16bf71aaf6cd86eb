"""The Functions of lesson 10, as they are handed out and as somebody repaired them."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from autograder.contract.known_mistakes import read_answers
from autograder.exercises import lesson_exercises
from widgets.suspects import defined


class Patient(NamedTuple):
    """One Function twice: with its fault, and without."""

    admitted: Any
    repaired: Any


@cache
def patients() -> Mapping[str, Patient]:
    """The cases of the clinic by name: the first of their known mistakes, and the first right answer."""
    found = {}
    for exercise in lesson_exercises("10_debugging"):
        answers = read_answers(exercise.mistakes, exercise.name) if exercise.mistakes else []
        right = next(answer for answer in answers if answer.right)
        found[exercise.name] = Patient(
            defined(exercise.name, answers[0].source), defined(exercise.name, right.source)
        )
    return MappingProxyType(found)
