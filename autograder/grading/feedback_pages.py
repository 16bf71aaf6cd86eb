"""Which feedback pages no longer say what the gradebook says, and nbgrader's own way to write them anew.

Each page that is written here carries a digest of all that it was made of: the graded notebook, and
the student's scores, comments and penalty. The digest is taken before the page is made, so whatever
changes meanwhile makes the page one that is written again next time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection, Engine, select

from autograder.grading.course import folder_of

FORMAT = 1  # of what is in a digest
_META = re.compile(rb'<meta name="autograder-feedback" content="([0-9a-f]{64})"')
_BEGINNING = "<head>\n"
_HEAD, _TAIL = 4096, 256  # bytes of a page in which its digest and its end stand

_assignment = api.Assignment.__table__
_notebook = api.Notebook.__table__
_cell = api.BaseCell.__table__
_submission = api.SubmittedAssignment.__table__
_submitted = api.SubmittedNotebook.__table__
_grade = api.Grade.__table__
_comment = api.Comment.__table__


@dataclass(frozen=True)
class Page:
    """One student's page on one notebook.

    submitted  the notebook's id in the gradebook
    penalty    what is taken off for handing in late
    graded     the notebook that grading left
    path       where the page is, or will be
    """

    student: str
    lesson: str
    submitted: str
    penalty: float | None
    graded: Path
    path: Path

    def is_up_to_date(self, connection: Connection) -> bool:
        """Whether the page is there, whole, and made of what is there now."""
        try:
            with self.path.open("rb") as file:
                head = file.read(_HEAD)
                file.seek(max(0, self.path.stat().st_size - _TAIL))
                whole = file.read().rstrip().endswith(b"</html>")
        except OSError:
            return False
        found = _META.search(head)
        return whole and found is not None and found[1].decode() == self.digest(connection)

    def digest(self, connection: Connection) -> str:
        """A hash of all that the page is made of. Raises OSError where there is no graded notebook."""
        graded = hashlib.sha256(self.graded.read_bytes()).hexdigest()
        grades = ("manual_score", "auto_score", "extra_credit", "needs_manual_grade")
        comments = ("manual_comment", "auto_comment")
        said = [
            FORMAT, graded, self.penalty,
            _rows(connection, _grade, grades, self.submitted),
            _rows(connection, _comment, comments, self.submitted),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _rows(
    connection: Connection, table: Any, columns: Sequence[str], submitted: str
) -> list[list[Any]]:
    found = (
        select(_cell.c.name, *(table.c[name] for name in columns))
        .join(_cell, _cell.c.id == table.c.cell_id)
        .where(table.c.notebook_id == submitted)
        .order_by(_cell.c.name, _cell.c.type)
    )
    return [list(row) for row in connection.execute(found)]


def pages(
    course: CourseDirectory, connection: Connection, lesson: str, student: str | None = None
) -> Iterator[Page]:
    """The pages that there can be for a lesson, by student: those of graded notebooks."""
    found = (
        select(
            _submission.c.student_id, _notebook.c.name, _submitted.c.id,
            _submitted.c.late_submission_penalty,
        )
        .select_from(
            _submission.join(_assignment, _assignment.c.id == _submission.c.assignment_id)
            .join(_submitted, _submitted.c.assignment_id == _submission.c.id)
            .join(_notebook, _notebook.c.id == _submitted.c.notebook_id)
        )
        .where(_assignment.c.name == lesson)
        .order_by(_submission.c.student_id, _notebook.c.name)
    )  # fmt: skip
    for name, notebook, submitted, penalty in connection.execute(found).all():
        if student not in (None, name):
            continue
        try:
            graded, shown = (
                folder_of(course, step, name, lesson)
                for step in (course.autograded_directory, course.feedback_directory)
            )
        except ValueError:  # no folder can have this name, so nothing was handed in under it
            continue
        path = graded / f"{notebook}.ipynb"
        if path.is_file():
            yield Page(name, lesson, submitted, penalty, path, shown / f"{notebook}.html")


def outdated(connection: Connection, found: Sequence[Page]) -> list[Page]:
    """Those to be written again. A folder is written whole: with one of its pages, all of them."""
    folders = {page.path.parent for page in found if not page.is_up_to_date(connection)}
    return [page for page in found if page.path.parent in folders]


def write_pages(
    course: CourseDirectory,
    engine: Engine,
    wanted: Sequence[Page],
    told: Callable[[Page], None] = lambda page: None,
) -> list[tuple[Page, str]]:
    """Write pages with nbgrader's own converter; gives those that could not be, and why.

    told  hears of each page that is about to be written
    """
    odd = [page for page in wanted if "\n" in page.student]  # nbgrader would give up all the others
    failed = [(page, "nbgrader cannot read a name with a line break in it") for page in odd]
    wanted = [page for page in wanted if page not in odd]
    if not wanted:
        return failed
    writer = _Pages(course, engine, wanted, told)
    try:
        writer.start()
    except NbGraderException as error:
        if not writer.failed:
            return [*failed, *((page, str(error)) for page in wanted)]
    return failed + writer.failed


class _Pages(GenerateFeedback):
    """nbgrader's own, for these very pages, and without a word on the terminal."""

    def __init__(
        self, course: CourseDirectory, engine: Engine, wanted: Sequence[Page],
        told: Callable[[Page], None],
    ):  # fmt: skip
        silent = logging.Logger("autograder.feedback")  # on no list: what it is told, nobody hears
        silent.addHandler(logging.NullHandler())
        super().__init__(coursedir=course, config=course.config, log=silent)
        self._engine, self._told = engine, told
        self._wanted = {str(page.graded): page for page in wanted}
        self.failed: list[tuple[Page, str]] = []

    def init_notebooks(self) -> None:
        """Nothing is looked for: what to write is known, whatever the students are called."""
        self.assignments: dict[str, list[str]] = {}
        for path, page in self._wanted.items():
            self.assignments.setdefault(str(page.graded.parent), []).append(path)

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Always: what is there is older, and goes."""
        folder = folder_of(
            self.coursedir, self.coursedir.feedback_directory, student_id, assignment_id
        )
        if folder.exists():
            shutil.rmtree(folder)
        return True

    def convert_single_notebook(self, notebook_filename: str) -> None:
        page = self._wanted[notebook_filename]
        self._told(page)
        try:
            with self._engine.connect() as connection:
                self._digest = page.digest(connection)
            super().convert_single_notebook(notebook_filename)
        except Exception as error:
            self.failed.append((page, f"{type(error).__name__}: {error}"))
            raise

    def write_single_notebook(self, output: str, resources: Any) -> None:
        meta = f'<meta name="autograder-feedback" content="{self._digest}" />\n'
        super().write_single_notebook(output.replace(_BEGINNING, _BEGINNING + meta, 1), resources)
