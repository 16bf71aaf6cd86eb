"""A prediction: say what a cell will show before you run it; why comes after the cell.

Two calls, one above the demonstration and one in it. `predict` asks and keeps the answer; `outcome`
says what was right. A prediction is a quiz question and is kept as one, so nothing is asked twice.
"""

from dataclasses import dataclass
from string import ascii_lowercase

import traitlets

from autograder.learner.progress import record_quiz
from autograder.reporting import display
from widgets.live import LiveWidget, script, stylesheet
from widgets.quiz import NOT_ANSWERED, as_html, as_text, earlier_answers, index_of, public_part
from widgets.quiz_data import (
    Choice,
    Question,
    kept_as,
    lesson_of,
    load_prediction,
    predictions_of,
)


def predict(name: str, answer: str | None = None) -> "Prediction | None":
    """Ask for the prediction of that name: one click, or one letter.

    Args:
        name: as the lesson's cell has it.
        answer: the letter of a choice, for where no button can be pressed: predict("round", "b").

    Raises:
        ValueError: if there is no prediction of that name, or no choice of that letter.
    """
    question = load_prediction(name)
    if answer is None:
        return Prediction(name, question)
    index = index_of(answer, question)
    keep(name, question, index)
    display.show(Noted(index))
    return None


def outcome(name: str) -> None:
    """Say what was right and why, beside what was predicted.

    Raises:
        ValueError: if there is no prediction of that name.
    """
    question = load_prediction(name)
    display.show(Outcome(question, predicted(name, question)))


def predicted(name: str, question: Question) -> Choice | None:
    """The choice that was taken; None where nothing was predicted."""
    [index] = earlier_answers(kept_as(name), (question,))
    return None if index == NOT_ANSWERED else question.choices[index]


def keep(name: str, question: Question, index: int) -> None:
    """Keep a prediction in the learner's progress."""
    choice = question.choices[index]
    prompts = [each.prompt for each in predictions_of(lesson_of(name)).values()]
    record_quiz(kept_as(name), question.prompt, choice.text, choice.correct, prompts)


class Prediction(LiveWidget):
    """The live question, a button a choice. It does not know which is right."""

    _esm = script("prediction.js")
    _css = stylesheet("prediction.css")

    question: traitlets.Dict = traitlets.Dict().tag(sync=True)
    chosen = traitlets.Int(NOT_ANSWERED).tag(sync=True)

    def __init__(self, name: str, question: Question) -> None:
        self._name = name
        self._question = question
        [earlier] = earlier_answers(kept_as(name), (question,))
        super().__init__(question=public_part(question), chosen=earlier)
        self.observe(lambda change: keep(name, question, change["new"]), names="chosen")

    @traitlets.validate("chosen")
    def _only_choices_there_are(self, proposal: dict) -> int:
        chosen: int = proposal["value"]
        if not NOT_ANSWERED <= chosen < len(self._question.choices):
            raise traitlets.TraitError(f"{chosen} is no choice of this prediction")
        return chosen

    def stand_in(self) -> dict[str, str]:
        """The question, and how to answer it by typing."""
        call = f'predict("{self._name}", "a")'
        asked = as_text((self._question,)).removeprefix("1. ")
        html = as_html((self._question,), f"Predict, for instance with <code>{call}</code>:")
        return {
            "text/plain": f"{asked}\nPredict by typing, for instance: {call}",
            "text/html": html,
        }


@dataclass(frozen=True)
class Noted:
    """Says which choice was kept."""

    index: int

    def __str__(self) -> str:
        return f"You say {ascii_lowercase[self.index]}. Now run the next cell."

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


@dataclass(frozen=True)
class Outcome:
    """Shows the right choice and why; where another was predicted, why not that."""

    question: Question
    predicted: Choice | None

    def parts(self) -> list[tuple[str, str, str]]:
        """(verdict, choice, why) of what was predicted, if it was, and of what is right."""
        right = next(choice for choice in self.question.choices if choice.correct)
        if self.predicted is None:
            return [("It is", right.text, right.explanation)]
        if self.predicted.correct:
            return [("✓ As you said", right.text, right.explanation)]
        wrong = self.predicted
        return [
            ("✗ You said", wrong.text, wrong.explanation),
            ("It is", right.text, right.explanation),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{verdict}: {text}\n  {why}" for verdict, text, why in self.parts())

    def _repr_html_(self) -> str:
        return "".join(
            f"<p><strong>{verdict}: {display.as_html(text)}</strong><br>{display.as_html(why)}</p>"
            for verdict, text, why in self.parts()
        )
