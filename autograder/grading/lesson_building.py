"""What nbgrader's converters do on top of their own steps when the course is built.

OfferStart and KeepNoEmptyCell serve generate_assignment (course/), StripMarkers
and TidyOutputs serve generate_solution (solutions/). In a repair exercise (tagged
"repair") a learner finds a broken version in place of the usual stub; in the lesson it stands,
commented out, beside each solution:

    ### BEGIN SOLUTION
    ctx.save_for_backward(x)
    ### END SOLUTION
    ### BEGIN START
    # ctx.save_for_backward(torch.exp(x))
    ### END START
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from nbconvert.preprocessors import CoalesceStreamsPreprocessor as JoinPrinted
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Bool

Converted = tuple[NotebookNode, Any]


class CoursePreprocessor(Preprocessor):
    """A step nbgrader's converters take a notebook through; on unless it is switched off."""

    enabled = Bool(True, help="Whether nbgrader takes this step").tag(config=True)


# A line that holds one of these is a marker to nbgrader, so it is one here.
MARKER = re.compile(r"(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS|MARK SCHEME)")
# What GitHub, nbconvert and an untrusted notebook can show.
SHOWN = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")


class KeepNoEmptyCell(CoursePreprocessor):
    """Refuses to release an empty box where hidden tests were: a learner would wonder about it."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        if cell.cell_type == "code" and not cell.source.strip():
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", f"number {index}")
            raise ValueError(
                f"Cell {grade_id!r} is empty once its hidden tests are taken out. Write a comment "
                "above BEGIN HIDDEN TESTS that says what runs here."
            )
        return cell, resources


class StripMarkers(CoursePreprocessor):
    """Takes broken versions and instructors' BEGIN and END lines out of solutions."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        cell.source = solution_in(cell.source)
        return cell, resources


def without_markers(source: str) -> str:
    """A cell's text without its BEGIN and END lines."""
    return "\n".join(line for line in source.split("\n") if not MARKER.search(line))


class TidyOutputs(CoursePreprocessor):
    """Keeps of outputs what any viewer can show, once, and nothing of the machine they come from.

    What a cell printed is one output, however many pieces it happened to arrive in.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        nb, resources = super().preprocess(nb, resources)
        nb.metadata.pop("widgets", None)
        nb.metadata.language_info = {"name": "python"}
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell, resources = JoinPrinted(enabled=True).preprocess_cell(cell, resources, index)
            cell.outputs = [tidied for output in cell.outputs if (tidied := _tidy(output))]
        return cell, resources


def _tidy(output: NotebookNode) -> NotebookNode | None:
    """The output without what few viewers show and without paths and addresses; None if empty."""
    if output.output_type == "stream":
        output.text = _anonymous(output.text)
    elif output.output_type == "error":
        output.evalue = _anonymous(output.evalue)
        output.traceback = [_anonymous(line) for line in output.traceback]
    else:
        output.data = NotebookNode(
            {kind: output.data[kind] for kind in SHOWN if kind in output.data}
        )
        for kind in output.data:
            if kind.startswith("text/"):
                output.data[kind] = _anonymous(output.data[kind])
        if _shown_twice(output.data):
            del output.data["image/png"]
            output.metadata.pop("image/png", None)
        if not output.data:
            return None
    return output


def _shown_twice(data: NotebookNode) -> bool:
    """Whether the HTML holds the very picture that also stands beside it.

    Whoever can show HTML takes that (GitHub, nbconvert and JupyterLab do), for it has the
    alternative text; a second copy would double the size of every solution.
    """
    picture = data.get("image/png", "").strip()
    return picture != "" and f"data:image/png;base64,{picture}" in data.get("text/html", "")


def _anonymous(text: str) -> str:
    """Text without this machine's folders, process numbers and memory addresses."""
    text = re.sub(r"(?:/[\w.-]+)*/ipykernel_\d+/\d+\.py", "this-notebook.py", text)
    for folder in (Path(sys.prefix), Path.cwd(), Path.home()):
        text = text.replace(str(folder) + os.sep, "…" + os.sep)
    return re.sub(r"0x[0-9a-f]{8,16}\b", "0x…", text)


REPAIR_TAG = "repair"
_START = re.compile(
    r"^[ \t]*### BEGIN START\n(.*?)^[ \t]*### END START[ \t]*(?:\n|\Z)", re.M | re.S
)
# What nbgrader's ClearSolutions leaves where a solution was.
_STUB = re.compile(r"^[ \t]*# YOUR CODE HERE\n[ \t]*raise NotImplementedError\(\)[ \t]*\n", re.M)


def solution_in(source: str) -> str:
    """What a learner would type to have the lesson's own solution, from its source."""
    return without_markers(_START.sub("", source + "\n")).strip()


class OfferStart(CoursePreprocessor):
    """Puts the broken version where the solution was; ValueError for a repair cell without one."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        if cell.cell_type == "code" and REPAIR_TAG in cell.metadata.get("tags", []):
            if not _START.search(cell.source):
                grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", f"number {index}")
                raise ValueError(
                    f"Cell {grade_id!r} is tagged {REPAIR_TAG!r}, but has no lines between "
                    "### BEGIN START and ### END START for the learner to repair."
                )
            source = _STUB.sub("", cell.source + "\n")
            cell.source = _START.sub(lambda found: _uncommented(found[1]), source).rstrip("\n")
        return cell, resources


def _uncommented(lines: str) -> str:
    return re.sub(r"^([ \t]*)# ?", r"\1", lines, flags=re.M)
