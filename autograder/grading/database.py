"""The gradebook's database: opened, read, waited for; and in plain words why it cannot be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from nbgrader import api
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection, create_engine, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
)
from sqlalchemy.orm import Session, selectinload

from autograder.grading.course import how_to_prepare
from autograder.grading.words import CannotWrite, NameTrouble, trouble_with

Given = TypeVar("Given")
SECONDS_BETWEEN_TRIES = 0.2
NONE_YET = "There is no gradebook yet."


def open_gradebook(course: CourseDirectory) -> Gradebook:
    """nbgrader's gradebook of a course. Raises CannotWrite where there is none yet, or no way to it."""
    if not is_there(course):
        raise CannotWrite(f"{NONE_YET} {how_to_prepare(course)}")
    with _in_words(course):
        return Gradebook(course.db_url, course.course_id)


def is_there(course: CourseDirectory) -> bool:
    """Whether somebody has made a gradebook. Raises CannotWrite where there is no way to it."""
    with _in_words(course):
        url = make_url(course.db_url)
        file = url.database if url.get_backend_name() == "sqlite" else None
        if file and not file.startswith("file:") and not Path(file).exists():
            return False
        engine = create_engine(url)
        try:
            return bool(inspect(engine).has_table("assignment"))
        finally:
            engine.dispose()


@contextmanager
def _in_words(course: CourseDirectory) -> Iterator[None]:
    """What may be wrong with a gradebook, as CannotWrite."""
    try:
        yield
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise CannotWrite(
            f"The gradebook's address cannot be used: {error}. Look at --db, or at "
            "CourseDirectory.db_url in nbgrader_config.py."
        ) from error
    except DBAPIError as error:
        raise database_trouble(error, course.db_url) from error
    except OSError as error:
        raise trouble_with(f"the gradebook {error.filename}", error.strerror) from error


@contextmanager
def reading(course: CourseDirectory) -> Iterator[Connection]:
    """A connection to a course's gradebook, to look at it. Raises CannotWrite."""
    with closing(open_gradebook(course)) as gradebook:
        try:
            with gradebook.engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise database_trouble(error, course.db_url) from error


def patiently(course: CourseDirectory, work: Callable[[], Given], patience: float) -> Given:
    """Do work on the gradebook; for so many seconds, while somebody else has it, try again."""
    start = time.monotonic()
    while True:
        try:
            return work()
        except DBAPIError as error:
            if not is_passing(error) or time.monotonic() - start > patience:
                raise database_trouble(error, course.db_url) from error
            time.sleep(SECONDS_BETWEEN_TRIES)


# What SQLite and PostgreSQL say where somebody else is writing, or was a moment ago.
_PASSING = ("database is locked", "database table is locked", "deadlock", "could not serialize",
            "lock timeout", "lock_not_available")  # fmt: skip


def is_passing(error: DBAPIError) -> bool:
    """Whether the same may work in a moment."""
    said = str(error.orig).lower()
    return (
        error.connection_invalidated
        or isinstance(error, IntegrityError)  # somebody else added the same row first
        or any(words in said for words in _PASSING)
    )


def database_trouble(error: DBAPIError, db_url: str) -> CannotWrite:
    """Why the gradebook could not be used."""
    where = f"the gradebook {make_url(db_url).render_as_string(hide_password=True)}"
    said = str(error.orig).strip().split("\n")[0]
    if isinstance(error, DataError):
        return NameTrouble(
            f"A name is too long for {where}: {said}. Rename the student's folder in submitted/."
        )
    return trouble_with(where, said)


# ---- what nbgrader's autograde writes of a submission, in one transaction of the caller's --------

NO_RESPONSE = "No response."  # nbgrader's own words for an answer nobody touched


def find_lesson(session: Session, name: str) -> Any:
    """nbgrader's Assignment of this name, with all its cells; None where the gradebook has none."""
    cells = selectinload(api.Assignment.notebooks).selectinload(api.Notebook._base_cells)
    points = cells.selectin_polymorphic([api.GradeCell, api.TaskCell])
    found = select(api.Assignment).where(api.Assignment.name == name)
    return session.scalar(found.options(cells, points))


def find_or_add_submission(
    session: Session, lesson: Any, student: str, handed_in: datetime | None
) -> dict[str, Any]:
    """The student's notebooks by name, complete with a grade for each graded cell and a comment for
    each answer. Where it is not known when it was handed in, what the gradebook says of that stays."""
    kind = api.SubmittedAssignment
    ids = {"assignment_id": lesson.id, "student_id": student}
    found = session.scalar(select(kind).filter_by(**ids)) or kind(**ids)
    session.add(found)
    found.timestamp = handed_in or found.timestamp
    known = {one.notebook_id: one for one in found.notebooks}
    for notebook in lesson.notebooks:
        if notebook.id not in known:
            known[notebook.id] = api.SubmittedNotebook(notebook_id=notebook.id, flagged=False)
            found.notebooks.append(known[notebook.id])
        one, tasks = known[notebook.id], notebook.task_cells
        for there, of_cell, cells in (
            (one.grades, api.Grade, notebook.grade_cells),
            (one.comments, api.Comment, notebook.solution_cells),
        ):
            missing = {cell.id for cell in (*cells, *tasks)} - {each.cell_id for each in there}
            there += [of_cell(cell_id=cell_id) for cell_id in missing]
    session.flush()
    return {notebook.name: known[notebook.id] for notebook in lesson.notebooks}


def give(grade: Any, points: float | None, unchanged: bool) -> None:
    """Write automatic points; None: a person has to give them.

    Points a person gave stay and go on to count. Such a grade is to be looked at again, unless the
    work is unchanged and gets the same automatic points as before.
    """
    if grade.manual_score is None:
        grade.needs_manual_grade = points is None
    elif not unchanged or grade.auto_score != points:
        grade.needs_manual_grade = True
    grade.auto_score = points
