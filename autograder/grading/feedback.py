"""What feedback pages and formgrader's pages need beyond nbgrader's own templates."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import nbgrader
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests

from autograder.grading.preprocessor import Converted, CoursePreprocessor

_REPORT_CSS = Path(__file__).parent.parent / "static" / "report.css"
_FORMGRADER_MACROS = (
    Path(nbgrader.__file__).parent
    / "server_extensions/formgrader/templates/formgrade/formgrade_macros.html.j2"
)


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


def report_css(_: str = "") -> str:
    """The style sheet of our reports: sanitising takes the one out that a report brings along."""
    return _REPORT_CSS.read_text(encoding="utf-8") if _REPORT_CSS.exists() else ""


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
