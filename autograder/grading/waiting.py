"""What waits for a person: why, what its notebook says of it, and what it gets once it was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbformat.v4.nbjson import JSONWriter

from autograder.grading.marking import NOT_GRADED, Mark, Result, failed_check, show_that_it_waits
from autograder.grading.policy.concerns import names_a_line
from autograder.grading.safe_text import said_as_markdown
from autograder.grading.sanitising import sanitise
from autograder.learner.lesson import grade_id_of, roles_of

NOTE = "autograder-note"  # the id of the cell that says why a notebook waits


def note_for_person(
    reasons: Sequence[str], part: Sequence[str] = (), beginning: str = ""
) -> NotebookNode:
    """A cell for the top of a notebook that waits for a person; ``part``: the exercises, if not all."""
    what = ", ".join(part) or "this notebook"
    rest = "; the other exercises have theirs" if part else ""
    beginning = beginning or f"A person looks at {what} before it gets points{rest}."
    words = "\n".join(f"- {said_as_markdown(reason)}" for reason in reasons)
    return new_markdown_cell(f"**{beginning}**\n\n{words}", id=NOTE)


def not_read(source: Path, reasons: Sequence[str]) -> str:
    """A notebook for formgrader where what was handed in could not be read: a person gives points.

    It says why, and has the lesson's graded cells. Each holds an error: whatever reads scores off
    outputs finds none.
    """
    why = reasons or ("What was handed in is no notebook that can be read.",)
    notebook = nbformat.read(source, as_version=4)
    roles = roles_of(notebook)
    graded = [
        cell for cell in notebook.cells
        if (role := roles.get(grade_id_of(cell))) and (role.get("grade") or role.get("task"))
    ]  # fmt: skip
    for cell in graded:
        if cell.cell_type == "code":
            show_that_it_waits(cell)
    beginning = "This submission could not be graded automatically"
    notebook.cells = [note_for_person(why, beginning=beginning), *graded]
    sanitise(notebook)
    return str(JSONWriter().writes(notebook))


def lines_of(result: Result) -> tuple[str, ...]:
    """The lines that a person has to look at; none where it waits for another reason, or not at all."""
    return tuple(reason for reason in result.reasons if names_a_line(reason))


def was_read(result: Result) -> bool:
    """Whether there is a verdict on anything: not of a missing or an unreadable notebook."""
    return any(mark.report for mark in result.marks)


def with_verdicts(result: Result) -> Result:
    """The result as if nothing in it had to be looked at: each check gives the points it found.

    Cells without a verdict (those graded by hand) go on waiting.
    """
    lines = lines_of(result)
    if not lines:
        return result
    marks = tuple(
        replace(mark, points=_found(mark)) if mark.points is None and mark.report else mark
        for mark in result.marks
    )
    left = tuple(reason for reason in result.reasons if reason not in lines)
    text = result.notebook and _accepted(result.notebook, marks, lines)
    return replace(result, notebook=text, marks=marks, reasons=left)


def _found(mark: Mark) -> float:
    """What its check gives; records of before know only whether it passed."""
    if mark.found is not None:
        return mark.found
    return mark.max_points if mark.report.get("passed") is True else 0.0


def _accepted(text: str, marks: Sequence[Mark], lines: Sequence[str]) -> str:
    """A graded notebook without what says that it waits."""
    notebook = nbformat.reads(text, as_version=4)
    by_name = {mark.grade_id: mark for mark in marks if mark.report}
    if notebook.cells and notebook.cells[0].get("id") == NOTE:
        looked = "A person looked at this notebook: its points are what the checks found."
        notebook.cells[0] = note_for_person(lines, beginning=looked)
    for cell in notebook.cells:
        mark = by_name.get(grade_id_of(cell))
        shown = cell.get("outputs", [])
        left = [one for one in shown if one.get("ename") != NOT_GRADED]
        if mark is not None and left != shown:
            cell.outputs = left
            if not mark.report.get("passed"):
                cell.outputs.append(failed_check(mark.report))
    return str(JSONWriter().writes(notebook))
