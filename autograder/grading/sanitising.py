"""What a submitted notebook goes through before anybody looks at it or runs it.

Nothing about a cell but its text, and after execution its outputs, is taken from a submission.
Which cells are the lesson's, and what they are worth, is read from the lesson; the rest of what a
notebook can carry (metadata, attachments, raw cells, HTML in Markdown) is put right or made
harmless, so that the file nbgrader keeps is safe whatever opens it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat import NotebookNode

from autograder.grading.lesson_building import Converted, CoursePreprocessor
from autograder.grading.safe_text import PICTURES, as_typed, clean_html, is_plain
from autograder.learner.submitted_notebook import output_of

if TYPE_CHECKING:  # workers have nothing to do with nbgrader, and it takes long to import
    from nbgrader.coursedir import CourseDirectory


MOST_OUTPUTS = 100
LONGEST_TEXT = 100_000
LARGEST_PICTURE = 4_000_000
LONGEST_HTML = LARGEST_PICTURE + LONGEST_TEXT  # our figures are pictures within HTML

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def safe_outputs(outputs: list[Any]) -> list[NotebookNode]:
    """The outputs of one cell with nothing in them that could run, load or cover anything."""
    shown = [_safe_output(output) for output in outputs[:MOST_OUTPUTS]]
    if len(outputs) > MOST_OUTPUTS:
        left_out = f"[{len(outputs) - MOST_OUTPUTS} more outputs not shown]\n"
        shown.append(output_of("stream", name="stdout", text=left_out))
    return shown


def safe_pictures(attachments: Any) -> dict[str, dict[str, str]]:
    """The attachments of a cell that are ordinary pictures, by name."""
    kept: dict[str, dict[str, str]] = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        given = bundle.items() if isinstance(bundle, dict) else ()
        pictures = {kind: data for kind, data in given if _is_picture(kind, data)}
        if pictures:
            kept[name] = pictures
    return kept


def _safe_output(output: NotebookNode) -> NotebookNode:
    if output.output_type == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return output_of("stream", name=name, text=_shortened(output.get("text", "")))
    if output.output_type == "error":
        return output_of(
            "error",
            ename=_shortened(output.get("ename", "")),
            evalue=_shortened(output.get("evalue", "")),
            traceback=[_shortened(line) for line in output.get("traceback", [])[:1000]],
        )
    return output_of("display_data", data=_safe_data(output.get("data", {})))


def _safe_data(data: dict[str, Any]) -> dict[str, str]:
    """A display's representations that are safe; always one that can be shown."""
    safe: dict[str, str] = {}
    for kind, value in data.items():
        if kind == "text/plain":
            safe[kind] = _shortened(value)
        elif kind == "text/html":
            html = clean_html(_shortened(value, LONGEST_HTML))
            if html.strip():
                safe[kind] = html
        elif kind in ("text/markdown", "text/latex") and is_plain(text := _shortened(value)):
            # formulas are shown the way our pages show Markdown's
            safe.setdefault("text/markdown", text)
        elif _is_picture(kind, value):
            safe[kind] = value
    if "text/plain" not in safe:
        safe["text/plain"] = f"[output of kind {', '.join(sorted(map(str, data)))[:200]}]"
    return safe


def _is_picture(kind: str, data: Any) -> bool:
    return (
        kind in PICTURES
        and isinstance(data, str)
        and len(data) <= LARGEST_PICTURE
        and bool(_BASE64.fullmatch("".join(data.split())))
    )


def _shortened(text: Any, longest: int = LONGEST_TEXT) -> str:
    text = "".join(map(str, text)) if isinstance(text, list) else str(text)
    if len(text) <= longest:
        return text
    return text[:longest] + f"\n… {len(text) - longest} more characters not shown"


GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_MARKDOWN = 50_000  # characters of a Markdown cell; a longer one is shown as typed


class SanitisePage(CoursePreprocessor):
    """For a page about to be shown: no output, raw cell or metadata that could act."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        sanitise(nb)
        return nb, resources


def sanitise(notebook: NotebookNode, lesson_texts: Collection[str] | None = None) -> None:
    """Make a whole notebook safe to show: no output, metadata, raw text or attachment that could act.

    With ``lesson_texts`` also safe to keep: the lesson's own Markdown stays; what a learner wrote stays
    where it is plain, and is shown as typed where it holds HTML, script links or pictures from
    elsewhere.
    """
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = NotebookNode(language_info={"name": "python"}, kernelspec=kernel)
    for cell in notebook.cells:
        _sanitise(cell, lesson_texts)


def _sanitise(cell: NotebookNode, lesson_texts: Collection[str] | None) -> None:
    role = _safe_role(cell.metadata.get("nbgrader"))
    cell.metadata = nbformat.from_dict({"nbgrader": role} if role else {})
    if cell.cell_type == "code":
        cell.outputs = safe_outputs(cell.get("outputs", []))
        if not isinstance(cell.get("execution_count"), int):
            cell.execution_count = None
    elif cell.cell_type == "raw":
        cell.cell_type, cell.source = "markdown", as_typed(cell.source)
    pictures = safe_pictures(cell.pop("attachments", None))
    if pictures and cell.cell_type == "markdown":
        cell.attachments = pictures
    if lesson_texts is None or cell.cell_type != "markdown" or cell.source in lesson_texts:
        return
    if len(cell.source) > LONGEST_MARKDOWN or not is_plain(cell.source, cell.get("attachments")):
        cell.source = as_typed(cell.source)
        cell.pop("attachments", None)


def course_of(preprocessor: CoursePreprocessor) -> CourseDirectory | None:
    """The course folder of the nbgrader converter whose exporter runs this step."""
    converter = getattr(preprocessor.parent, "parent", None)
    return getattr(converter, "coursedir", None)


def _safe_role(given: Any) -> dict[str, Any] | None:
    """nbgrader's metadata with values of the right kind only: its pages write them unescaped."""
    grade_id = given.get("grade_id") if isinstance(given, dict) else None
    if not isinstance(grade_id, str) or not GRADE_ID.fullmatch(grade_id):
        return None
    role: dict[str, Any] = {
        name: given.get(name) is True for name in ("grade", "solution", "locked", "task")
    }
    role |= {"grade_id": grade_id, "schema_version": 3}
    points = given.get("points")
    if isinstance(points, int | float) and math.isfinite(points):
        role["points"] = points
    for name in ("checksum", "cell_type"):
        if re.fullmatch(r"\w{1,64}", str(given.get(name, ""))):
            role[name] = given[name]
    return role
