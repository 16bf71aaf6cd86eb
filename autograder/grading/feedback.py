"""What nbgrader's own commands and pages need of ours: its feedback is our page, and formgrader runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbgrader
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests
from sqlalchemy import Connection

from autograder.grading.database import reading
from autograder.grading.feedback_page import STATIC, About, page_of
from autograder.grading.lesson_building import Converted, CoursePreprocessor
from autograder.grading.sanitising import course_of, lesson_of
from autograder.grading.scores import read_comments, read_scores, read_students

_FORMGRADER_MACROS = (
    Path(nbgrader.__file__).parent
    / "server_extensions/formgrader/templates/formgrade/formgrade_macros.html.j2"
)


class HideHiddenTests(CoursePreprocessor):
    """Takes the hidden tests, which autograding put back, out of what a learner gets to read."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        hide_hidden_tests(nb)
        return nb, resources


def hide_hidden_tests(nb: NotebookNode) -> None:
    """Leave nothing of a hidden test but that it ran, and the last line of its error."""
    for cell in nb.cells:
        if cell.cell_type == "code" and "BEGIN HIDDEN TESTS" in cell.source:
            for output in cell.outputs:
                if output.output_type == "error":  # a traceback quotes the lines it went through
                    output.traceback = [f"{output.ename}: {output.evalue}"]
    ClearHiddenTests(enforce_metadata=False).preprocess(nb, {})


def abouts(
    connection: Connection, lesson: str, student: str | None = None
) -> Iterator[tuple[str, About]]:
    """(notebook, what stands beside it) of everything in the gradebook for a lesson, by student."""
    names = {one.id: one.name for one in read_students(connection)}
    comments = read_comments(connection, lesson)
    for score in read_scores(connection, [lesson], student):
        said = {cell: words for cell, words, _ in comments.get(score.student, ())}
        for notebook in dict.fromkeys(one.notebook for one in score.cells):
            name = names.get(score.student, "")
            yield notebook, About(score.student, name, notebook, score, said)


class FeedbackPage(HideHiddenTests):
    """Makes our page of a notebook, for nbgrader's own commands."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        nb, resources = super().preprocess(nb, resources)
        names, course, lesson = resources["nbgrader"], course_of(self), lesson_of(self, resources)
        assert course is not None
        with reading(course) as connection:
            found = dict(abouts(connection, names["assignment"], names["student"]))
        texts = {cell.source for cell in lesson.cells} if lesson else set()
        names["page"] = page_of(nb, found[names["notebook"]], texts)
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
