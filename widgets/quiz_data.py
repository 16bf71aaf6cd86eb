"""What a quiz is: questions with choices, each with its explanation. They stand in questions/, a file a lesson.

A prediction is such a question too, asked before a demonstration. A lesson's `suspects` are two answers,
out of an exercise's known mistakes, of which one is wrong (see suspects.py).

In every text, `…` marks code and *…* emphasis. Formulas are written in plain Unicode
(∂L/∂x, x², σ′), so that a quiz needs no typesetting from anywhere.
"""

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.contract.friendly_error import refusal


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


@cache
def lessons() -> dict[str, dict[str, Any]]:
    """What stands in questions/, by the lesson's name without its number."""
    files = sorted((Path(__file__).parent / "questions").glob("*.toml"))
    return {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def load_questions(quiz_id: str) -> tuple[Question, ...]:
    """The questions of a quiz; ValueError with the closest names where there is no such quiz."""
    return tuple(map(_question, lessons()[_known("quiz", quiz_id, list(lessons()))]["quiz"]))


def predictions_of(lesson: str) -> dict[str, Question]:
    """What a lesson asks before it shows, by name; which of its two suspects is wrong among it."""
    texts = lessons()[lesson]
    asked = {name: _question(given) for name, given in texts.get("predictions", {}).items()}
    if "suspects" in texts:
        asked[bug_of(lesson)] = suspects_of(lesson).question()
    return asked


def suspects_of(lesson: str) -> Any:
    """The two answers that a lesson ends with; ValueError where there is no such lesson."""
    from widgets.suspects import Suspects  # whoever asks only a quiz loads no exercise

    lesson_of(bug_of(lesson))
    return Suspects(**lessons()[lesson]["suspects"])


def bug_of(lesson: str) -> str:
    """The name of the prediction that asks which of a lesson's two suspects is wrong."""
    return f"bug-{lesson}"


def lesson_of(name: str) -> str:
    """The lesson that asks for this prediction; ValueError with the closest names where none does."""
    known: dict[str, str] = {}
    for lesson, texts in lessons().items():
        bug = [bug_of(lesson)] if "suspects" in texts else []
        known |= dict.fromkeys([*texts.get("predictions", ()), *bug], lesson)
    return known[_known("prediction", name, sorted(known))]


def load_prediction(name: str) -> Question:
    """The prediction of that name; ValueError with the closest names where there is none."""
    return predictions_of(lesson_of(name))[name]


def kept_as(name: str) -> str:
    """What a learner's progress calls the predictions of this one's lesson, in the place of a quiz."""
    return f"{lesson_of(name)}: predictions"


def _question(given: dict[str, Any]) -> Question:
    choices = (
        Choice(one.get("right") or one["wrong"], "right" in one, one["why"])
        for one in given["choices"]
    )
    return Question(given["prompt"], tuple(choices), given.get("code", ""))


def _known(what: str, name: str, names: list[str]) -> str:
    """The name, if it is one of these; ValueError with the closest ones otherwise."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names
    raise refusal(f"There is no {what} called {name!r}. Closest names: {', '.join(close)}.")
