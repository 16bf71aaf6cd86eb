"""nbgrader's gradebook, row by row: what `nbgrader autograde` writes of a submission, in one go.

nbgrader's own methods commit after every cell. These work on its tables within one transaction
of the caller's, on any database it supports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nbgrader import api
from sqlalchemy import Boolean, Connection, bindparam, func, insert, or_, select, update

_assignment = api.Assignment.__table__
_notebook = api.Notebook.__table__
_cell = api.BaseCell.__table__
_grade_cell = api.GradeCell.__table__
_task_cell = api.TaskCell.__table__
_source = api.SourceCell.__table__
_student = api.Student.__table__
_submission = api.SubmittedAssignment.__table__
_submitted = api.SubmittedNotebook.__table__
_grade = api.Grade.__table__
_comment = api.Comment.__table__

NO_RESPONSE = "No response."  # nbgrader's own words for an answer nobody touched


@dataclass(frozen=True)
class NotebookRows:
    """A notebook of a lesson, as the gradebook knows it. Cells are {name: id in the gradebook}.

    points  {name: points} of the cells that are graded, those graded by hand only included
    """

    id: str
    name: str
    graded: Mapping[str, str]
    answers: Mapping[str, str]
    tasks: Mapping[str, str]
    points: Mapping[str, float]


@dataclass(frozen=True)
class LessonRows:
    """A lesson, as the gradebook knows it; `due` is in UTC."""

    id: str
    name: str
    due: datetime | None
    notebooks: tuple[NotebookRows, ...]

    def notebook(self, name: str) -> NotebookRows:
        """The notebook of this name; KeyError where there is none."""
        return {notebook.name: notebook for notebook in self.notebooks}[name]


@dataclass(frozen=True)
class SourceText:
    """A graded cell of a lesson, as it was released (with its hidden tests)."""

    name: str
    cell_type: str
    source: str
    checksum: str
    locked: bool
    points: float | None
    is_answer: bool
    is_task: bool


@dataclass(frozen=True)
class SubmissionRows:
    """One student's submission: ids of its notebooks by name, and how late it is."""

    id: str
    notebooks: Mapping[str, str]
    seconds_late: float


def find_lesson(connection: Connection, name: str) -> LessonRows | None:
    """The lesson of this name; None where the gradebook has none."""
    found = connection.execute(
        select(_assignment.c.id, _assignment.c.duedate).where(_assignment.c.name == name)
    ).first()
    if found is None:
        return None
    rows = connection.execute(
        select(
            _notebook.c.id, _notebook.c.name, _cell.c.id, _cell.c.name, _cell.c.type,
            func.coalesce(_grade_cell.c.max_score, _task_cell.c.max_score),
        )
        .select_from(
            _notebook.outerjoin(_cell, _cell.c.notebook_id == _notebook.c.id)
            .outerjoin(_grade_cell, _grade_cell.c.id == _cell.c.id)
            .outerjoin(_task_cell, _task_cell.c.id == _cell.c.id)
        )
        .where(_notebook.c.assignment_id == found.id)
        .order_by(_notebook.c.name)
    )  # fmt: skip
    notebooks: dict[str, NotebookRows] = {}
    for notebook_id, notebook_name, cell_id, cell_name, kind, points in rows:
        one = notebooks.setdefault(
            notebook_name, NotebookRows(notebook_id, notebook_name, {}, {}, {}, {})
        )
        kinds: dict[str, Any] = {
            "GradeCell": one.graded, "SolutionCell": one.answers, "TaskCell": one.tasks,
        }  # fmt: skip
        if kind in kinds:
            kinds[kind][cell_name] = cell_id
            if points is not None:
                one.points[cell_name] = points  # type: ignore[index]
    return LessonRows(found.id, name, found.duedate, tuple(notebooks.values()))


def graded_texts(
    connection: Connection, notebook: NotebookRows, order: Sequence[str]
) -> list[SourceText]:
    """The graded cells of a notebook: those named in `order` first."""
    found = connection.execute(select(_source).where(_source.c.notebook_id == notebook.id))
    texts = {row["name"]: row for row in found.mappings()}
    return [
        SourceText(
            name, row["cell_type"], row["source"] or "", row["checksum"] or "", bool(row["locked"]),
            notebook.points[name], name in notebook.answers, name in notebook.tasks,
        )
        for name in dict.fromkeys([*order, *notebook.points])
        if (row := texts.get(name)) is not None and name in notebook.points
    ]  # fmt: skip


def find_or_add_student(connection: Connection, student: str, add: bool) -> bool:
    """Whether the gradebook knows the student (now)."""
    known = connection.execute(select(_student.c.id).where(_student.c.id == student)).first()
    if known is None and add:
        connection.execute(insert(_student), {"id": student})
    return known is not None or add


def find_or_add_submission(
    connection: Connection, lesson: LessonRows, student: str, handed_in: datetime | None
) -> SubmissionRows:
    """The student's submission, complete with a grade for each graded cell and a comment for each
    answer. Where it is not known when it was handed in, what the gradebook says of that stays."""
    found = connection.execute(
        select(_submission.c.id, _submission.c.timestamp, _submission.c.extension).where(
            _submission.c.assignment_id == lesson.id, _submission.c.student_id == student
        )
    ).first()
    if found is None:
        row = {
            "id": api.new_uuid(), "assignment_id": lesson.id, "student_id": student,
            "timestamp": handed_in,
        }  # fmt: skip
        connection.execute(insert(_submission), row)
        submission_id, extension = row["id"], None
    else:
        submission_id, extension = found.id, found.extension
        if handed_in is None:
            handed_in = found.timestamp
        elif handed_in != found.timestamp:
            connection.execute(
                update(_submission).where(_submission.c.id == found.id).values(timestamp=handed_in)
            )
    late = 0.0
    if handed_in is not None and lesson.due is not None:
        due = lesson.due if extension is None else lesson.due + extension
        late = max(0.0, (handed_in - due).total_seconds())
    return SubmissionRows(submission_id, _add_notebooks(connection, lesson, submission_id), late)


def _add_notebooks(connection: Connection, lesson: LessonRows, submission: str) -> dict[str, str]:
    there = select(_submitted.c.notebook_id, _submitted.c.id).where(
        _submitted.c.assignment_id == submission
    )
    known = {row.notebook_id: row.id for row in connection.execute(there)}
    ids: dict[str, str] = {}
    for notebook in lesson.notebooks:
        if notebook.id not in known:
            known[notebook.id] = api.new_uuid()
            connection.execute(
                insert(_submitted),
                {
                    "id": known[notebook.id], "notebook_id": notebook.id,
                    "assignment_id": submission, "flagged": False,
                },
            )  # fmt: skip
        ids[notebook.name] = known[notebook.id]
        _add_missing(
            connection,
            _grade,
            known[notebook.id],
            [*notebook.graded.values(), *notebook.tasks.values()],
        )
        _add_missing(
            connection,
            _comment,
            known[notebook.id],
            [*notebook.answers.values(), *notebook.tasks.values()],
        )
    return ids


def _add_missing(connection: Connection, table: Any, notebook: str, cells: Iterable[str]) -> None:
    """One row for each cell that has none."""
    there = set(connection.scalars(select(table.c.cell_id).where(table.c.notebook_id == notebook)))
    rows = [
        {"id": api.new_uuid(), "cell_id": cell, "notebook_id": notebook}
        for cell in cells
        if cell not in there
    ]
    if table is _grade:
        for row in rows:
            row["needs_manual_grade"] = True
    if rows:
        connection.execute(insert(table), rows)


def give_points(connection: Connection, submitted: str, points: Mapping[str, float | None]) -> None:
    """Write automatic points by the cell's id; None: a person has to give them.

    Points a person gave stay and go on to count; such a grade is to be looked at again.
    """
    if points:
        connection.execute(
            update(_grade)
            .where(_grade.c.notebook_id == submitted, _grade.c.cell_id == bindparam("cell"))
            .values(
                auto_score=bindparam("points"),
                needs_manual_grade=or_(
                    _grade.c.manual_score.is_not(None), bindparam("person", type_=Boolean)
                ),
            ),
            [
                {"cell": cell, "points": value, "person": value is None}
                for cell, value in points.items()
            ],
        )


def give_nothing(connection: Connection, submitted: str) -> None:
    """No points for a notebook that was not handed in, as nbgrader has it."""
    connection.execute(
        update(_grade)
        .where(_grade.c.notebook_id == submitted)
        .values(auto_score=0.0, needs_manual_grade=False)
    )


def comment(connection: Connection, submitted: str, texts: Mapping[str, str | None]) -> None:
    """Write automatic comments by the cell's id; a person's comments stay."""
    if texts:
        connection.execute(
            update(_comment)
            .where(_comment.c.notebook_id == submitted, _comment.c.cell_id == bindparam("cell"))
            .values(auto_comment=bindparam("text")),
            [{"cell": cell, "text": text} for cell, text in texts.items()],
        )


def score(connection: Connection, submitted: str) -> float:
    """The notebook's score as the gradebook adds it up: a person's points first, extra credit on top."""
    total = select(func.coalesce(func.sum(api.Grade.score), 0.0))
    return float(connection.scalar(total.where(api.Grade.notebook_id == submitted)) or 0.0)


def take_off(connection: Connection, submitted: str, penalty: float | None) -> None:
    """Write the penalty for handing in late; None: there is none."""
    connection.execute(
        update(_submitted)
        .where(_submitted.c.id == submitted)
        .values(late_submission_penalty=penalty)
    )
