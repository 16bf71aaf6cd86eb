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

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError

from autograder.grading import rows
from autograder.grading.accepting import with_verdicts
from autograder.grading.autograded import fill, placeholder, read_timestamp
from autograder.grading.course import (
    CannotWrite,
    NameTrouble,
    course_version,
    folder_of,
    log,
    open_gradebook,
)
from autograder.grading.records import Acceptance, Draft, Records, new_record
from autograder.grading.result import Result
from autograder.grading.storage import Replacement
from autograder.grading.troubles import database_trouble, file_trouble, is_passing, name_trouble

__all__ = ["CannotWrite", "NameTrouble", "Writer"]

Given = TypeVar("Given")
SECONDS_BETWEEN_TRIES = 0.2


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
        self._gradebook = open_gradebook(course)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the gradebook."""
        self._gradebook.close()

    def check(self, lesson: str) -> None:
        """Raise CannotWrite if the gradebook does not know a lesson: better before grading it."""

        def look() -> None:
            with self._gradebook.engine.connect() as connection:
                self._known_lesson(connection, lesson)

        self._patiently(look)

    def write(self, result: Result, submitted: Path, accepted: Acceptance | None = None) -> Result:
        """Put one result into the gradebook and autograded/, and remember that it was graded.

        submitted  the folder that was handed in, from which data files are taken
        accepted   by whom it is accepted just now; else what was accepted before still holds
        Gives what was entered: with the points of an accepted submission. Raises CannotWrite where that does not work; then nothing has changed. Raises ValueError for
        points that no cell can have, and for names that no folder can have.
        """
        student, lesson = result.student, result.lesson
        place = folder_of(self.course, self.course.autograded_directory, student, lesson)
        found, handed_in = _with_time(result, submitted)
        accepted = accepted or self.records.acceptance(found)
        result = with_verdicts(found) if accepted else found
        _check_points(result)
        try:
            notebook = result.notebook or self._patiently(lambda: self._placeholder(result))
            with _undone_on_failure() as undo:
                folder = Replacement(place)
                undo.append(folder.undo)
                fill(folder.new, notebook, lesson, submitted, self._converter)
                record = self.records.draft(new_record(found, self._version, accepted))
                undo.append(record.undo)
                places = _Places(folder, record)
                self._patiently(lambda: self._transact(result, submitted, handed_in, places))
                undo.clear()  # it is in the gradebook: there is no way back
                folder.finish()
                record.place()
        except UnicodeError as error:
            raise NameTrouble(name_trouble(student)) from error
        except OSError as error:
            raise CannotWrite(file_trouble(error, student, lesson)) from error
        return result

    def _transact(
        self, result: Result, submitted: Path, handed_in: datetime | None, places: _Places
    ) -> None:
        """Everything the gradebook is told of a result; the files change places just before."""
        with self._transaction() as connection:
            lesson = self._known_lesson(connection, result.lesson)
            if not rows.find_or_add_student(
                connection, result.student, self._converter.create_student
            ):
                raise CannotWrite(
                    f"The gradebook knows no student {result.student!r}. Add them with "
                    "`nbgrader db student add`, then grade again."
                )
            submission = rows.find_or_add_submission(connection, lesson, result.student, handed_in)
            for notebook in lesson.notebooks:
                submitted_id = submission.notebooks[notebook.name]
                if notebook.name == result.lesson:
                    self._enter(connection, result, notebook, submitted_id)
                    late = self._late_penalty(connection, result, submitted_id, submission)
                    rows.take_off(connection, submitted_id, late)
                elif not (submitted / f"{notebook.name}.ipynb").exists():
                    rows.give_nothing(connection, submitted_id)
            with places.changed():
                connection.commit()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A connection to the gradebook on which nothing is left undecided after a failure."""
        with self._gradebook.engine.connect() as connection:
            try:
                if connection.dialect.name == "sqlite":
                    # the only one who writes from the start: no deadlock with another one
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
            except BaseException:
                connection.invalidate()  # a commit that fails on SQLite leaves its lock behind
                raise

    def _enter(
        self, connection: Connection, result: Result, notebook: rows.NotebookRows, submitted: str
    ) -> None:
        """Points and comments of the lesson's own notebook."""
        cells = {**notebook.tasks, **notebook.graded}
        points = {mark.grade_id: mark.points for mark in result.marks}
        maxima = {mark.grade_id: mark.max_points for mark in result.marks}
        expected = {name: notebook.points[name] for name in maxima if name in notebook.points}
        if maxima != expected or not set(notebook.graded) <= set(points):
            raise CannotWrite(
                f"The gradebook has another version of {result.lesson}. Run `make gradebook`, then "
                "grade again."
            )
        if not result.notebook:
            points = dict.fromkeys(cells)
        rows.give_points(connection, submitted, {cells[name]: points[name] for name in points})
        texts: dict[str, str | None] = dict.fromkeys(notebook.tasks.values())
        for name, cell in notebook.answers.items():
            untouched = bool(result.notebook) and name not in result.answered
            texts[cell] = rows.NO_RESPONSE if untouched else None
        rows.comment(connection, submitted, texts)

    def _late_penalty(
        self,
        connection: Connection,
        result: Result,
        submitted: str,
        submission: rows.SubmissionRows,
    ) -> float | None:
        """What the configured plug-in takes off, within nbgrader's own limits."""
        if self._penalties is None or submission.seconds_late <= 0:
            return None
        score = rows.score(connection, submitted)
        plugin = self._penalties.plugin_inst
        try:
            penalty = plugin.late_submission_penalty(result.student, score, submission.seconds_late)
            if penalty is None:
                return None
            return float(self._penalties._check_late_penalty(SimpleNamespace(score=score), penalty))
        except Exception as error:
            raise CannotWrite(
                f"The plug-in for late submissions, {type(plugin).__name__}, failed with "
                f"{type(error).__name__}: {error}. Mend it, then grade again."
            ) from error

    def _placeholder(self, result: Result) -> str:
        """The notebook that stands for one that could not be read."""
        with self._gradebook.engine.connect() as connection:
            notebook = self._known_lesson(connection, result.lesson).notebook(result.lesson)
            cells = rows.graded_texts(
                connection, notebook, [mark.grade_id for mark in result.marks]
            )
        return placeholder(cells, result.reasons)

    def _known_lesson(self, connection: Connection, name: str) -> rows.LessonRows:
        lesson = rows.find_lesson(connection, name)
        if lesson is None or all(notebook.name != name for notebook in lesson.notebooks):
            raise CannotWrite(
                f"The gradebook does not know {name!r}. Run `make gradebook`, then grade again."
            )
        return lesson

    def _patiently(self, work: Callable[[], Given]) -> Given:
        """Do work on the gradebook; while somebody else keeps it to themselves, try again."""
        start = time.monotonic()
        while True:
            try:
                return work()
            except DBAPIError as error:
                if isinstance(error, DataError):
                    raise NameTrouble(database_trouble(error, self.course.db_url)) from error
                if not is_passing(error) or time.monotonic() - start > self._patience:
                    sentence = database_trouble(error, self.course.db_url)
                    raise CannotWrite(sentence) from error
                time.sleep(SECONDS_BETWEEN_TRIES)


class _Places:
    """The new files' places, which they take together with the commit or not at all."""

    def __init__(self, folder: Replacement, record: Draft):
        self._folder, self._record = folder, record

    @contextmanager
    def changed(self) -> Iterator[None]:
        try:
            self._record.set_aside()
            self._folder.swap()
            yield
        except BaseException:
            self._folder.swap_back()
            self._record.put_back()
            raise


@contextmanager
def _undone_on_failure() -> Iterator[list[Callable[[], None]]]:
    """Gives a list; on any exception (Ctrl-C too) what stands in it is called, the last first."""
    steps: list[Callable[[], None]] = []
    try:
        yield steps
    except BaseException:
        for step in reversed(steps):
            step()
        raise


def _with_time(result: Result, submitted: Path) -> tuple[Result, datetime | None]:
    """When it was handed in; if that cannot be said, the result says so."""
    try:
        return result, read_timestamp(submitted)
    except ValueError as error:
        reason = f"Whether it was handed in late cannot be said: {error}."
        reasons = dict.fromkeys((*result.reasons, reason))
        return replace(result, reasons=tuple(reasons)), None


def _check_points(result: Result) -> None:
    for mark in result.marks:
        if mark.points is not None and not 0 <= mark.points <= mark.max_points:
            raise ValueError(
                f"{mark.grade_id} cannot get {mark.points} of {mark.max_points} points"
            )


def _late_penalties(converter: Autograde) -> AssignLatePenalties | None:
    """nbgrader's step for late submissions as it is configured; None where it is switched off."""
    steps = {
        getattr(step, "__name__", str(step)).rpartition(".")[2]
        for step in converter.autograde_preprocessors
    }
    if AssignLatePenalties.__name__ not in steps:
        return None
    penalties = AssignLatePenalties(parent=converter, log=log)
    if not penalties.enabled:
        return None
    penalties.init_plugin()
    return penalties
