"""What a submission gets once a person has accepted the lines that held it back.

The verdicts were formed when it was graded, outside of its process; only the points waited.
"""

from __future__ import annotations

from dataclasses import replace

import nbformat
from nbformat import NotebookNode
from nbformat.v4.nbjson import JSONWriter

from autograder.grading.lesson import grade_id_of
from autograder.grading.marking import NOT_GRADED, failed_check
from autograder.grading.policy.reading import names_a_line
from autograder.grading.result import Mark, Result
from autograder.grading.work import NOTE, note_of_acceptance


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
        if mark is not None and cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if not _says_it_waits(one)]
            if not mark.points:
                cell.outputs.append(failed_check(mark.report))


def _says_it_waits(output: NotebookNode) -> bool:
    return output.output_type == "error" and output.ename == NOT_GRADED
