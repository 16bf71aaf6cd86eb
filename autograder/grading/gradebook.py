"""Results of grading, put into nbgrader's own gradebook and folders. There is one writer at a time.

Everything `nbgrader autograde` leaves behind is left behind here, so formgrader, feedback and
export go on from there; in one transaction a submission, and so that a process killed at any moment
and started again comes to the same end:

1.  files and record are written in hiding: from now on the old record does not count,
2.  the gradebook's rows change in one transaction (a locked or full gradebook is noticed here),
3.  the new folder takes the place of the old one,
4.  so does the record: only now the submission counts as graded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from nbgrader.api import Student
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from autograder.grading.course import folder_of, how_to_prepare, log
from autograder.grading.database import (
    NO_RESPONSE,
    find_lesson,
    find_or_add_submission,
    give,
    open_gradebook,
    patiently,
)
from autograder.grading.handed_in import lesson_files
from autograder.grading.kept_files import fill, read_timestamp, replacing, write_new
from autograder.grading.marking import Result
from autograder.grading.records import Acceptance, Records, new_record, not_read, with_verdicts
from autograder.grading.words import Busy, CannotWrite, NameTrouble, trouble_with
from autograder.learner.lesson import read_lesson

Given = TypeVar("Given")


class Writer:
    """Puts results where nbgrader keeps them; close it, or use it as a context manager.

    course    from autograder.grading.course.open_course
    patience  seconds to wait where somebody else is writing into the gradebook
    """

    def __init__(self, course: CourseDirectory, patience: float = 60.0):
        self.course = course
        self.records = Records(course.root)
        self._patience = patience
        self._converter = Autograde(coursedir=course, config=course.config, log=log)
        self._penalties = _late_penalties(self._converter)
        self._gradebook = self._patiently(lambda: open_gradebook(course))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def read(self, look: Callable[[Connection], Given]) -> Given:
        """Look something up in the gradebook."""

        def work() -> Given:
            with self._gradebook.engine.connect() as connection:
                return look(connection)

        return self._patiently(work)

    def check(self, lesson: str) -> None:
        """Raise CannotWrite if the gradebook does not know a lesson: better before grading it."""
        self.read(lambda connection: self._known_lesson(Session(connection), lesson))

    def write(self, result: Result, submitted: Path, accepted: Acceptance | None = None) -> Result:
        """Put one result into the gradebook and autograded/, and remember that it was graded.

        submitted  the folder that was handed in, which says when
        accepted   by whom it is accepted just now; else what was accepted before still holds
        Gives what was entered: with the points of an accepted submission. Raises CannotWrite where
        that does not work; then nothing has changed. Raises ValueError for names that no folder can have.
        """
        student, lesson = result.student, result.lesson
        place = folder_of(self.course, self.course.autograded_directory, student, lesson)
        handed_in, unclear = read_timestamp(submitted)
        late = (f"Whether it was handed in late cannot be said: {unclear}.",) if unclear else ()
        found = replace(result, reasons=tuple(dict.fromkeys((*result.reasons, *late))))
        before = self.records.last(student, lesson)
        given = before and before.accepted  # it holds unless a person has to look again
        accepted = accepted or (given if given and given.covers(found) else None)
        result = with_verdicts(found) if accepted else found
        unchanged = before is not None and before.result.content == found.content
        record = new_record(found, accepted)
        try:
            notebook = result.notebook or not_read(
                read_lesson(lesson_files(self.course, lesson)), result.reasons
            )
            with replacing(self.records.path(student, lesson)) as draft, replacing(place) as folder:
                fill(folder, notebook, lesson, submitted, self._converter)
                write_new(draft, record.as_bytes())
                self._patiently(lambda: self._enter(result, submitted, handed_in, unchanged))
        except UnicodeError as error:
            raise NameTrouble(
                f"The name of student {student!r} is no valid text. Rename the folder in submitted/, "
                "then grade again."
            ) from error
        except OSError as error:
            where = f"the graded {lesson} of {student!r} ({error.filename or place})"
            raise trouble_with(where, error.strerror or error) from error
        return result

    def _enter(
        self, result: Result, submitted: Path, handed_in: datetime | None, unchanged: bool
    ) -> None:
        """Everything the gradebook is told of a result, in one transaction."""
        with self._gradebook.engine.connect() as connection:
            try:
                if connection.dialect.name == "sqlite":
                    # the only one who writes from the start: no deadlock with another one
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                session = Session(connection, autoflush=False)
                self._rows(session, result, submitted, handed_in, unchanged)
                session.flush()
                connection.commit()
            except BaseException:
                connection.invalidate()  # a commit that fails on SQLite leaves its lock behind
                raise

    def _rows(
        self, session: Session, result: Result, submitted: Path, handed_in: datetime | None, unchanged: bool
    ) -> None:  # fmt: skip
        lesson, student = self._known_lesson(session, result.lesson), result.student
        if session.get(Student, student) is None:
            if not self._converter.create_student:
                raise CannotWrite(
                    f"The gradebook knows no student {student!r}. Add them with "
                    "`nbgrader db student add`, then grade again."
                )
            session.add(Student(id=student))
        there = find_or_add_submission(session, lesson, student, handed_in)
        for notebook in lesson.notebooks:
            one = there[notebook.name]
            if notebook.name == result.lesson:
                _points(self.course, result, notebook, one, unchanged)
                # an extension counts only where something is due
                late = one.assignment.total_seconds_late if lesson.duedate is not None else 0
                one.late_submission_penalty = self._late_penalty(session, student, one, late)
            elif not (submitted / f"{notebook.name}.ipynb").exists():  # as nbgrader has it
                for grade in one.grades:
                    grade.auto_score, grade.needs_manual_grade = 0.0, False

    def _late_penalty(
        self, session: Session, student: str, submitted: Any, late: float
    ) -> float | None:
        """What the configured plug-in takes off, within nbgrader's own limits."""
        if self._penalties is None or late <= 0:
            return None
        session.flush()
        session.refresh(submitted, ["score"])
        plugin = self._penalties.plugin_inst
        try:
            penalty = plugin.late_submission_penalty(student, submitted.score, late)
            return penalty and float(self._penalties._check_late_penalty(submitted, penalty))
        except Exception as error:
            raise CannotWrite(
                f"The plug-in for late submissions, {type(plugin).__name__}, failed with "
                f"{type(error).__name__}: {error}. Mend it, then grade again."
            ) from error

    def _known_lesson(self, session: Session, name: str) -> Any:
        lesson = find_lesson(session, name)
        if lesson is None or all(notebook.name != name for notebook in lesson.notebooks):
            raise CannotWrite(
                f"The gradebook does not know {name!r}. {how_to_prepare(self.course)}"
            )
        return lesson

    def _patiently(self, work: Callable[[], Given]) -> Given:
        return patiently(self.course, work, self._patience)


def _points(
    course: CourseDirectory, result: Result, notebook: Any, submitted: Any, unchanged: bool
) -> None:
    """Points and comments of the lesson's own notebook."""
    marks = {mark.grade_id: mark for mark in result.marks}
    graded = {cell.id: cell for cell in (*notebook.grade_cells, *notebook.task_cells)}
    known = {cell.name: cell.max_score for cell in graded.values()}
    asked = {cell.name for cell in notebook.grade_cells}
    if not asked <= marks.keys() or any(known.get(n) != m.max_points for n, m in marks.items()):
        raise CannotWrite(
            f"The gradebook has another version of {result.lesson}. {how_to_prepare(course)}"
        )
    for grade in submitted.grades:
        mark = marks.get(graded[grade.cell_id].name)
        if not result.notebook:  # nobody has read it
            give(grade, None, unchanged)
        elif mark is not None:
            give(grade, mark.points, unchanged)
    untouched = {
        cell.id for cell in notebook.solution_cells
        if result.notebook and cell.name not in result.answered
    }  # fmt: skip
    for comment in submitted.comments:  # a person's own stay
        comment.auto_comment = NO_RESPONSE if comment.cell_id in untouched else None


def _late_penalties(converter: Autograde) -> AssignLatePenalties | None:
    """nbgrader's step for late submissions as it is configured; None where it is switched off."""
    steps = {
        getattr(step, "__name__", str(step)).rpartition(".")[2]
        for step in converter.autograde_preprocessors
    }
    penalties = AssignLatePenalties(parent=converter, log=log)
    if AssignLatePenalties.__name__ not in steps or not penalties.enabled:
        return None
    penalties.init_plugin()
    return penalties


@contextmanager
def alone(course: CourseDirectory) -> Iterator[None]:
    """Nobody else grades the course at the same time. Raises Busy."""
    folder = Path(course.root, "grading")
    try:
        held = FileLock(folder / ".lock").acquire(timeout=0)
    except Timeout:
        raise Busy("Somebody is grading this course right now. Wait until they are done.") from None
    except OSError as error:
        raise trouble_with(str(folder), error.strerror) from error
    with held:
        yield
