"""The scores as they stand in nbgrader's gradebook, a person's corrections included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from nbgrader import api
from sqlalchemy import Connection, select

from autograder.grading.words import counted, the_names
from autograder.learner.lesson import NoLesson

MOST_NAMED = 3  # cells in one sentence


@dataclass(frozen=True)
class Student:
    """A student as the gradebook knows them; `lms` is their number in Canvas or the like."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms: str = ""

    @property
    def name(self) -> str:
        """Last name first, as gradebooks have it; the id where no name is known."""
        return ", ".join(filter(None, (self.last_name, self.first_name))) or self.id


@dataclass(frozen=True)
class LessonScore:
    """A lesson's name, its points and when it was due (UTC)."""

    name: str
    points: float
    due: datetime | None


@dataclass(frozen=True)
class CellScore:
    """What one cell got: a person's points first, extra credit on top.

    waits      a person has to give points, or to look again at those they gave
    automatic  what the grader gave; None where it gave none
    by_hand    a person gave the points that count
    """

    name: str
    notebook: str
    points: float
    max_points: float
    waits: bool
    automatic: float | None = None
    by_hand: bool = False


@dataclass(frozen=True)
class Score:
    """What one student got for one lesson.

    handed_in  when, in UTC; None where nobody knows
    penalty    what is taken off for handing in late
    due        until when this student had time, in UTC; None where nothing is due
    """

    student: str
    lesson: str
    handed_in: datetime | None
    penalty: float
    cells: tuple[CellScore, ...] = ()
    due: datetime | None = None

    @property
    def late(self) -> timedelta:
        """By how much it was handed in late; nothing where it was not, or nobody knows."""
        if self.handed_in is None or self.due is None:
            return timedelta(0)
        return max(timedelta(0), self.handed_in - self.due)

    @property
    def before_penalty(self) -> float:
        return sum(cell.points for cell in self.cells)

    @property
    def points(self) -> float:
        return max(0.0, self.before_penalty - self.penalty)

    @property
    def max_points(self) -> float:
        return sum(cell.max_points for cell in self.cells)

    @property
    def waits(self) -> bool:
        return any(cell.waits for cell in self.cells)

    def why_waiting(self, reasons: Sequence[str] = ()) -> tuple[str, ...]:
        """Why a person has to look at it. ``reasons`` are the grader's own, which come first."""
        waiting = [cell for cell in self.cells if cell.waits]
        by_hand = [cell for cell in waiting if cell.by_hand]
        words = list(reasons)
        if by_hand:
            words.append(_kept(by_hand))
        left = [cell.name for cell in waiting if not cell.by_hand]
        if left and not reasons:
            words.append(f"{_named(left)}: graded by hand.")
        return tuple(words)


def _kept(cells: Sequence[CellScore]) -> str:
    """What is to be decided where points were given by hand, and something was handed in since."""
    given, most = sum(cell.points for cell in cells), sum(cell.max_points for cell in cells)
    automatic = [cell.automatic for cell in cells if cell.automatic is not None]
    now = f"would give {sum(automatic):g}" if automatic else "would give none by itself"
    return (
        f"Points given by hand are kept: {given:g} of {most:g} in {_named([c.name for c in cells])}. "
        f"For what is handed in now the grader {now}. A person decides."
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} cells"


def in_days(time: timedelta) -> str:
    """A time in words, as exactly as anybody needs it."""
    minutes = max(1, round(time.total_seconds() / 60))
    days, hours = divmod(minutes // 60, 24)
    parts = [(days, "day"), (hours, "hour"), (0 if days else minutes % 60, "minute")]
    return " ".join(counted(n, word) for n, word in parts if n)


def read_students(connection: Connection) -> list[Student]:
    """Everybody in the gradebook, by id."""
    one = api.Student
    columns = (one.id, one.first_name, one.last_name, one.email, one.lms_user_id)
    found = connection.execute(select(*columns).order_by(one.id))
    return [Student(*(value or "" for value in row)) for row in found]


def read_lessons(connection: Connection, named: Iterable[str] = ()) -> list[LessonScore]:
    """The lessons the gradebook knows, by name; those that are named, if any are.

    Raises NoLesson for one that it does not know.
    """
    one = api.Assignment
    rows = connection.execute(select(one.name, one.max_score, one.duedate).order_by(one.name))
    found = {name: LessonScore(name, float(total), due) for name, total, due in rows}
    for name in named:
        if name not in found:
            names = the_names("lessons", name, [*found])
            raise NoLesson(f"There is no lesson {name}. {names}")
    return [found[name] for name in dict.fromkeys(named) or found]


def read_scores(
    connection: Connection, lessons: Sequence[str] | None = None, student: str | None = None
) -> Iterator[Score]:
    """Every submission in the gradebook, by lesson and student; of these only, if given."""
    lesson, whole, one = api.Assignment, api.SubmittedAssignment, api.SubmittedNotebook
    grade, notebook, cell = api.Grade, api.Notebook, api.BaseCell
    found = (
        select(
            lesson.name, whole.student_id, whole.timestamp, whole.extension, lesson.duedate,
            one.late_submission_penalty, cell.name, notebook.name, grade.score, grade.max_score,
            grade.needs_manual_grade, grade.auto_score, grade.manual_score.is_not(None),
        )
        .select_from(whole)
        .join(whole.assignment)
        .outerjoin(whole.notebooks)
        .outerjoin(one.notebook)
        .outerjoin(one.grades)
        .outerjoin(grade.cell)
        .order_by(lesson.name, whole.student_id, notebook.name, cell.name)
    )  # fmt: skip
    if lessons is not None:
        found = found.where(lesson.name.in_(list(lessons)))
    if student is not None:
        found = found.where(whole.student_id == student)
    for (name, who), group in groupby(connection.execute(found), key=lambda row: row[:2]):
        rows = list(group)
        handed_in, extension, due = rows[0][2:5]
        penalties = {row[7]: row[5] or 0.0 for row in rows}
        cells = tuple(CellScore(*row[6:]) for row in rows if row[6] is not None)
        due = due and due + (extension or timedelta(0))
        yield Score(who, name, handed_in, sum(penalties.values()), cells, due)


Comments = dict[str, list[tuple[str, str, bool]]]


def read_comments(connection: Connection, lesson: str) -> Comments:
    """What is said to each student about a lesson: (cell, words, whether a person wrote them)."""
    one, cell = api.Comment, api.BaseCell
    found = (
        select(api.SubmittedAssignment.student_id, cell.name, one.comment, one.manual_comment)
        .select_from(one)
        .join(one.cell)
        .join(one.notebook)
        .join(api.SubmittedNotebook.assignment)
        .join(api.SubmittedAssignment.assignment)
        .where(api.Assignment.name == lesson)
        .order_by(cell.name)
    )
    comments: Comments = {}
    for student, name, words, by_person in connection.execute(found):
        if words and words.strip():
            comments.setdefault(student, []).append((name, words.strip(), by_person is not None))
    return comments
