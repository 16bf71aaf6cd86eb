"""`autograder feedback`: the pages that learners get, written where they are missing or out of date.

Each page carries a digest of all that it was made of: the graded notebook, and the student's scores,
comments and penalty. The digest is taken before the page is made, so whatever changes meanwhile makes
the page one that is written again next time.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import nbformat
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.class_overview import standings
from autograder.grading.class_words import to_be_graded
from autograder.grading.course import folder_of
from autograder.grading.database import reading
from autograder.grading.feedback import abouts, hide_hidden_tests
from autograder.grading.feedback_page import About, page_of
from autograder.grading.handed_in import lessons_handed_in
from autograder.grading.kept_files import replace_file, share
from autograder.grading.limits import in_processes
from autograder.grading.scores import read_lessons
from autograder.grading.words import counted, printable
from autograder.learner.lesson import NoLesson

EXIT_DONE, EXIT_FAILED = 0, 1
FORMAT = 2  # of what is in a digest
_META = re.compile(rb'<meta name="autograder-feedback" content="([0-9a-f]{64})"')
_BEGINNING = "<head>\n"
_HEAD, _TAIL = 4096, 256  # bytes of a page in which its digest and its end stand


@dataclass(frozen=True)
class Page:
    """One student's page on one notebook.

    graded   the notebook that grading left
    path     where the page is, or will be
    source   the lesson's own notebook
    """

    about: About
    graded: Path
    path: Path
    source: Path

    @property
    def is_up_to_date(self) -> bool:
        """Whether the page is there, whole, and made of what is there now."""
        try:
            with self.path.open("rb") as file:
                head = file.read(_HEAD)
                file.seek(max(0, self.path.stat().st_size - _TAIL))
                whole = file.read().rstrip().endswith(b"</html>")
            found = _META.search(head)
            return whole and found is not None and found[1].decode() == self.digest()
        except OSError:
            return False

    def digest(self) -> str:
        """A hash of all that the page is made of. Raises OSError where there is no graded notebook."""
        made_of = f"{FORMAT} {self.about!r}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(made_of + self.graded.read_bytes()).hexdigest()

    def html(self) -> str:
        """The page."""
        digest = self.digest()
        notebook = nbformat.read(self.graded, as_version=4)
        hide_hidden_tests(notebook)
        meta = f'<meta name="autograder-feedback" content="{digest}" />\n'
        html = page_of(notebook, self.about, _texts(self.source))
        return html.replace(_BEGINNING, _BEGINNING + meta, 1)


@lru_cache(8)
def _texts(source: Path) -> frozenset[str]:
    """What stands in the lesson's cells; nothing where its source is not there."""
    cells = nbformat.read(source, as_version=4).cells if source.is_file() else []
    return frozenset(cell.source for cell in cells)


def run_feedback(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Write pages, and say how many; 0 only if every page could be written."""
    with reading(course) as connection:
        lessons = _lessons(connection, options.lesson)
        found = [
            page for name in lessons for page in pages(course, connection, name, options.student)
        ]
        if options.student and not found:
            raise NoLesson(f"Nothing of {options.student}'s is graded in these lessons.")
        there = [name for name in lessons_handed_in(course) if name in lessons]
        handed_in = standings(course, connection, there, options.student) if there else ()
        left = sum(one.is_to_grade for one in handed_in)
    wanted = [page for page in found if options.all or not page.is_up_to_date]
    failed = write_pages(course, wanted, options.jobs)
    written, kept = len(wanted) - len(failed), len(found) - len(wanted)
    if not found:
        print("No page was written: nothing is graded yet.")
    else:
        were = counted(written, "page was", "pages were")
        print(f"{were} written, {kept} {'was' if kept == 1 else 'were'} up to date.")
    if left:
        print(to_be_graded(left), file=sys.stderr)
    for page, why in failed:
        words = f"autograder: no page for {page.about.student}, {page.about.score.lesson}: {why}"
        print(printable(words), file=sys.stderr)
    return EXIT_FAILED if failed else EXIT_DONE


def _lessons(connection: Connection, named: Sequence[str]) -> list[str]:
    known = [lesson.name for lesson in read_lessons(connection)]
    for name in named:
        if name not in known:
            raise NoLesson(
                f"The gradebook does not know {name!r}. It knows: {', '.join(known) or 'no lesson'}."
            )
    return list(dict.fromkeys(named)) or known


def pages(
    course: CourseDirectory, connection: Connection, lesson: str, student: str | None = None
) -> Iterator[Page]:
    """The pages that there can be for a lesson, by student: those of graded notebooks."""
    for notebook, about in abouts(connection, lesson, student):
        try:
            graded, shown = (
                folder_of(course, step, about.student, lesson)
                for step in (course.autograded_directory, course.feedback_directory)
            )
        except ValueError:  # no folder can have this name, so nothing was handed in under it
            continue
        source = Path(course.format_path(course.source_directory, ".", lesson))
        if (graded / f"{notebook}.ipynb").is_file():
            file = f"{notebook}.ipynb"
            yield Page(about, graded / file, shown / f"{notebook}.html", source / file)


def write_pages(
    course: CourseDirectory, wanted: Sequence[Page], jobs: int
) -> list[tuple[Page, str]]:
    """Write pages, several at a time; gives those that could not be, and why."""
    mode = 0o664 if course.groupshared else 0o644
    failed: list[tuple[Page, str]] = []
    terminal = sys.stderr.isatty() and len(wanted) > 1
    for number, (page, made) in enumerate(in_processes(_made, wanted, jobs), 1):
        if terminal:
            print(f"\r\x1b[K{number}/{len(wanted)}", end="", file=sys.stderr, flush=True)
        if isinstance(made, str):
            failed.append((page, made))
            continue
        page.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(page.path, made[0], mode)
        if (page.graded.parent / "timestamp.txt").is_file():  # what nbgrader compares
            when = (page.graded.parent / "timestamp.txt").read_bytes()
            replace_file(page.path.with_name("timestamp.txt"), when, mode)
        share(page.path.parent, course)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return failed


def _made(page: Page) -> tuple[bytes]:
    return (page.html().encode("utf-8", "replace"),)
