"""What a quiz is: questions with choices, each with its explanation. One module a quiz in quizzes/.

A prediction is such a question too, asked before a demonstration: one module a lesson in predictions/.

In every text, `…` marks code and *…* emphasis. Formulas are written in plain Unicode
(∂L/∂x, x², σ′), so that a quiz needs no typesetting from anywhere.
"""

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any

from autograder.contract.friendly_error import refusal
from widgets import predictions, quizzes


@dataclass(frozen=True)
class Choice:
    """One choice: what it says, whether it is right, and why."""

    text: str
    correct: bool
    explanation: str


@dataclass(frozen=True)
class Question:
    """One question with exactly one right choice; `code` is shown as a block under the prompt."""

    prompt: str
    choices: tuple[Choice, ...]
    code: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a question that cannot be asked as it stands."""
        texts = [choice.text for choice in self.choices]
        prose = [self.prompt, *texts, *(choice.explanation for choice in self.choices)]
        for wrong, problem in (
            (len(texts) < 2, "has fewer than two choices"),
            (len(set(texts)) < len(texts), "has the same choice twice"),
            (sum(choice.correct for choice in self.choices) != 1, "needs exactly one right choice"),
            (not all(text.strip() for text in prose), "has an empty text"),
            (any(text.count("`") % 2 for text in prose), "has a ` that is not closed"),
        ):
            if wrong:
                raise ValueError(f"the question {self.prompt!r} {problem}")


def quiz_ids() -> list[str]:
    """The names of all quizzes."""
    return sorted(module.name for module in pkgutil.iter_modules(quizzes.__path__))


def load_questions(quiz_id: str) -> tuple[Question, ...]:
    """The questions of a quiz; ValueError with the closest names where there is no such quiz."""
    known = quiz_ids()
    if quiz_id not in known:
        close = difflib.get_close_matches(quiz_id, known, n=3, cutoff=0.4) or known
        raise refusal(f"There is no quiz called {quiz_id!r}. Closest names: {', '.join(close)}.")
    questions: tuple[Question, ...] = importlib.import_module(
        f"widgets.quizzes.{quiz_id}"
    ).QUESTIONS
    return questions


def predictions_of(lesson: str) -> dict[str, Question]:
    """What a lesson asks before it shows, by name; which of its two suspects is wrong among it."""
    module = prediction_modules()[lesson]
    bug = {bug_of(lesson): module.SUSPECTS.question()} if hasattr(module, "SUSPECTS") else {}
    return {**module.PREDICTIONS, **bug}


def suspects_of(lesson: str) -> Any:
    """The two answers that a lesson ends with; ValueError where there is no such lesson."""
    lesson_of(bug_of(lesson))
    return prediction_modules()[lesson].SUSPECTS


def bug_of(lesson: str) -> str:
    """The name of the prediction that asks which of a lesson's two suspects is wrong."""
    return f"bug-{lesson}"


def lesson_of(name: str) -> str:
    """The lesson that asks for this prediction; ValueError with the closest names where none does."""
    known: dict[str, str] = {}
    for lesson, module in prediction_modules().items():
        bug = [bug_of(lesson)] if hasattr(module, "SUSPECTS") else []
        known |= dict.fromkeys([*module.PREDICTIONS, *bug], lesson)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or sorted(known)
        raise refusal(f"There is no prediction called {name!r}. Closest names: {', '.join(close)}.")
    return known[name]


def load_prediction(name: str) -> Question:
    """The prediction of that name; ValueError with the closest names where there is none."""
    return predictions_of(lesson_of(name))[name]


def kept_as(name: str) -> str:
    """What a learner's progress calls the predictions of this one's lesson, in the place of a quiz."""
    return f"{lesson_of(name)}: predictions"


@cache
def prediction_modules() -> dict[str, Any]:
    """The modules in predictions/, called as the quizzes of their lessons."""
    names = sorted(module.name for module in pkgutil.iter_modules(predictions.__path__))
    return {name: importlib.import_module(f"widgets.predictions.{name}") for name in names}
