"""A quiz: questions, radio choices, an explanation at once, kept in the learner's progress."""

import base64
import html
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from string import ascii_lowercase

import traitlets

from autograder.contract.friendly_error import refusal
from autograder.learner.progress import load, record_quiz
from autograder.reporting import display
from widgets.live import LiveWidget, script, stylesheet
from widgets.quiz_data import Choice, Question, load_questions

NOT_ANSWERED = -1


def quiz(quiz_id: str, *answers: str) -> "Quiz | QuizAnswers":
    """The quiz of that name, with the answers you gave before.

    Args:
        quiz_id: its name.
        answers: where no button runs, a letter for each of the first questions: they are kept,
            and each is explained.

    Raises:
        ValueError: if there is no quiz of that name, or no choice of that letter.
    """
    questions = load_questions(quiz_id)
    if not answers:
        return Quiz(quiz_id, questions)
    if len(answers) > len(questions):
        raise refusal(f"{quiz_id} has {len(questions)} questions, and {len(answers)} answers came.")
    asked = questions[: len(answers)]
    chosen = [index_of(*pair) for pair in zip(answers, asked, strict=True)]
    prompts = [question.prompt for question in questions]
    for question, index in zip(asked, chosen, strict=True):
        choice = question.choices[index]
        record_quiz(quiz_id, question.prompt, choice.text, choice.correct, prompts)
    return QuizAnswers(asked, tuple(chosen))


def quiz_answers(quiz_id: str) -> "QuizAnswers":
    """The right choices and their explanations, for the solutions.

    Raises:
        ValueError: if there is no quiz of that name.
    """
    return QuizAnswers(load_questions(quiz_id))


class Quiz(LiveWidget):
    """The live quiz. Which choices are right travels sealed, so that no saved notebook shows it."""

    _esm = script("quiz.js")
    _css = stylesheet("quiz.css")

    questions: traitlets.List = traitlets.List().tag(sync=True)
    sealed = traitlets.Unicode().tag(sync=True)
    chosen = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, quiz_id: str, questions: tuple[Question, ...]) -> None:
        self._quiz_id = quiz_id
        self._questions = questions
        super().__init__(
            questions=[public_part(question) for question in questions],
            sealed=seal(questions),
            chosen=earlier_answers(quiz_id, questions),
        )
        self.observe(self._record, names="chosen")

    def _record(self, change: dict) -> None:
        prompts = [question.prompt for question in self._questions]
        for question, before, now in zip(
            self._questions, change["old"], change["new"], strict=True
        ):
            if now not in (before, NOT_ANSWERED):
                choice = question.choices[now]
                record_quiz(self._quiz_id, question.prompt, choice.text, choice.correct, prompts)

    @traitlets.validate("chosen")
    def _only_choices_there_are(self, proposal: dict) -> list[int]:
        chosen: list[int] = proposal["value"]
        fits = len(chosen) == len(self._questions) and all(
            NOT_ANSWERED <= index < len(question.choices)
            for index, question in zip(chosen, self._questions, strict=True)
        )
        if not fits:
            raise traitlets.TraitError(f"{chosen} does not fit the questions of this quiz")
        return chosen

    def stand_in(self) -> dict[str, str]:
        """The questions and choices, without the answers."""
        call = f'quiz("{self._quiz_id}", "a", "b")'
        typed = f"Answer by typing a letter for each question: {call}"
        return {
            "text/plain": f"{as_text(self._questions)}\n\n{typed}",
            "text/html": as_html(self._questions),
        }


@dataclass(frozen=True)
class QuizAnswers:
    """Shows for every choice of a quiz whether it is right, and why; or for the one chosen of each."""

    questions: tuple[Question, ...]
    chosen: tuple[int, ...] = ()

    def _told(self) -> Iterator[tuple[Question, tuple[Choice, ...]]]:
        for question, index in zip_longest(self.questions, self.chosen):
            yield question, question.choices if index is None else (question.choices[index],)

    def __repr__(self) -> str:
        return "\n\n".join(
            _numbered(number, question) + "".join(map(_explained, choices))
            for number, (question, choices) in enumerate(self._told(), start=1)
        )

    def _repr_html_(self) -> str:
        return f"<ol>{''.join(_answered_html(*told) for told in self._told())}</ol>"


def public_part(question: Question) -> dict[str, object]:
    """What the browser may show before an answer."""
    choices = [choice.text for choice in question.choices]
    return {"prompt": question.prompt, "code": question.code, "choices": choices}


def seal(questions: tuple[Question, ...]) -> str:
    """Which choices are right and why, as base64 of JSON: out of sight, not out of reach."""
    answers = [[[c.correct, c.explanation] for c in question.choices] for question in questions]
    return base64.b64encode(json.dumps(answers).encode()).decode()


def earlier_answers(quiz_id: str, questions: tuple[Question, ...]) -> list[int]:
    """The index of the choice taken last in each question; NOT_ANSWERED where there is none."""
    answers = load().quiz(quiz_id).answers
    return [
        next(
            (
                index
                for index, choice in enumerate(question.choices)
                if question.prompt in answers and answers[question.prompt].choice == choice.text
            ),
            NOT_ANSWERED,
        )
        for question in questions
    ]


def as_text(questions: tuple[Question, ...]) -> str:
    """The questions and lettered choices, for terminals and GitHub."""
    return "\n\n".join(
        _numbered(number, question)
        + "".join(
            f"\n   {letter}) {choice.text}"
            for letter, choice in zip(ascii_lowercase, question.choices, strict=False)
        )
        for number, question in enumerate(questions, start=1)
    )


def as_html(
    questions: tuple[Question, ...], lead: str = "Run this cell to answer the quiz."
) -> str:
    """The same as HTML that survives every sanitiser: lists and code, no style. `lead` is HTML."""
    items = "".join(
        f'<li>{_prompt_html(question)}<ol type="a">'
        + "".join(f"<li>{display.as_html(choice.text)}</li>" for choice in question.choices)
        + "</ol></li>"
        for question in questions
    )
    return f"<p>{lead}</p><ol>{items}</ol>"


def index_of(answer: str, question: Question) -> int:
    """Which choice a typed answer is: its letter, or its text."""
    letters = ascii_lowercase[: len(question.choices)]
    said = answer.strip() if isinstance(answer, str) else ""
    for index, (letter, choice) in enumerate(zip(letters, question.choices, strict=True)):
        if said.lower().rstrip(".)") == letter or said == choice.text:
            return index
    raise refusal(f"{answer!r} is no choice; there are {', '.join(letters)}.")


def _numbered(number: int, question: Question) -> str:
    code = "".join(f"\n       {line}" for line in question.code.splitlines())
    return f"{number}. {question.prompt}{code}"


def _prompt_html(question: Question) -> str:
    code = f"<pre><code>{html.escape(question.code)}</code></pre>" if question.code else ""
    return display.as_html(question.prompt) + code


def _answered_html(question: Question, choices: tuple[Choice, ...]) -> str:
    told = "".join(map(_explained_html, choices))
    return f"<li>{_prompt_html(question)}<ul>{told}</ul></li>"


def _explained(choice: Choice) -> str:
    verdict = "right" if choice.correct else "wrong"
    return f"\n   {choice.text}\n      {verdict}: {choice.explanation}"


def _explained_html(choice: Choice) -> str:
    verdict = "✓ right" if choice.correct else "✗ wrong"
    return (
        f"<li>{display.as_html(choice.text)}<br><strong>{verdict}</strong>: "
        f"{display.as_html(choice.explanation)}</li>"
    )
