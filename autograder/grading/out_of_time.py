"""What the time of the whole notebook did not suffice for has not been judged: a person decides."""

from __future__ import annotations

from dataclasses import replace

from nbformat import NotebookNode

from autograder.grading.box import Limits, Lost
from autograder.grading.lesson import grade_id_of
from autograder.grading.marking import Marked, show_that_it_waits
from autograder.grading.result import Mark

NOT_REACHED, CUT = Lost("time", "all time was used up before"), Lost("time")


def let_wait(marked: Marked, notebook: NotebookNode, limits: Limits) -> None:
    """Take back the verdict on what was never asked, and say so in the notebook's cells.

    An exercise that used up its own time has been asked, and keeps its 0. Without a verdict there is
    nothing that `autograder accept` could make points of.
    """
    cut = [mark for mark in marked.marks if _is_lost(mark, NOT_REACHED)]
    if marked.seconds["box"] >= limits.seconds:
        # Whichever was asked last was asked when time ran out.
        last = [mark for mark in marked.marks if _is_lost(mark, CUT)][-1:]
        cut += [
            mark
            for mark in marked.marks
            if last and _is_lost(mark, CUT) and mark.exercise == last[0].exercise
        ]
    if not cut:
        return
    names = ", ".join(dict.fromkeys(mark.exercise for mark in cut))
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


def _is_lost(mark: Mark, lost: Lost) -> bool:
    """Whether what a mark is about failed because its questions were lost so."""
    findings = mark.report.get("findings") or [{}]
    said = f"{mark.exercise} could not be checked: {lost}."  # see judge
    return bool(findings[0].get("message") == said)
