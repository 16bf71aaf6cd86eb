"""What a quiz is: questions with choices, each with its explanation. One module a quiz in quizzes/.

In every text, `…` marks code and *…* emphasis. Formulas are written in plain Unicode
(∂L/∂x, x², σ′), so that a quiz needs no typesetting from anywhere.
"""

import difflib
import importlib
import pkgutil
from dataclasses import dataclass

from autograder.refusal import refusal
from widgets import quizzes


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
