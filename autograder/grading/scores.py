"""The scores as they stand in nbgrader's gradebook, a person's corrections included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from nbgrader import api
from sqlalchemy import Connection, case, func, select

_assignment = api.Assignment.__table__
_notebook = api.Notebook.__table__
_cell = api.BaseCell.__table__
_grade_cell = api.GradeCell.__table__
_task_cell = api.TaskCell.__table__
_submission = api.SubmittedAssignment.__table__
_submitted = api.SubmittedNotebook.__table__
_grade = api.Grade.__table__
_comment = api.Comment.__table__
_student = api.Student.__table__

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
    cells: tuple[CellScore, ...] = field(default=())
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
    return " ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in parts if n)


def read_students(connection: Connection) -> list[Student]:
    """Everybody in the gradebook, by id."""
    columns = ("id", "first_name", "last_name", "email", "lms_user_id")
    found = select(*(_student.c[name] for name in columns)).order_by(_student.c.id)
    return [Student(*(value or "" for value in row)) for row in connection.execute(found)]


def read_lessons(connection: Connection) -> list[LessonScore]:
    """Every lesson the gradebook knows, by name."""
    points = func.coalesce(_grade_cell.c.max_score, _task_cell.c.max_score, 0.0)
    found = (
        select(_assignment.c.name, func.coalesce(func.sum(points), 0.0), _assignment.c.duedate)
        .select_from(
            _assignment.outerjoin(_notebook, _notebook.c.assignment_id == _assignment.c.id)
            .outerjoin(_cell, _cell.c.notebook_id == _notebook.c.id)
            .outerjoin(_grade_cell, _grade_cell.c.id == _cell.c.id)
            .outerjoin(_task_cell, _task_cell.c.id == _cell.c.id)
        )
        .group_by(_assignment.c.name, _assignment.c.duedate)
        .order_by(_assignment.c.name)
    )
    return [LessonScore(name, float(total), due) for name, total, due in connection.execute(found)]


def read_scores(
    connection: Connection, lessons: Sequence[str] | None = None, student: str | None = None
) -> Iterator[Score]:
    """Every submission in the gradebook, by lesson and student; of these only, if given."""
    points = func.coalesce(_grade.c.manual_score, _grade.c.auto_score, 0.0)
    scored = _grade.c.manual_score.is_not(None) | _grade.c.auto_score.is_not(None)
    found = (
        select(
            _assignment.c.name.label("lesson"), _submission.c.student_id.label("student"),
            _submission.c.timestamp, _submission.c.extension, _assignment.c.duedate, _notebook.c.name.label("notebook"),
            _submitted.c.late_submission_penalty.label("penalty"), _cell.c.name.label("cell"),
            points.label("points"), scored.label("scored"), _grade.c.extra_credit,
            _grade.c.needs_manual_grade.label("waits"),
            func.coalesce(_grade_cell.c.max_score, _task_cell.c.max_score, 0.0).label("most"),
            _grade.c.auto_score.label("automatic"), _grade.c.manual_score.label("by_hand"),
        )
        .select_from(
            _submission.join(_assignment, _assignment.c.id == _submission.c.assignment_id)
            .outerjoin(_submitted, _submitted.c.assignment_id == _submission.c.id)
            .outerjoin(_notebook, _notebook.c.id == _submitted.c.notebook_id)
            .outerjoin(_grade, _grade.c.notebook_id == _submitted.c.id)
            .outerjoin(_cell, _cell.c.id == _grade.c.cell_id)
            .outerjoin(_grade_cell, _grade_cell.c.id == _cell.c.id)
            .outerjoin(_task_cell, _task_cell.c.id == _cell.c.id)
        )
        .order_by(_assignment.c.name, _submission.c.student_id, _notebook.c.name, _cell.c.name)
    )  # fmt: skip
    if lessons is not None:
        found = found.where(_assignment.c.name.in_(list(lessons)))
    if student is not None:
        found = found.where(_submission.c.student_id == student)
    rows = connection.execute(found)
    for (lesson, student), group in groupby(rows, key=lambda row: (row.lesson, row.student)):
        same = list(group)
        penalties = {row.notebook: row.penalty or 0.0 for row in same}
        cells = tuple(
            CellScore(
                # nbgrader counts extra credit only beside points
                row.cell, row.notebook, row.points + ((row.extra_credit or 0.0) * row.scored),
                row.most, bool(row.waits), row.automatic, row.by_hand is not None,
            )
            for row in same
            if row.cell is not None
        )  # fmt: skip
        first = same[0]
        due = first.duedate and first.duedate + (first.extension or timedelta(0))
        yield Score(student, lesson, first.timestamp, sum(penalties.values()), cells, due)


@dataclass(frozen=True)
class Known:
    """What the gradebook knows of a submission, in short: when it was handed in, and if it waits."""

    handed_in: datetime | None
    waits: bool


def read_known(connection: Connection, lessons: Sequence[str]) -> dict[tuple[str, str], Known]:
    """What the gradebook knows of each submission for these lessons, by student and lesson."""
    waiting = func.count(case((_grade.c.needs_manual_grade, 1)))
    found = (
        select(_submission.c.student_id, _assignment.c.name, _submission.c.timestamp, waiting)
        .select_from(
            _submission.join(_assignment, _assignment.c.id == _submission.c.assignment_id)
            .outerjoin(_submitted, _submitted.c.assignment_id == _submission.c.id)
            .outerjoin(_grade, _grade.c.notebook_id == _submitted.c.id)
        )
        .where(_assignment.c.name.in_(list(lessons)))
        .group_by(_submission.c.student_id, _assignment.c.name, _submission.c.timestamp)
    )
    return {
        (student, lesson): Known(when, bool(count))
        for student, lesson, when, count in connection.execute(found)
    }


def read_comments(connection: Connection, lesson: str) -> dict[str, list[str]]:
    """What people wrote to each student about a lesson."""
    found = (
        select(_submission.c.student_id, _comment.c.manual_comment)
        .select_from(
            _comment.join(_submitted, _submitted.c.id == _comment.c.notebook_id)
            .join(_submission, _submission.c.id == _submitted.c.assignment_id)
            .join(_assignment, _assignment.c.id == _submission.c.assignment_id)
            .join(_cell, _cell.c.id == _comment.c.cell_id)
        )
        .where(_assignment.c.name == lesson, _comment.c.manual_comment.is_not(None))
        .order_by(_cell.c.name)
    )
    comments: dict[str, list[str]] = {}
    for student, text in connection.execute(found):
        if text.strip():
            comments.setdefault(student, []).append(text.strip())
    return comments
