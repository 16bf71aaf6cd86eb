"""The released cell of a repair exercise: a broken version in place of the usual stub.

In a lesson such a cell is tagged "repair". Beside each solution stands, commented out, what a
learner finds there instead:

    ### BEGIN SOLUTION
    ctx.save_for_backward(x)
    ### END SOLUTION
    ### BEGIN START
    # ctx.save_for_backward(torch.exp(x))
    ### END START

OfferStart serves generate_assignment, after ClearSolutions; DropStart serves generate_solution.
"""

from __future__ import annotations

import re
from typing import Any

from nbformat import NotebookNode

from autograder.grading.preprocessor import Converted, CoursePreprocessor

REPAIR_TAG = "repair"
_START = re.compile(
    r"^[ \t]*### BEGIN START\n(.*?)^[ \t]*### END START[ \t]*(?:\n|\Z)", re.M | re.S
)
# What nbgrader's ClearSolutions leaves where a solution was.
_STUB = re.compile(r"^[ \t]*# YOUR CODE HERE\n[ \t]*raise NotImplementedError\(\)[ \t]*\n", re.M)


class OfferStart(CoursePreprocessor):
    """Puts the broken version where the solution was; ValueError for a repair cell without one."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        if _is_repair(cell):
            if not _START.search(cell.source):
                grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", f"number {index}")
                raise ValueError(
                    f"Cell {grade_id!r} is tagged {REPAIR_TAG!r}, but has no lines between "
                    "### BEGIN START and ### END START for the learner to repair."
                )
            source = _STUB.sub("", cell.source + "\n")
            cell.source = _START.sub(lambda found: _uncommented(found[1]), source).rstrip("\n")
        return cell, resources


class DropStart(CoursePreprocessor):
    """Leaves the broken version out of solutions."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        if _is_repair(cell):
            cell.source = _START.sub("", cell.source + "\n").rstrip("\n")
        return cell, resources


def _is_repair(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and REPAIR_TAG in cell.metadata.get("tags", [])


def _uncommented(lines: str) -> str:
    return re.sub(r"^([ \t]*)# ?", r"\1", lines, flags=re.M)
