"""`autograder feedback`, and what nbgrader's own commands and pages need of ours.

The pages that learners get are written where they are missing or out of date. Each carries a digest of
all that it was made of: the graded notebook, and the student's scores, comments and penalty. The digest
is taken before the page is made, so whatever changes meanwhile makes the page one that is written again
next time.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
import nbgrader
from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.batch import made_of
from autograder.grading.course import folder_of
from autograder.grading.database import reading
from autograder.grading.feedback_page import STATIC, Page, page_of
from autograder.grading.kept_files import OF_EXCHANGE, replace_file, share
from autograder.grading.lesson_building import Converted, CoursePreprocessor
from autograder.grading.processes import bounded, local_pool
from autograder.grading.progress_bar import progress
from autograder.grading.sanitising import course_of
from autograder.grading.scores import read_comments, read_lessons, read_scores, read_students
from autograder.grading.words import counted, printable
from autograder.learner.lesson import NoLesson

_FORMGRADER_MACROS = (
    Path(nbgrader.__file__).parent
    / "server_extensions/formgrader/templates/formgrade/formgrade_macros.html.j2"
)


class FeedbackPage(CoursePreprocessor):
    """Makes our page of a notebook, for nbgrader's own commands."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        names, course = resources["nbgrader"], course_of(self)
        assert course is not None
        with reading(course) as connection:
            found = list(pages(course, connection, names["assignment"], names["student"]))
        (page,) = (one for one in found if one.notebook == names["notebook"])
        names["page"] = page_of(nb, page)
        return nb, resources


def report_css(_: str = "") -> str:
    """The style sheet of our reports: sanitising takes the one out that a report brings along."""
    return (STATIC / "report.css").read_text(encoding="utf-8")


def formgrader_scripts(_: str = "") -> str:
    """The hashes of the scripts formgrader writes into its page, for a content security policy.

    With them the page's own scripts run, and a script that got in with a submission does not.
    """
    template = _FORMGRADER_MACROS.read_text(encoding="utf-8")
    navigation = template.partition("{% macro nav(")[2]
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", navigation, re.S)
    handlers = re.findall(r'onclick="([^"]*)"', navigation)
    digests = (hashlib.sha256(code.encode()).digest() for code in dict.fromkeys(scripts + handlers))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


FORMAT = 2  # of what is in a digest
_META = re.compile(rb'<meta name="autograder-feedback" content="([0-9a-f]{64})"')
_HEAD = 4096  # bytes of a page in which its digest stands


def is_up_to_date(page: Page) -> bool:
    """Whether a page is there, and made of what is there now."""
    try:
        with page.path.open("rb") as file:
            found = _META.search(file.read(_HEAD))
        return found is not None and found[1].decode() == digest_of(page)
    except OSError:
        return False


def digest_of(page: Page) -> str:
    """A hash of all that a page is made of. Raises OSError where there is no graded notebook."""
    made_of = f"{FORMAT} {(page.name, page.notebook, page.score, page.comments)!r}"
    data = made_of.encode("utf-8", "surrogatepass") + page.graded.read_bytes()
    return hashlib.sha256(data).hexdigest()


def run_feedback(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Write pages, and say how many; 0 only if every page could be written."""
    with reading(course) as connection:
        found = [
            page
            for lesson in read_lessons(connection, options.lesson)
            for page in pages(course, connection, lesson.name, options.student)
            if page.graded.is_file()
        ]
        if options.student and not found:
            raise NoLesson(f"Nothing of {options.student}'s is graded in these lessons.")
    wanted = [page for page in found if options.all or not is_up_to_date(page)]
    failed = write_pages(course, wanted, options.jobs)
    written, kept = len(wanted) - len(failed), len(found) - len(wanted)
    if not found:
        print("No page was written: nothing is graded yet.")
    else:
        were = counted(written, "page was", "pages were")
        print(f"{were} written, {kept} {'was' if kept == 1 else 'were'} up to date.")
    for page, why in failed:
        words = f"autograder: no page for {page.score.student}, {page.score.lesson}: {why}"
        print(printable(words), file=sys.stderr)
    return int(bool(failed))


def pages(
    course: CourseDirectory, connection: Connection, lesson: str, student: str | None = None
) -> Iterator[Page]:
    """The pages that there can be of everything in the gradebook for a lesson, by student."""
    names = {one.id: one.name for one in read_students(connection)}
    comments = read_comments(connection, lesson)
    source = Path(course.format_path(course.source_directory, ".", lesson))
    steps = course.autograded_directory, course.feedback_directory
    for score in read_scores(connection, [lesson], student):
        said = {cell: words for cell, words, _ in comments.get(score.student, ())}
        try:
            graded, shown = (folder_of(course, step, score.student, lesson) for step in steps)
        except ValueError:  # no folder can have this name, so nothing was handed in under it
            continue
        for notebook in dict.fromkeys(one.notebook for one in score.cells):
            file = f"{notebook}.ipynb"
            yield Page(
                names.get(score.student, ""), notebook, score, said, graded / file,
                shown / f"{notebook}.html", source / file,
            )  # fmt: skip


def write_pages(
    course: CourseDirectory, wanted: Sequence[Page], jobs: int
) -> list[tuple[Page, str]]:
    """Write pages, several at a time; gives those that could not be, and why."""
    mode = 0o664 if course.groupshared else 0o644
    failed: list[tuple[Page, str]] = []
    done = made_of(_made, wanted, lambda page: (page,), lambda n: local_pool(min(jobs, n)))
    with progress(len(wanted), hidden=not sys.stderr.isatty()) as one_more:
        for page, _, made in done:
            one_more()
            if isinstance(made, str):
                failed.append((page, made))
                continue
            page.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(page.path, made, mode)
            for name in OF_EXCHANGE:
                if (page.graded.parent / name).is_file():
                    own = (page.graded.parent / name).read_bytes()
                    replace_file(page.path.with_name(name), own, mode)
            share(page.path.parent, course)
    return failed


def _made(page: Page) -> bytes:
    with bounded():
        digest = digest_of(page)  # before it is made: what changes meanwhile makes it out of date
        html = page_of(nbformat.read(page.graded, as_version=4), page, digest)
        return html.encode("utf-8", "replace")
