"""The exercises of the course, one module a lesson; found by name."""

from __future__ import annotations

import difflib
import importlib
from functools import cache

from autograder.exercise import Exercise
from autograder.exercises.start import WARM_UP

# Lesson name → module that holds its exercises. The order is the order of the course.
MODULES = {
    "01_template": "template",
    "02_sigmoid": "sigmoid",
    "03_linear": "linear",
    "04_ste": "ste",
    "05_double_backward": "double_backward",
    "06_checkpointing": "checkpointing",
    "07_attention": "attention",
}


@cache
def lesson_exercises(lesson: str) -> tuple[Exercise, ...]:
    """The exercises of one lesson, in the order in which the lesson poses them."""
    module = importlib.import_module(f"autograder.exercises.{MODULES[lesson]}")
    return tuple(module.EXERCISES)


@cache
def all_exercises() -> dict[str, Exercise]:
    """Every exercise of the course by its public name."""
    found: dict[str, Exercise] = {}
    for lesson in MODULES:
        for exercise in lesson_exercises(lesson):
            if exercise.name in found:
                raise ValueError(f"two exercises are called {exercise.name}")
            found[exercise.name] = exercise
    return found


def find(name: str) -> Exercise:
    """The exercise called ``name``; ValueError with the closest names when there is none."""
    exercises = {**all_exercises(), WARM_UP.name: WARM_UP}
    if name in exercises:
        return exercises[name]
    folded = {known.lower(): known for known in exercises}
    close = difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.4)
    names = ", ".join(folded[c] for c in close) or ", ".join(exercises)
    raise ValueError(
        f"There is no exercise called {name!r}. Closest names: {names}. "
        f"If your class has another name, say which exercise it solves: "
        f'check({name}, exercise="…").'
    )


def __getattr__(attribute: str) -> object:
    if attribute == "LESSONS":  # lesson → names, made when first asked for
        return {lesson: tuple(e.name for e in lesson_exercises(lesson)) for lesson in MODULES}
    raise AttributeError(attribute)
