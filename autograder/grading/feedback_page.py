"""The page a learner reads, in place of nbgrader's own: their answers and what was found first, the lesson folded.

It can be read with a keyboard, a screen reader and on a phone, loads nothing and runs nothing. Everything
that a notebook holds is made harmless once more before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup, escape
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.grading.safe_text import PICTURES, safe_html
from autograder.grading.sanitising import sanitise
from autograder.grading.scores import CellScore, Score
from autograder.grading.words import filled
from autograder.learner.lesson import grade_id_of

STATIC = Path(__file__).parent.parent / "reporting" / "static"
_CHECK = re.compile(r"\bcheck\((\w+)(, {0,9}hidden=True)?\)")
_HEADLINE = re.compile(r"([✓✗○]) \w{1,80}: (.*)")  # of a report as text
_STATES = {"✓": "Passed", "✗": "Not yet", "○": "Not started"}
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,30}[A-Za-z]")
_HTML_CACHE = 4096  # cells of the lesson are the same in every notebook
_FORMATTER = HtmlFormatter(cssclass="highlight")


@dataclass(frozen=True)
class Page:
    """One student's page on one notebook: what stands on it beside that, and where all of it is.

    name      the student's; "" where only the id is known
    comments  by cell: what people (or nbgrader) say to it
    graded    the notebook that grading left
    path      where the page is, or will be
    source    the lesson's own notebook: whatever is in no cell of it is the learner's
    """

    name: str
    notebook: str
    score: Score
    comments: dict[str, str]
    graded: Path
    path: Path
    source: Path

    @property
    def cells(self) -> dict[str, CellScore]:
        """The graded cells of this notebook, by name."""
        return {one.name: one for one in self.score.cells if one.notebook == self.notebook}

    @property
    def penalty(self) -> float:
        return self.score.penalty if self.notebook == self.score.lesson else 0.0


def page_of(notebook: NotebookNode, about: Page, digest: str = "") -> str:
    """The whole page.

    notebook  as grading left it; its hidden tests are taken out
    digest    of what the page is made of: it says so of itself
    """
    hide_hidden_tests(notebook)
    sanitise(notebook)
    lesson_texts = _texts(about.source)
    cells = [_shown(cell, about, lesson_texts) for cell in notebook.cells]
    most = sum(one.max_points for one in about.cells.values())
    given = sum(one.points for one in about.cells.values()) - about.penalty
    return filled(
        "feedback.html.j2", pictures=PICTURES, plain=_plain, digest=digest, about=about,
        total=given, most=most, style=Markup(_style()), cells=cells,
    )  # fmt: skip


def hide_hidden_tests(notebook: NotebookNode) -> None:
    """Leave nothing of a hidden test but that it ran, and the last line of its error."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "BEGIN HIDDEN TESTS" in cell.source:
            for output in cell.outputs:
                if output.output_type == "error":  # a traceback quotes the lines it went through
                    output.traceback = [f"{output.ename}: {output.evalue}"]
    ClearHiddenTests(enforce_metadata=False).preprocess(notebook, {})


@lru_cache(8)
def _texts(source: Path) -> frozenset[str]:
    """What stands in the lesson's cells; nothing where its source is not there."""
    cells = nbformat.read(source, as_version=4).cells if source.is_file() else []
    return frozenset(cell.source for cell in cells)


def _shown(cell: NotebookNode, about: Page, lesson_texts: Collection[str]) -> dict[str, Any]:
    """A cell as the page has it: whether it has points or is the learner's own, and what its report says."""
    name, role = grade_id_of(cell), cell.metadata.get("nbgrader") or {}
    grade, is_code = about.cells.get(name), cell.cell_type == "code"
    marked = grade is not None or bool(role.get("solution") or role.get("task"))
    outputs = cell.get("outputs", []) if is_code else []
    found = _found_in(outputs) if grade else ""
    if found:  # an error that only repeats the report above it
        outputs = [one for one in outputs if one.get("ename") != "CheckFailed"]
    if is_code:
        body = _code(cell.source)
    elif pictures := cell.get("attachments"):
        body = Markup(safe_html(cell.source, pictures))
    else:
        body = _text(cell.source)
    return {
        "name": name, "role": role, "grade": grade, "marked": marked, "found": found, "body": body,
        "own": marked or cell.source not in lesson_texts, "outputs": outputs,
        "check": _CHECK.search(cell.source[:1000]),
        "comment": _text(about.comments.get(name, "") if marked else ""),
    }  # fmt: skip


def _found_in(outputs: list[Any]) -> str:
    """What the report in a cell's outputs says, in a sentence; "" where there is none."""
    for output in outputs:
        data = output.get("data", {})
        if "bbh-report" in str(data.get("text/html", "")):
            line = str(data.get("text/plain", "")).strip().split("\n")[0]
            found = _HEADLINE.fullmatch(line)
            if found is None:
                return line
            state = f"{found[1]} {_STATES[found[1]]}"
            return state if found[1] == "✓" else f"{state}: {found[2]}"
    return ""


@lru_cache(_HTML_CACHE)
def _code(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(), _FORMATTER))


@lru_cache(_HTML_CACHE)
def _text(source: str) -> Markup:
    return Markup(safe_html(source))


@cache
def _style() -> str:
    """The page's style sheet: ours, the reports', and colours for code by day and by night."""
    ours = [(STATIC / name).read_text(encoding="utf-8") for name in ("report.css", "feedback.css")]
    night = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    day = HtmlFormatter(style="default").get_style_defs(".highlight")
    return "\n".join([*ours, day, f"@media (prefers-color-scheme:dark){{{night}}}"])


def _plain(text: str) -> Markup:
    """What a cell printed, without colours."""
    return escape(_COLOUR.sub("", text))
