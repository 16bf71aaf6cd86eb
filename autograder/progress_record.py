"""What is remembered about one learner, as plain immutable data, and its JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

VERSION = 1
T = TypeVar("T")


@dataclass(frozen=True)
class ExerciseRecord:
    """One exercise: whether its visible and its hidden checks ever passed, and the help asked for.

    `hints` is the number of the highest hint seen, 0 for none.
    """

    visible: bool = False
    hidden: bool = False
    attempts: int = 0
    hints: int = 0


@dataclass(frozen=True)
class Answer:
    """The choice a learner took last, as its text, so that reordered choices stay true."""

    choice: str
    correct: bool


@dataclass(frozen=True)
class QuizRecord:
    """Answers by the text of their question: a question that was rewritten is asked again."""

    questions: int = 0
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def correct(self) -> int:
        """How many of the answers are right."""
        return sum(answer.correct for answer in self.answers.values())


@dataclass(frozen=True)
class Progress:
    """Everything that is remembered about one learner."""

    exercises: Mapping[str, ExerciseRecord] = field(default_factory=dict)
    quizzes: Mapping[str, QuizRecord] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu",)

    def exercise(self, name: str) -> ExerciseRecord:
        """The record of an exercise, empty where it was never tried."""
        return self.exercises.get(name, ExerciseRecord())

    def quiz(self, quiz_id: str) -> QuizRecord:
        """The record of a quiz, empty where no question was answered."""
        return self.quizzes.get(quiz_id, QuizRecord())

    def with_exercise(self, name: str, record: ExerciseRecord) -> "Progress":
        """A copy in which the exercise has this record."""
        return replace(self, exercises={**self.exercises, name: record})

    def with_quiz(self, quiz_id: str, record: QuizRecord) -> "Progress":
        """A copy in which the quiz has this record."""
        return replace(self, quizzes={**self.quizzes, quiz_id: record})

    def to_json(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers; `from_json` turns them back."""
        return {
            "version": VERSION,
            "devices": list(self.devices),
            "exercises": {name: vars(record) for name, record in self.exercises.items()},
            "quizzes": {name: _quiz_to_json(record) for name, record in self.quizzes.items()},
        }

    @classmethod
    def from_json(cls, data: object) -> "Progress":
        """Raises ValueError for anything that `to_json` of this version would not write."""
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise ValueError(f"it is not a progress file of version {VERSION}")
        try:
            return cls(
                devices=tuple(_typed(device, str) for device in _typed(data["devices"], list)),
                exercises={n: _exercise_from_json(r) for n, r in data["exercises"].items()},
                quizzes={n: _quiz_from_json(r) for n, r in data["quizzes"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a field is missing or of the wrong kind: {error}") from error


def _quiz_to_json(record: QuizRecord) -> dict[str, Any]:
    answers = {question: vars(answer) for question, answer in record.answers.items()}
    return {"questions": record.questions, "answers": answers}


def _exercise_from_json(data: Mapping[str, Any]) -> ExerciseRecord:
    return ExerciseRecord(
        visible=_typed(data["visible"], bool),
        hidden=_typed(data["hidden"], bool),
        attempts=_typed(data["attempts"], int),
        hints=_typed(data["hints"], int),
    )


def _quiz_from_json(data: Mapping[str, Any]) -> QuizRecord:
    answers = {
        question: Answer(_typed(answer["choice"], str), _typed(answer["correct"], bool))
        for question, answer in data["answers"].items()
    }
    return QuizRecord(questions=_typed(data["questions"], int), answers=answers)


def _typed(value: object, kind: type[T]) -> T:
    if type(value) is not kind:  # exact: True is an int to isinstance
        raise TypeError(f"{value!r} where {kind.__name__} was expected")
    return value
