"""The exercises of the course, one module a lesson, and those that an instructor registers; found by name."""

from __future__ import annotations

import difflib
import importlib
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograder.contract.exercise import Exercise, Sampler
from autograder.contract.friendly_error import refusal
from autograder.contract.known_mistakes import read_answers
from autograder.exercises.common_cases import kept, of_every_shape

# The lessons and their exercises, in the order of the course; those of a lesson are defined in the folder of its name.
LESSONS = {
    lesson: tuple(names.split())
    for lesson, names in {
        "01_template": "Square MyReLU WeightedSum Clip numerical_gradient",
        "02_sigmoid": "MySigmoid MyTanh ScaledSigmoid MyGELU Swish LogSigmoid",
        "03_linear": "MyLinear unbroadcast Multiply Sum Mean Max LogSumExp LinearReLU",
        "04_ste": "RoundSTE SignSTE Binarize FakeQuantize LearnedScale GumbelSoftmax GradientReversal ClipGradient",
        "05_double_backward": "Cube MyExp SwishTwice FirstOrderOnly hvp gradient_penalty",
        "06_checkpointing": "saved_bytes Checkpoint checkpoint_sequential save_in_bfloat16",
        "07_attention": "Softmax ScaledDotProductAttention LeanAttention FlashAttention",
        "08_patterns": "Prod Norm Amax Embedding SoftRank",
        "09_layers": "Dropout BatchNorm LayerNorm Conv1d",
        "10_debugging": "Case01 Case02 Case03 Case04 Case05 Case06 Case07 Case08 Case09 Case10 Case11 Case12",
        "11_outside_torch": "BesselJ0 LambertW Solve FixedPoint",
        "12_modern": "DualSwish sinc_op triton_softmax triton_attention",
    }.items()
}
_LESSON_OF = {name: lesson for lesson, names in LESSONS.items() for name in names}


@cache
def lesson_exercises(lesson: str) -> tuple[Exercise, ...]:
    """The exercises of one lesson, in its order, with what stands beside them: known mistakes and sentences.

    Sentences are in the form of ``autograder.reporting.wording``; shared.md has those of several exercises.
    """
    folder = Path(__file__).parent / lesson[3:]
    defined: dict[str, Exercise] = {}
    for file in folder.glob("*.py"):
        if not file.stem.endswith("_mistakes"):
            module = importlib.import_module(f"{__name__}.{folder.name}.{file.stem}")
            every = (one for one in vars(module).values() if isinstance(one, Exercise))
            defined |= {one.name: one for one in every}
    found, shared = [], _sentences(folder / "shared.md")
    for name in LESSONS[lesson]:
        mistakes = folder / f"{_snake(name)}_mistakes.py"
        told = shared + _sentences(folder / f"{_snake(name)}.md")
        found.append(replace(defined[name], lesson=lesson, mistakes=mistakes, sentences=told))
    return tuple(found)


def _sentences(file: Path) -> str:
    """All that follows a file's words on what it is about; "" where there is none."""
    return "".join((*file.read_text("utf-8").partition("## ")[1:], "\n")) if file.is_file() else ""


def _snake(name: str) -> str:
    name = name.replace("ReLU", "Relu").replace("GELU", "Gelu").replace("STE", "Ste")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def all_exercises() -> dict[str, Exercise]:
    """Every exercise of the course by its public name."""
    return {each.name: each for lesson in LESSONS for each in lesson_exercises(lesson)}


_registered: dict[str, Exercise] = {}


def register(exercise: Exercise) -> Exercise:
    """Let ``check``, ``hint`` and ``evaluate`` find an exercise of your own by its name; returns it.

    Call it in a module that the notebook imports: then the exercise is there for the learner and when
    nbgrader runs the notebook. The same name again replaces your earlier exercise. Raises ValueError
    for the name of an exercise of the course, and for known mistakes that cannot be read.
    """
    if not isinstance(exercise, Exercise):
        raise TypeError(f"register takes an Exercise, not a {type(exercise).__name__}.")
    if exercise.name in _LESSON_OF or exercise.name == WARM_UP.name:
        raise ValueError(f"{exercise.name} is an exercise of the course; give yours another name.")
    if exercise.mistakes is not None:
        read_answers(exercise.mistakes, exercise.name)
    _registered[exercise.name] = exercise
    return exercise


def registered_exercises() -> dict[str, Exercise]:
    """The exercises of an instructor's own, by name."""
    return dict(_registered)


def find(name: str) -> Exercise:
    """The exercise called ``name``; ValueError when there is none, with the closest names."""
    if name in _LESSON_OF:
        return next(each for each in lesson_exercises(_LESSON_OF[name]) if each.name == name)
    own = {WARM_UP.name: WARM_UP, **_registered}
    if name in own:
        return own[name]
    folded = {known.lower(): known for known in (*_LESSON_OF, *own)}
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
