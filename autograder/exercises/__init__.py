"""The exercises of the course, one module a lesson, and those that an instructor registers; found by name."""

from __future__ import annotations

import difflib
import importlib
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.contract.exercise import Exercise, Sampler
from autograder.contract.friendly_error import refusal
from autograder.contract.known_mistakes import read_answers
from autograder.exercises.common_cases import kept, of_every_shape

# Lesson name → module that holds its exercises. The order is the order of the course.
MODULES = {
    "01_template": "template",
    "02_sigmoid": "sigmoid",
    "03_linear": "linear",
    "04_ste": "ste",
    "05_double_backward": "double_backward",
    "06_checkpointing": "checkpointing",
    "07_attention": "attention",
    "08_patterns": "patterns",
    "09_layers": "layers",
    "10_debugging": "debugging",
    "11_outside_torch": "outside_torch",
    "12_modern": "modern",
}


@cache
def lesson_exercises(lesson: str) -> tuple[Exercise, ...]:
    """The exercises of one lesson, in its order, with what stands beside them: known mistakes and sentences.

    Sentences are in the form of ``autograder.reporting.wording``; shared.md has those of several exercises.
    """
    module = importlib.import_module(f"autograder.exercises.{MODULES[lesson]}")
    folder = Path(str(module.__file__)).parent
    found = []
    for each in module.EXERCISES:
        name = _snake(each.name)
        told = "".join(_sentences(folder / f"{file}.md") for file in ("shared", name))
        mistakes = folder / f"{name}_mistakes.py"
        found.append(replace(each, lesson=lesson, mistakes=mistakes, sentences=told))
    return tuple(found)


def _sentences(file: Path) -> str:
    """All that follows a file's words on what it is about; "" where there is none."""
    return "".join((*file.read_text("utf-8").partition("## ")[1:], "\n")) if file.is_file() else ""


def _snake(name: str) -> str:
    name = name.replace("ReLU", "Relu").replace("GELU", "Gelu").replace("STE", "Ste")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


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


_registered: dict[str, Exercise] = {}


def register(exercise: Exercise) -> Exercise:
    """Let ``check``, ``hint`` and ``evaluate`` find an exercise of your own by its name; returns it.

    Call it in a module that the notebook imports: then the exercise is there for the learner and when
    nbgrader runs the notebook. The same name again replaces your earlier exercise. Raises ValueError
    for the name of an exercise of the course, and for known mistakes that cannot be read.
    """
    if not isinstance(exercise, Exercise):
        raise TypeError(f"register takes an Exercise, not a {type(exercise).__name__}.")
    if exercise.name in _course():
        raise ValueError(f"{exercise.name} is an exercise of the course; give yours another name.")
    if exercise.mistakes is not None:
        read_answers(exercise.mistakes, exercise.name)
    _registered[exercise.name] = exercise
    return exercise


def registered_exercises() -> dict[str, Exercise]:
    """The exercises of an instructor's own, by name."""
    return dict(_registered)


def _course() -> dict[str, Exercise]:
    return {**all_exercises(), WARM_UP.name: WARM_UP}


def find(name: str) -> Exercise:
    """The exercise called ``name``; ValueError when there is none, with the closest names."""
    exercises = {**_course(), **_registered}
    if name in exercises:
        return exercises[name]
    folded = {known.lower(): known for known in exercises}
    close = [folded[c] for c in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)]
    if name.lower() in folded:
        close = [folded[name.lower()]]
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    raise refusal(
        f"There is no exercise called {name!r}.{meant} If yours has another name, say which "
        f'exercise it solves: check({name}, exercise="…").'
    )


def is_exercise(name: str) -> bool:
    """Whether there is an exercise of that name; False too where exercises cannot be loaded."""
    try:
        find(name)
    except Exception:  # whoever asks this way wants no error
        return False
    return True


def __getattr__(attribute: str) -> Any:
    if attribute == "LESSONS":  # lesson → names, made when first asked for
        return {lesson: tuple(e.name for e in lesson_exercises(lesson)) for lesson in MODULES}
    raise AttributeError(attribute)


WARM_UP = Exercise(
    name="Double",
    summary="2x, element by element.",
    signature="(x)",
    reference=lambda x: 2 * x,
    cases=of_every_shape(Sampler.away_from),
    hints=(
        "Read the report from the top: the first line names what is wrong, the lines under it say "
        "what was measured. Which of the two methods computes the gradient?",
        "When x grows by a little, y = 2x grows by twice that. So a message that arrives from "
        "upstream has to leave twice as large.",
        "The gradient of x is 2 · grad_output. Change the last line, run the cell again, then the "
        "check.",
    ),
    budget=kept(),
    budget_words="nothing",
)
