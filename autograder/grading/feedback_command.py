"""`autograder feedback`: the pages that learners get, written where they are missing or out of date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from autograder.grading.course import CannotWrite, open_gradebook
from autograder.grading.feedback_pages import Page, outdated, pages, write_pages
from autograder.grading.grade_command import add_course_options, course_of
from autograder.grading.handed_in import lessons_handed_in, printable
from autograder.grading.lesson import NoLesson
from autograder.grading.scores import read_lessons
from autograder.grading.standing import CHANGED, UNGRADED, standings
from autograder.grading.troubles import database_trouble

EXIT_DONE, EXIT_FAILED = 0, 1


def add_feedback(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = commands.add_parser(
        "feedback", help="write the feedback pages that are missing or out of date",
        description="Write feedback/STUDENT/LESSON/LESSON.html where it is missing, or says something "
        "else than the gradebook and the graded notebook do by now.",
    )  # fmt: skip
    parser.add_argument("lesson", nargs="*", help="lessons; without one, all that are graded")
    parser.add_argument("--student", metavar="ID", help="only this student's pages")
    parser.add_argument("--all", action="store_true", help="also pages that are up to date")
    add_course_options(parser)
    parser.set_defaults(run=run_feedback)


def run_feedback(options: argparse.Namespace) -> int:
    """Write pages, and say how many; 0 only if every page could be written."""
    try:
        course = course_of(options)
        with closing(open_gradebook(course)) as gradebook:
            return _write(course, gradebook.engine, options)
    except DBAPIError as error:
        print(f"autograder: {database_trouble(error, course.db_url)}", file=sys.stderr)
    except (CannotWrite, NoLesson) as error:
        print(f"autograder: {error}", file=sys.stderr)
    except OSError as error:
        print(f"autograder: {error.filename}: {error.strerror}", file=sys.stderr)
    return EXIT_FAILED


def _write(course: CourseDirectory, engine: Engine, options: argparse.Namespace) -> int:
    with engine.connect() as connection:
        lessons = _lessons(connection, options.lesson)
        found = [
            page for name in lessons for page in pages(course, connection, name, options.student)
        ]
        if options.student and not found:
            raise NoLesson(f"Nothing of {options.student}'s is graded in these lessons.")
        wanted = found if options.all else outdated(connection, found)
        left = _to_grade(course, connection, lessons, options.student)
    show = _Progress(len(wanted))
    failed = write_pages(course, engine, wanted, show)
    show.end()
    print(in_words(len(wanted) - len(failed), len(found) - len(wanted)))
    if left:
        print(_to_be_graded(left), file=sys.stderr)
    for page, why in failed:
        print(
            printable(f"autograder: no page for {page.student}, {page.lesson}: {why}"),
            file=sys.stderr,
        )
    return EXIT_FAILED if failed else EXIT_DONE


def _lessons(connection: Connection, named: Sequence[str]) -> list[str]:
    known = [lesson.name for lesson in read_lessons(connection)]
    for name in named:
        if name not in known:
            raise NoLesson(
                f"The gradebook does not know {name!r}. It knows: {', '.join(known) or 'no lesson'}."
            )
    return list(dict.fromkeys(named)) or known


def _to_grade(
    course: CourseDirectory, connection: Connection, lessons: Sequence[str], student: str | None
) -> int:
    """How many submissions of these lessons are still to be graded, or have changed since."""
    there = [name for name in lessons_handed_in(course) if name in lessons]
    return sum(
        one.state in (CHANGED, UNGRADED) and student in (None, one.student)
        for one in (standings(course, connection, there) if there else ())
    )


def in_words(written: int, kept: int) -> str:
    """What it says at its end."""
    if not written and not kept:
        return "No page was written: nothing is graded yet."
    pages_written = "1 page was written" if written == 1 else f"{written} pages were written"
    return f"{pages_written}, {kept} {'was' if kept == 1 else 'were'} up to date."


def _to_be_graded(count: int) -> str:
    are = "1 submission is" if count == 1 else f"{count} submissions are"
    return f"{are} still to be graded: run `autograder grade`, then this again."


class _Progress:
    """How far it is, in a terminal; a page takes a part of a second."""

    def __init__(self, total: int):
        self._total, self._begun = total, 0
        self._shown = sys.stderr.isatty() and total > 1

    def __call__(self, page: Page) -> None:
        self._begun += 1
        if self._shown:
            print(f"\r\x1b[K{self._begun}/{self._total}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The line is empty again."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
