"""What the grader remembers of each submission it graded, and the secret seeds it graded with.

Under the course's root, and out of git: grading/records/LESSON/STUDENT.json and
grading/seeds.json. A record that cannot be read counts as none: its submission is graded again.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import nbformat
from filelock import FileLock
from nbformat.v4 import new_notebook
from nbformat.v4.nbjson import JSONWriter

from autograder.grading.course import checked_name
from autograder.grading.kept_files import hidden, replace_file
from autograder.grading.marking import (
    NOTE,
    Mark,
    Result,
    note_for_person,
    show_outcome,
)
from autograder.grading.policy import names_a_line
from autograder.grading.sanitising import sanitise
from autograder.grading.words import CannotWrite, trouble_with
from autograder.learner.lesson import Lesson, grade_id_of
from autograder.learner.submitted_notebook import restore
from autograder.observation.packing import from_plain

FORMAT = 1
SEED_BITS = 62
_PLAIN = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,150}")


@dataclass(frozen=True)
class Acceptance:
    """A person's word that the lines which hold a submission back are harmless.

    content  of the result they looked at (``Result.content``)
    lines    the lines they were shown
    who      who it was
    when     in UTC, as ISO 8601
    """

    content: str
    lines: tuple[str, ...]
    who: str
    when: str

    def __str__(self) -> str:
        return f"accepted by {self.who}, {self.when[:16].replace('T', ' ')} UTC"

    def covers(self, result: Result) -> bool:
        """Whether it is about this very work, and nothing more was found in it since."""
        return self.content == result.content != "" and {*lines_of(result)} <= {*self.lines}


@dataclass(frozen=True)
class Record:
    """One graded submission.

    result    the outcome, without the notebook (that is in autograded/), as the grader found it
    graded    when, in UTC, as ISO 8601
    accepted  whose word the points in the gradebook rest on, where the grader alone gave none
    """

    result: Result
    graded: str
    accepted: Acceptance | None = None
    format: int = FORMAT

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person has to look: of what is accepted only what is left."""
        left = self.result.reasons
        return tuple(one for one in left if self.accepted is None or not names_a_line(one))

    def as_bytes(self) -> bytes:
        """For a file."""
        return json.dumps(asdict(self), indent=1, default=str).encode("ascii")


def new_record(result: Result, accepted: Acceptance | None = None) -> Record:
    """The record of a result obtained now."""
    return Record(replace(result, notebook=""), now(), accepted)


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Records:
    """The records of the course in `root`."""

    def __init__(self, root: Path | str):
        self.folder = Path(root) / "grading" / "records"

    def path(self, student: str, lesson: str) -> Path:
        """Where a record is kept. Raises ValueError for names that no folder can have."""
        return self.folder / file_name(lesson) / f"{file_name(student)}.json"

    def read(self, student: str, lesson: str) -> Record | None:
        """The record of a submission; None where there is none that counts, or another is being written."""
        drafted = hidden(self.path(student, lesson)).exists()
        return None if drafted else self.last(student, lesson)

    def last(self, student: str, lesson: str) -> Record | None:
        """As `read`; also one that counts no more, since somebody ended the grader while it wrote the next."""
        try:
            found: Record = from_plain(Record, json.loads(self.path(student, lesson).read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        told = found.format, found.result.student, found.result.lesson
        return found if told == (FORMAT, student, lesson) else None

    def keep(self, record: Record) -> None:
        """Put a record in its place."""
        path = self.path(record.result.student, record.result.lesson)
        replace_file(path, record.as_bytes())


class Seeds:
    """The secret seed of each lesson: the same for all learners, so that equal work scores equally."""

    def __init__(self, root: Path | str):
        self.path = Path(root) / "grading" / "seeds.json"

    def of(self, lesson: str) -> int:
        """The lesson's seed. It is made when first asked for, and on the disk before it is used.

        Raises CannotWrite where the seeds cannot be read or kept.
        """
        checked_name(lesson)
        try:
            with FileLock(self.path.with_name(".seeds.lock")):
                seeds = self._read()
                if lesson not in seeds:
                    seeds[lesson] = secrets.randbits(SEED_BITS)
                    replace_file(self.path, json.dumps(seeds, indent=1).encode("ascii"), 0o600)
                return seeds[lesson]
        except OSError as error:
            raise trouble_with(f"the seeds in {self.path}", error.strerror or error) from error

    def known(self, lesson: str) -> int | None:
        """The lesson's seed if it has one. Raises CannotWrite where the seeds are damaged."""
        return self._read().get(lesson)

    def _read(self) -> dict[str, int]:
        try:
            return from_plain(dict[str, int], json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError) as error:
            raise CannotWrite(
                f"{self.path} is damaged. Put a copy of it back from your backup; or delete it: then "
                "new seeds are drawn, and every submission is graded again."
            ) from error


def file_name(name: str) -> str:
    """A name for files, different for different names, whatever a student may be called."""
    checked_name(name)
    if _PLAIN.fullmatch(name):
        return name
    raw = name.encode("utf-8", "surrogatepass")
    return f"%{quote(raw, safe='')[:120]}%{hashlib.sha256(raw).hexdigest()}"


# ---- what waits for a person: what its notebook says of it, and what it gets once it was accepted ----


def not_read(lesson: Lesson, reasons: Sequence[str]) -> str:
    """A notebook for formgrader where what was handed in could not be read: a person gives points.

    It says why, and has the lesson's graded cells. Each holds an error: whatever reads scores off
    outputs finds none.
    """
    notebook = new_notebook()
    restore(notebook, lesson)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            show_outcome(cell)
    why = reasons or ("What was handed in is no notebook that can be read.",)
    beginning = "This submission could not be graded automatically"
    notebook.cells.insert(0, note_for_person(why, beginning=beginning))
    sanitise(notebook)
    return str(JSONWriter().writes(notebook))


def lines_of(result: Result) -> tuple[str, ...]:
    """The lines that a person has to look at; none where it waits for another reason, or not at all."""
    return tuple(reason for reason in result.reasons if names_a_line(reason))


def was_read(result: Result) -> bool:
    """Whether there is a verdict on anything: not of a missing or an unreadable notebook."""
    return any(mark.report for mark in result.marks)


def with_verdicts(result: Result) -> Result:
    """The result as if nothing in it had to be looked at: each check gives the points it found.

    Cells without a verdict (those graded by hand) go on waiting.
    """
    lines = lines_of(result)
    if not lines:
        return result
    marks = tuple(
        replace(mark, points=mark.found) if mark.points is None and mark.report else mark
        for mark in result.marks
    )
    left = tuple(reason for reason in result.reasons if reason not in lines)
    text = result.notebook and _accepted(result.notebook, marks, lines)
    return replace(result, notebook=text, marks=marks, reasons=left)


def _accepted(text: str, marks: Sequence[Mark], lines: Sequence[str]) -> str:
    """A graded notebook without what says that it waits."""
    notebook = nbformat.reads(text, as_version=4)
    by_name = {mark.grade_id: mark.report for mark in marks if mark.report}
    if notebook.cells and notebook.cells[0].get("id") == NOTE:
        looked = "A person looked at this notebook: its points are what the checks found."
        notebook.cells[0] = note_for_person(lines, beginning=looked)
    for cell in notebook.cells:
        if report := by_name.get(grade_id_of(cell)):
            show_outcome(cell, report, waits=False)
    return str(JSONWriter().writes(notebook))
