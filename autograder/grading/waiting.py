"""What waits for a person: why, what its notebook says of it, and what it gets once it was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbformat.v4.nbjson import JSONWriter

from autograder.grading.box import Limits, Lost
from autograder.grading.marking import NOT_GRADED, Marked, failed_check, show_that_it_waits
from autograder.grading.policy.concerns import names_a_line
from autograder.grading.result import Mark, Result
from autograder.grading.safe_text import said_as_markdown
from autograder.learner.lesson import grade_id_of

NOTE = "autograder-note"  # the id of the cell that says why a notebook waits


def note_for_person(reasons: Sequence[str], part: Sequence[str] = ()) -> NotebookNode:
    """A cell for the top of a notebook that waits for a person; ``part``: the exercises, if not all."""
    what = ", ".join(part) or "this notebook"
    rest = "; the other exercises have theirs" if part else ""
    return _note(f"A person looks at {what} before it gets points{rest}.", reasons)


def note_of_acceptance(lines: Sequence[str]) -> NotebookNode:
    """The cell that takes its place where a person has looked."""
    return _note("A person looked at this notebook: its points are what the checks found.", lines)


def _note(beginning: str, reasons: Sequence[str]) -> NotebookNode:
    words = "\n".join(f"- {said_as_markdown(reason)}" for reason in reasons)
    return new_markdown_cell(f"**{beginning}**\n\n{words}", id=NOTE)


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
    marks = tuple(_with_points(mark) for mark in result.marks)
    left = tuple(reason for reason in result.reasons if reason not in lines)
    notebook = ""
    if result.notebook:
        read = nbformat.reads(result.notebook, as_version=4)
        show_acceptance(read, marks, lines)
        notebook = str(JSONWriter().writes(read))
    return replace(result, notebook=notebook, marks=marks, reasons=left)


def _with_points(mark: Mark) -> Mark:
    if mark.points is not None or not mark.report:
        return mark
    return replace(mark, points=mark.max_points if mark.report.get("passed") is True else 0.0)


def show_acceptance(
    notebook: NotebookNode, marks: tuple[Mark, ...], lines: tuple[str, ...]
) -> None:
    """Take out of a graded notebook what says that it waits."""
    by_name = {mark.grade_id: mark for mark in marks if mark.report}
    if notebook.cells and notebook.cells[0].get("id") == NOTE:
        notebook.cells[0] = note_of_acceptance(lines)
    for cell in notebook.cells:
        mark = by_name.get(grade_id_of(cell))
        if mark is not None and any(map(_says_it_waits, cell.get("outputs", ()))):
            cell.outputs = [one for one in cell.outputs if not _says_it_waits(one)]
            if not mark.points:
                cell.outputs.append(failed_check(mark.report))


def _says_it_waits(output: NotebookNode) -> bool:
    return output.output_type == "error" and output.ename == NOT_GRADED


NOT_REACHED, CUT = Lost("time", "all time was used up before"), Lost("time")


def let_wait(marked: Marked, notebook: NotebookNode, limits: Limits) -> None:
    """Take back the verdict on what was never asked, and say so in the notebook's cells.

    An exercise that used up its own time has been asked, and keeps its 0. Without a verdict there is
    nothing that `autograder accept` could make points of.
    """
    cut = [m for m in marked.marks if marked.lost.get(m.grade_id) == NOT_REACHED]
    if marked.seconds["box"] >= limits.seconds:
        # Whichever was asked last was asked when time ran out.
        marks = {m.grade_id: m for m in marked.marks}
        late = [marks[name] for name, lost in marked.lost.items() if lost == CUT]
        cut += [m for m in late if m.exercise == late[-1].exercise]
    if not cut:
        return
    names = ", ".join(dict.fromkeys(mark.exercise for mark in marked.marks if mark in cut))
    marked.reasons.append(
        f"The time for the whole notebook ({limits.seconds:g} s) ran out before these had been asked: "
        f"{names}. Grade it again with more: --seconds {2 * limits.seconds:g} --all --student."
    )
    marked.marks = [
        replace(mark, points=None, report={}, rule="") if mark in cut else mark
        for mark in marked.marks
    ]
    of_cut = {mark.grade_id for mark in cut}
    for cell in notebook.cells:
        if cell.cell_type == "code" and grade_id_of(cell) in of_cut:
            show_that_it_waits(cell)
