"""Marks one notebook: its cells into the box, the verdicts into its graded cells.

Every graded cell is first filled with an error, and only a verdict replaces it: a failure anywhere
in the grader can never mean full marks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.grading.borrowed import borrowed
from autograder.grading.box import Check, Job, Lost, Outcome, Run, Said
from autograder.grading.definition import (
    MOST_MAGICS,
    count_magics,
    definition,
    seems_to_define,
    without_magics,
)
from autograder.grading.judge import can_be_asked, examination, judge, question
from autograder.grading.lesson import GradedCell, Lesson, grade_id_of
from autograder.grading.policy.reading import WHOLE_LIMIT, Concern, read_cells
from autograder.grading.result import Mark
from autograder.report import Report
from autograder.source import Source

NOT_GRADED = "NotGraded"


@dataclass
class Marked:
    """What marking a notebook gave; its cells hold the outputs."""

    marks: list[Mark] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class _Steps:
    """The steps of a job, and which of them belongs to which cell."""

    steps: list[Run | Check] = field(default_factory=list)
    cells: dict[int, NotebookNode] = field(default_factory=dict)
    of_graded: dict[str, int] = field(default_factory=dict)


def mark(
    notebook: NotebookNode,
    lesson: Lesson,
    run: Callable[[Job], Outcome],
    seed: int,
    devices: tuple[str, ...] = ("cpu",),
    tests: bool = False,
    allowed: tuple[str, ...] = (),
) -> Marked:
    """Run and judge a restored notebook, and write outputs into its cells.

    run      takes a job to a box and brings back what came out of it
    tests    whether graded cells that are no check(…) are run, too
    allowed  imports that no person has to look at, beside those of policy/lists.py
    """
    marked = Marked()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if grade_id_of(cell) in lesson.graded and cell.cell_type == "code":
            cell.outputs = [_error(NOT_GRADED, "This cell has not been graded.")]
    concerns = _concerns(notebook, lesson, allowed)
    steps = _steps(notebook, lesson, seed, devices, tests)
    outcome = run(Job(tuple(steps.steps)))
    began = time.perf_counter()
    for place, cell in steps.cells.items():
        _show_said(cell, outcome.said.get(place), outcome.lost.get(place))
    marked.reasons += [str(concern) for concern in concerns]
    by_name = {grade_id_of(cell): cell for cell in notebook.cells}
    for graded in lesson.graded.values():
        cell = by_name[graded.grade_id]
        index = steps.of_graded.get(graded.grade_id)
        if can_be_asked(graded.exercise):
            report = _judge(graded, steps, outcome, seed, devices)
            _show_report(cell, report, concerns)
            marked.marks.append(_mark(graded, report.passed, report, concerns))
        elif index is not None:
            passed = _show_test(cell, outcome.said.get(index), outcome.lost.get(index))
            marked.marks.append(_mark(graded, passed, None, concerns))
        else:
            if not graded.is_solution:
                marked.reasons.append(f"{graded.grade_id} is no check(…): a person grades it.")
            marked.marks.append(_mark(graded, None, None, concerns))
    marked.seconds = {"box": outcome.seconds, "judge": time.perf_counter() - began}
    return marked


def _concerns(notebook: NotebookNode, lesson: Lesson, allowed: tuple[str, ...]) -> list[Concern]:
    """What a person has to look at first, in the learner's own cells."""
    own = []
    for number, cell in enumerate(notebook.cells, 1):
        name = grade_id_of(cell)
        is_lessons = name in lesson.cells and not lesson.roles[name].get("solution")
        if cell.cell_type == "code" and not is_lessons and lesson.runs(name, cell.source):
            own.append((f"cell {number}" + (f" ({name})" if name else ""), cell.source))
    return read_cells(own, allowed)


def _steps(
    notebook: NotebookNode, lesson: Lesson, seed: int, devices: tuple[str, ...], tests: bool
) -> _Steps:
    """Set-up cells, the learner's cells and the graded cells, in the notebook's order.

    Checks of one exercise with no cell run between them are asked once: the complete check's
    questions hold those of the visible one. A check that stands above the only cell that defines its
    exercise (one of them was moved) waits for that cell.
    """
    made = _Steps()
    waiting: list[GradedCell] = []
    moved = _moved_checks(notebook, lesson)
    helpers = _helpers(notebook, lesson)

    def ask() -> None:
        for exercise in dict.fromkeys(g.exercise for g in waiting):
            group = [g for g in waiting if g.exercise == exercise]
            asked = examination(exercise, seed, devices)
            for graded in group:
                made.of_graded[graded.grade_id] = len(made.steps)
            made.steps.append(question(group[0].grade_id, asked, any(g.hidden for g in group)))
        waiting.clear()

    for number, cell in enumerate(notebook.cells, 1):
        name = grade_id_of(cell)
        graded = lesson.graded.get(name)
        if cell.cell_type != "code":
            continue
        if graded is not None and not graded.is_solution:
            if can_be_asked(graded.exercise):
                if not any(graded in later for later in moved.values()):
                    waiting.append(graded)
            elif tests:
                ask()
                made.of_graded[name] = len(made.steps)
                made.steps.append(Run(name, cell.source))
        elif name in helpers:
            made.steps.append(Run(name, helpers[name]))
        elif cell.source.strip() and lesson.runs(name, cell.source):
            ask()
            made.cells[len(made.steps)] = cell
            made.steps.append(Run(name or f"cell {number}", cell.source))
            waiting += moved.get(number, [])
    ask()
    return made


def _moved_checks(notebook: NotebookNode, lesson: Lesson) -> dict[int, list[GradedCell]]:
    """The checks above the first cell that defines their exercise, by that cell's number."""
    runs = [
        (number, cell.source)
        for number, cell in enumerate(notebook.cells, 1)
        if cell.cell_type == "code"
        and grade_id_of(cell) not in lesson.graded
        and lesson.runs(grade_id_of(cell), cell.source)
    ]
    moved: dict[int, list[GradedCell]] = {}
    for number, cell in enumerate(notebook.cells, 1):
        graded = lesson.graded.get(grade_id_of(cell))
        if graded is not None and graded.exercise:
            first = next((n for n, text in runs if seems_to_define(graded.exercise, text)), 0)
            if first > number:
                moved.setdefault(first, []).append(graded)
    return moved


def _helpers(notebook: NotebookNode, lesson: Lesson) -> dict[str, str]:
    """What is run of demonstrations, by grade_id: only what the learner's cells use."""
    learners = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and lesson.runs(grade_id_of(cell), cell.source)
    ]
    if _is_too_much(learners):
        return {}  # a person looks at it anyway
    demonstrations = {
        name: cell.source
        for cell in notebook.cells
        if (name := grade_id_of(cell)) and cell.cell_type == "code" and not lesson.runs(name, "-")
    }
    return borrowed(map(without_magics, learners), demonstrations)


def _is_too_much(sources: Sequence[str]) -> bool:
    """Whether a learner's cells are more than is read here; they raise concerns, too."""
    return sum(map(len, sources)) > WHOLE_LIMIT or sum(map(count_magics, sources)) > MOST_MAGICS


def _judge(
    graded: GradedCell, steps: _Steps, outcome: Outcome, seed: int, devices: tuple[str, ...]
) -> Report:
    """The report on a graded cell."""
    asked = examination(graded.exercise, seed, devices)
    index = steps.of_graded.get(graded.grade_id)
    given: bytes | Lost | None = None
    if index is not None:
        given = outcome.answers.get(index) or outcome.lost.get(index)
    source, cell_index = _source_of(graded.exercise, steps, index)
    stopped = _how_it_stopped(outcome, cell_index)
    more = 0 if graded.hidden else asked.more
    return judge(asked.asked(graded.hidden), given, source, more, stopped)


def _source_of(exercise: str, steps: _Steps, before: int | None) -> tuple[Source, int | None]:
    """The text that defines an exercise, last before its check, and the step it stands in."""
    if _is_too_much([cell.source for cell in steps.cells.values()]):
        return Source(), None
    for index in sorted(steps.cells, reverse=True):
        step = steps.steps[index]
        if isinstance(step, Run) and (before is None or index < before):
            found = definition(exercise, step.source)
            if found is not None:
                return found, index
    return Source(), None


def _how_it_stopped(outcome: Outcome, index: int | None) -> str:
    """How the cell that defines an exercise stopped, in words; "" where it did not."""
    if index is None:
        return ""
    if index in outcome.lost:
        return f"{outcome.lost[index]}."
    said = outcome.said.get(index)
    if said is None or not said.error:
        return ""
    place = f" ({said.place})" if said.place else ""
    return f"{said.error}: {said.message}{place}"


def _mark(
    graded: GradedCell, passed: bool | None, report: Report | None, concerns: list[Concern]
) -> Mark:
    """passed None: a person grades the cell, as every cell of a notebook that raises concerns."""
    points = None if concerns or passed is None else graded.points * passed
    data: dict[str, Any] = {} if report is None else report.for_instructors()
    rule = report.findings[0].rule if report is not None and report.findings else ""
    return Mark(graded.grade_id, points, graded.points, graded.exercise, graded.hidden, data, rule)


# ---- what the notebook shows ---------------------------------------------------------------


def _error(name: str, message: str, lines: list[str] | None = None) -> NotebookNode:
    return new_output("error", ename=name, evalue=message, traceback=lines or [message])


def _show_said(cell: NotebookNode, said: Said | None, lost: Lost | None) -> None:
    """What a learner's own cell printed, and how it stopped."""
    if lost is not None:
        cell.outputs = [_error(NOT_GRADED, f"This cell was stopped: {lost}.")]
    elif said is not None:
        cell.outputs = [new_output("stream", name="stdout", text=said.text)] if said.text else []
        if said.error:
            where = [said.place] if said.place else []
            message = f"{said.error}: {said.message}"
            cell.outputs.append(_error(said.error, said.message, [*where, message]))


def _show_test(cell: NotebookNode, said: Said | None, lost: Lost | None) -> bool:
    """What came of a graded cell that was run; whether it passed. Its own lines are not shown."""
    if said is None or lost is not None:
        cell.outputs = [_error(NOT_GRADED, f"This cell was stopped: {lost or 'nothing ran'}.")]
        return False
    cell.outputs = [new_output("stream", name="stdout", text=said.text)] if said.text else []
    if said.error:
        message = f"{said.error}: {said.message}"
        cell.outputs.append(_error(said.error, said.message, [message]))
    return not said.error


def _show_report(cell: NotebookNode, report: Report, concerns: list[Concern]) -> None:
    html = report._repr_html_()
    cell.outputs = [new_output("display_data", data={"text/plain": str(report), "text/html": html})]
    if concerns:
        show_that_it_waits(cell)
    elif not report.passed:
        cell.outputs.append(failed_check(report.for_instructors()))


def show_that_it_waits(cell: NotebookNode) -> None:
    """In place of the error that says that a check failed, if one does."""
    kept = [one for one in cell.outputs if one.output_type != "error"]
    cell.outputs = [
        *kept,
        _error(NOT_GRADED, "A person looks at this notebook before it gets points."),
    ]


def failed_check(report: dict[str, Any]) -> NotebookNode:
    """The error that says of a report (as plain data) that the check failed."""
    mark = "○" if report["not_started"] else "✗"
    return _error("CheckFailed", report["headline"], [f"{mark} {report['headline']}"])
