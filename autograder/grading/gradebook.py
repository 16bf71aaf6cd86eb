"""Results of grading, put into nbgrader's own gradebook and folders. There is one writer at a time.

Everything `nbgrader autograde` leaves behind is left behind here, so formgrader, feedback and
export go on from there; in one transaction a submission, and so that a process killed at any moment
and started again comes to the same end:

1.  files and record are written in hiding,
2.  the gradebook's rows change within a transaction (a locked or full gradebook is noticed here),
3.  the old record is set aside, the new folder takes its place,
4.  the transaction is committed,
5.  the record takes its place: only now the submission counts as graded.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from autograder.grading import database as rows
from autograder.grading.course import course_version, folder_of, how_to_prepare, log
from autograder.grading.database import open_gradebook, patiently
from autograder.grading.kept_files import Replacement, fill, read_timestamp
from autograder.grading.marking import Result
from autograder.grading.records import Acceptance, Records, new_record, not_read, with_verdicts
from autograder.grading.words import Busy, CannotWrite, NameTrouble, trouble_with

Given = TypeVar("Given")


class Writer:
    """Puts results where nbgrader keeps them; close it, or use it as a context manager.

    course    from autograder.grading.course.open_course
    version   the course's version, for the records
    patience  seconds to wait where somebody else is writing into the gradebook
    """

    def __init__(self, course: CourseDirectory, version: str | None = None, patience: float = 60.0):
        self.course = course
        self.records = Records(Path(course.root))
        self._version = course_version() if version is None else version
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
        found, handed_in = _with_time(result, submitted)
        before = self.records.last(student, lesson)
        accepted = accepted or self.records.acceptance(found)
        result = with_verdicts(found) if accepted else found
        unchanged = before is not None and before.result.content == found.content
        try:
            source = Path(self.course.format_path(self.course.source_directory, ".", lesson))
            notebook = result.notebook or not_read(source / f"{lesson}.ipynb", result.reasons)
            with ExitStack() as undo:
                folder = Replacement(place)
                undo.callback(folder.undo)
                fill(folder.new, notebook, lesson, submitted, self._converter)
                record = self.records.draft(new_record(found, self._version, accepted))
                undo.callback(record.undo)
                self._patiently(
                    lambda: self._transact(result, submitted, handed_in, unchanged, folder, record)
                )
                undo.pop_all()  # it is in the gradebook: there is no way back
                folder.finish()
                record.finish()
        except UnicodeError as error:
            raise NameTrouble(
                f"The name of student {student!r} is no valid text. Rename the folder in submitted/, "
                "then grade again."
            ) from error
        except OSError as error:
            where = f"the graded {lesson} of {student!r} ({error.filename or place})"
            raise trouble_with(where, error.strerror or error) from error
        return result

    def _transact(
        self, result: Result, submitted: Path, handed_in: datetime | None, unchanged: bool,
        folder: Replacement, record: Replacement,
    ) -> None:  # fmt: skip
        """Everything the gradebook is told of a result; the files change places just before."""
        with self._transaction() as (connection, session):
            lesson = self._known_lesson(session, result.lesson)
            if not rows.find_or_add_student(
                session, result.student, self._converter.create_student
            ):
                raise CannotWrite(
                    f"The gradebook knows no student {result.student!r}. Add them with "
                    "`nbgrader db student add`, then grade again."
                )
            there = rows.find_or_add_submission(session, lesson, result.student, handed_in)
            for notebook in lesson.notebooks:
                one = there[notebook.name]
                if notebook.name == result.lesson:
                    _enter(self.course, result, notebook, one, unchanged)
                    late = rows.seconds_late(lesson, one)
                    one.late_submission_penalty = self._late_penalty(session, result, one, late)
                elif not (submitted / f"{notebook.name}.ipynb").exists():
                    rows.give_nothing(one)
            session.flush()
            try:
                record.set_aside()
                folder.set_aside()
                folder.place()
                connection.commit()
            except BaseException:
                folder.put_back()
                record.put_back()
                raise

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, Session]]:
        """A connection to the gradebook on which nothing is left undecided after a failure."""
        with self._gradebook.engine.connect() as connection:
            try:
                if connection.dialect.name == "sqlite":
                    # the only one who writes from the start: no deadlock with another one
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection, Session(connection, autoflush=False)
            except BaseException:
                connection.invalidate()  # a commit that fails on SQLite leaves its lock behind
                raise

    def _late_penalty(
        self, session: Session, result: Result, submitted: Any, late: float
    ) -> float | None:
        """What the configured plug-in takes off, within nbgrader's own limits."""
        if self._penalties is None or late <= 0:
            return None
        score = rows.score(session, submitted)
        plugin = self._penalties.plugin_inst
        try:
            penalty = plugin.late_submission_penalty(result.student, score, late)
            if penalty is None:
                return None
            return float(self._penalties._check_late_penalty(SimpleNamespace(score=score), penalty))
        except Exception as error:
            raise CannotWrite(
                f"The plug-in for late submissions, {type(plugin).__name__}, failed with "
                f"{type(error).__name__}: {error}. Mend it, then grade again."
            ) from error

    def _known_lesson(self, session: Session, name: str) -> Any:
        lesson = rows.find_lesson(session, name)
        if lesson is None or all(notebook.name != name for notebook in lesson.notebooks):
            raise CannotWrite(
                f"The gradebook does not know {name!r}. {how_to_prepare(self.course)}"
            )
        return lesson

    def _patiently(self, work: Callable[[], Given]) -> Given:
        return patiently(self.course, work, self._patience)


def _enter(
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
            rows.give(grade, None, unchanged)
        elif mark is not None:
            rows.give(grade, mark.points, unchanged)
    untouched = {
        cell.id for cell in notebook.solution_cells
        if result.notebook and cell.name not in result.answered
    }  # fmt: skip
    for comment in submitted.comments:  # a person's own stay
        comment.auto_comment = rows.NO_RESPONSE if comment.cell_id in untouched else None


def _with_time(result: Result, submitted: Path) -> tuple[Result, datetime | None]:
    """When it was handed in; if that cannot be said, the result says so."""
    try:
        return result, read_timestamp(submitted)
    except ValueError as error:
        reason = f"Whether it was handed in late cannot be said: {error}."
        reasons = dict.fromkeys((*result.reasons, reason))
        return replace(result, reasons=tuple(reasons)), None


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
def alone(root: Path) -> Iterator[None]:
    """Nobody else grades the course at the same time. Raises Busy."""
    folder = root / "grading"
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise trouble_with(str(folder), error.strerror) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                "Somebody is grading this course right now. Wait until they are done."
            ) from None
        yield
