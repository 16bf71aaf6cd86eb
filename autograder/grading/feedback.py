"""What feedback pages and formgrader's pages need beyond nbgrader's own templates."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import nbgrader
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearHiddenTests

from autograder.grading.preprocessor import Converted, CoursePreprocessor

_REPORT_CSS = Path(__file__).parent.parent / "static" / "report.css"
_FEEDBACK_CSS = _REPORT_CSS.with_name("feedback.css")
_CHECK = re.compile(r"\bcheck\((\w+)(, *hidden=True)?\)")
_FORMGRADER_MACROS = (
    Path(nbgrader.__file__).parent
    / "server_extensions/formgrader/templates/formgrade/formgrade_macros.html.j2"
)


WAITS = "A person looks at this before it gets its points."
BY_PERSON = "A person gave these points."


class HideHiddenTests(CoursePreprocessor):
    """Takes the hidden tests, which autograding put back, out of what a learner gets to read."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        hidden = {id(cell) for cell in nb.cells if "BEGIN HIDDEN TESTS" in cell.source}
        for cell in nb.cells:
            if id(cell) in hidden and cell.cell_type == "code":
                cell.outputs = [_without_source(output) for output in cell.outputs]
        return ClearHiddenTests(enforce_metadata=False).preprocess(nb, resources)


def _without_source(output: NotebookNode) -> NotebookNode:
    """An error with its last line only: a traceback quotes the lines it went through."""
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]
    return output


class Overview(CoursePreprocessor):
    """For the table above the notebook: each graded cell's points, and what was found in a sentence.

    An error that only repeats the report above it is left out. Comes after nbgrader's GetGrades.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        grades = _grades(resources)
        rows = []
        for cell in nb.cells:
            role = cell.metadata.get("nbgrader", {})
            if not (role.get("grade") or role.get("task")):
                continue
            said = _report(cell) if cell.cell_type == "code" else ""
            if said:
                cell.outputs = [one for one in cell.outputs if one.get("ename") != "CheckFailed"]
            waits, by_person = grades.get(role.grade_id, (False, False))
            rows.append(
                {
                    "anchor": role.grade_id,
                    "name": _name(cell),
                    "score": role.get("score") or 0.0,
                    "points": role.get("points") or 0.0,
                    "waits": waits,
                    "said": WAITS if waits else BY_PERSON if by_person else said,
                    "comment": role.get("comment"),
                }
            )
        resources["nbgrader"]["overview"] = rows
        resources["nbgrader"]["check_names"] = {row["anchor"]: row["name"] for row in rows}
        return nb, resources


def _grades(resources: Any) -> dict[str, tuple[bool, bool]]:
    """By grade_id: whether the cell waits for a person, and whether a person gave its points."""
    names = resources["nbgrader"]
    with Gradebook(names["db_url"]) as gradebook:
        found = gradebook.find_submission_notebook(
            names["notebook"], names["assignment"], names["student"]
        )
        return {
            grade.name: (bool(grade.needs_manual_grade), grade.manual_score is not None)
            for grade in found.grades
        }


def _report(cell: NotebookNode) -> str:
    """What the report in a cell's outputs says, in a sentence; "" where there is none."""
    for output in cell.outputs:
        page = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
        headline = page.select_one(".bbh-headline")
        if headline is None:
            continue
        state = " ".join(one.get_text() for one in headline.select(".bbh-mark, .bbh-state"))
        if page.select_one(".bbh-passed"):
            return state
        for one in headline.select(".bbh-mark, .bbh-state"):
            one.extract()
        said = " ".join(headline.get_text().split())
        return f"{state}: {re.sub(r'^[A-Za-z_]+: ', '', said)}"
    return ""


def _name(cell: NotebookNode) -> str:
    """What a graded cell is called in the overview."""
    found = _CHECK.search(cell.source)
    if found is None:
        return str(cell.metadata.nbgrader.grade_id)
    return f"{found[1]}, {'complete' if found[2] else 'visible'} check"


def report_css(_: str = "") -> str:
    """The style sheet of our reports: sanitising takes the one out that a report brings along."""
    return _REPORT_CSS.read_text(encoding="utf-8") if _REPORT_CSS.exists() else ""


def feedback_css(_: str = "") -> str:
    """The style sheet of feedback pages."""
    return _FEEDBACK_CSS.read_text(encoding="utf-8")


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
