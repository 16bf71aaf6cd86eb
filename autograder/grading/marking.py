"""Marks one notebook: what its answers need into the box, the verdicts into its graded cells.

Every graded cell is first filled with an error, and only a verdict replaces it: a failure anywhere
in the grader can never mean full marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.grading.box import Limits, Lost, Outcome, Said, Step, Walls
from autograder.grading.box.job import NOT_REACHED
from autograder.grading.judge import examination, judge, kept_share, question
from autograder.grading.policy import concerns_in, named
from autograder.grading.safe_text import said_as_markdown
from autograder.learner.lesson import GradedCell, Lesson, grade_id_of
from autograder.learner.slice import Asked, Slice, asked_of
from autograder.learner.submitted_notebook import output_of
from autograder.reporting.report import Report
from autograder.running.program import Piece

# ---- what grading one submission gives: plain data that travels between processes and machines ----


@dataclass(frozen=True)
class Mark:
    """What one graded cell is worth and what it got.

    grade_id    the cell's name in the lesson and in the gradebook
    points      what it got; None: a person has to look (``Result.reasons`` says why)
    max_points  what the lesson gives for it
    exercise    the exercise it checks; "" for a cell that is graded by hand
    hidden      whether it is the cell whose numbers are hidden
    report      the full report as plain data (``Report.to_json``), evidence included: for instructors
    rule        the first finding's rule; "" where nothing was found
    found       what its check found it to be worth, also where a person has to look first
    """

    grade_id: str
    points: float | None
    max_points: float
    exercise: str = ""
    hidden: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    found: float | None = None

    @property
    def name(self) -> str:
        """What the cell is called, for people."""
        return f"{self.exercise}, {self.kind}" if self.exercise else self.grade_id

    @property
    def kind(self) -> str:
        return "hidden check" if self.hidden else "first check"

    @property
    def waits(self) -> tuple[str, bool]:
        """Its exercise (or the cell), and whether a person has to look."""
        return self.exercise or self.grade_id, self.points is None

    def points_in_words(self, undecided: str) -> str:
        """What it got of how many points."""
        return undecided if self.points is None else f"{self.points:g} of {self.max_points:g}"


@dataclass(frozen=True)
class Result:
    """The outcome for one student's notebook of one lesson.

    notebook  the notebook nbgrader keeps in autograded/, as JSON (nbformat 4), sanitised; "" where
              what was handed in is no readable notebook
    marks     one for each graded cell of the lesson, in its order
    answered  grade_ids of the solution cells that differ from what was released
    reasons   sentences saying why a person has to look; empty where everything was graded
    content   hash of all that the outcome depends on (submission, lesson, course version, seed)
    seed      the batch's secret seed, which repeats these very checks; never shown to learners
    seconds   time by phase: read, box, judge, write
    copied    every answer is, word for word, that of the lesson's own solution
    """

    student: str
    lesson: str
    notebook: str
    marks: tuple[Mark, ...]
    answered: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    content: str = ""
    seed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    copied: bool = False

    @property
    def score(self) -> float:
        """Points of the cells that were graded automatically."""
        return sum(mark.points or 0.0 for mark in self.marks)

    @property
    def max_score(self) -> float:
        return sum(mark.max_points for mark in self.marks)


def part_of(cells: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
    """Of (name, whether it waits) those that wait, each once; empty where all do."""
    every = tuple(cells)
    waiting = tuple(dict.fromkeys(name for name, waits in every if waits))
    return waiting if not all(waits for _, waits in every) else ()


# ---- marking ----------------------------------------------------------------------------------

NOT_GRADED = "NotGraded"
NOTE = "autograder-note"  # the id of the cell that says why a notebook waits


@dataclass(frozen=True)
class How:
    """How submissions are graded: the same for a whole batch.

    seed     the lesson's secret seed; see execute.how_to_grade
    device   "cpu", or "cuda": then everything is asked on both
    tests    graded cells that are no `check(…)` run too, in the submission's own process, which
             could forge what they find; without it, they wait for a person
    allowed  imports that the instructor allows the class, beside those of policy/language.py
    by_promise  an answer that keeps some of its promises earns some of the points
    """

    seed: int = 0
    device: str = "cpu"
    limits: Limits = field(default_factory=Limits)
    walls: Walls = field(default_factory=Walls)
    tests: bool = False
    allowed: tuple[str, ...] = ()
    by_promise: bool = False

    @classmethod
    def given(cls, device: str, unsafe: bool, tests: bool, seconds: float = Limits.seconds) -> How:
        """As commands and nbgrader_config.py say it; the rest is the lesson's."""
        walls = Walls.none() if unsafe else Walls()
        return cls(0, device, Limits(seconds=seconds), walls, tests)

    @property
    def devices(self) -> tuple[str, ...]:
        return ("cpu",) if self.device == "cpu" else ("cpu", self.device)


@dataclass(frozen=True)
class Plan:
    """What is asked of a notebook.

    asked     what is asked together, as the box gets it
    concerns  what a person has to look at, in words
    held      the slices that it is in
    """

    asked: list[Asked]
    concerns: list[str]
    held: frozenset[Slice]

    def steps(self, how: How) -> list[Step]:
        """For the box."""
        made = []
        for one in self.asked:
            pieces = one.slice.pieces
            if one.text:
                made.append(Step((*pieces, Piece(one.graded[0].grade_id, one.text))))
            else:
                made.append(question(examination(one.exercise, how.seed, how.devices), pieces))
        return made


def plan(notebook: NotebookNode, lesson: Lesson, how: How) -> Plan:
    """What is to be asked of a restored notebook; its graded cells hold an error from now on."""
    for cell in notebook.cells:
        name = grade_id_of(cell)
        if cell.cell_type != "code":
            continue
        if name in lesson.graded and not lesson.graded[name].is_solution:
            cell.outputs = [_error(NOT_GRADED, "This cell has not been graded.")]
        elif name in lesson.cells and not lesson.roles[name].get("solution"):
            cell.outputs, cell.execution_count = [], None
    asked = asked_of(notebook, lesson, how.tests)
    found = {one.slice: concerns_in(one.slice, how.allowed) for one in asked}
    held = frozenset(one for one, concerns in found.items() if concerns)
    # Behind all others: what a person has to look at cannot touch what is seen of their structure.
    asked.sort(key=lambda one: one.slice in held)
    return Plan(asked, [*map(str, named(chain(*found.values())))], held)


def mark(
    notebook: NotebookNode, lesson: Lesson, planned: Plan, outcome: Outcome, how: How
) -> tuple[list[Mark], list[str]]:
    """Judge what came out of the box, and write outputs into the notebook's cells; gives marks and reasons."""
    asked, reasons, marks = planned.asked, planned.concerns, list[Mark]()
    by_name = {grade_id_of(cell): cell for cell in notebook.cells}
    of_graded = {g.grade_id: (i, one) for i, one in enumerate(asked) for g in one.graded}
    # Without a verdict there is nothing that `autograder accept` could make points of.
    cut = [index for index, lost in outcome.lost.items() if lost == NOT_REACHED]
    for graded in lesson.graded.values():
        cell = by_name[graded.grade_id]
        index, one = of_graded.get(graded.grade_id, (-1, None))
        share, report, waits = None, None, one is not None and one.slice in planned.held
        if one is None and not graded.is_solution:
            reasons.append(f"{graded.grade_id} is no check(…): a person grades it.")
        elif index in cut:
            show_outcome(cell)
        elif one is not None and one.text:
            share = float(_show_test(cell, outcome.said(index), outcome.lost.get(index)))
        elif one is not None:
            given = outcome.answers.get(index) or outcome.lost.get(index)
            examined = examination(graded.exercise, how.seed, how.devices, graded.hidden)
            report = judge(examined, given, one.slice.source, one.slice.stopped)
            share = kept_share(examined, given, report) if how.by_promise else float(report.passed)
            if report.outcome == "incomplete":
                reasons += [f"{graded.exercise}: {reason}" for reason in report.undecided]
                waits = True
            _show_report(cell, report, waits)
        marks.append(_mark(graded, share, report, waits))
    if cut:
        names = {asked[i].exercise or asked[i].graded[0].grade_id: None for i in sorted(cut)}
        reasons.append(
            f"The time for the whole notebook ({how.limits.seconds:g} s) ran out before these had been "
            f"asked: {', '.join(names)}. Grade it again with more: --seconds "
            f"{2 * how.limits.seconds:g} --all --student."
        )
    return marks, list(dict.fromkeys(reasons))


def _mark(graded: GradedCell, share: float | None, report: Report | None, waits: bool) -> Mark:
    """share None: a person grades the cell; waits: a person looks first, as its answer raises concerns."""
    found = None if share is None else graded.points * share
    if share not in (None, 0.0, 1.0):  # as everybody shows it
        found = round(graded.points * (share or 0.0), 2)
    points = None if waits else found
    data: dict[str, Any] = {} if report is None else report.for_instructors()
    rule = report.findings[0].rule if report is not None and report.findings else ""
    return Mark(
        graded.grade_id, points, graded.points, graded.exercise, graded.hidden, data, rule, found
    )


# ---- what the notebook shows ---------------------------------------------------------------


def _error(name: str, message: str, lines: list[str] | None = None) -> NotebookNode:
    return output_of("error", ename=name, evalue=message, traceback=lines or [message])


def _show_test(cell: NotebookNode, said: Said | None, lost: Lost | None) -> bool:
    """What came of a graded cell that was run; whether it passed. Its own lines are not shown."""
    if said is None or lost is not None:
        cell.outputs = [_error(NOT_GRADED, f"This cell was stopped: {lost or 'nothing ran'}.")]
        return False
    cell.outputs = [output_of("stream", name="stdout", text=said.text)] if said.text else []
    if said.error:
        message = f"{said.error}: {said.message}"
        cell.outputs.append(_error(said.error, said.message, [message]))
    return not said.error


def _show_report(cell: NotebookNode, report: Report, waits: bool) -> None:
    html = report._repr_html_()
    cell.outputs = [output_of("display_data", data={"text/plain": str(report), "text/html": html})]
    show_outcome(cell, report.for_instructors(), waits)


def show_outcome(
    cell: NotebookNode, report: Mapping[str, Any] | None = None, waits: bool = True
) -> None:
    """Below what a cell shows the error that says that it waits, or that the check failed by its report (as plain data)."""
    cell.outputs = [one for one in cell.outputs if one.output_type != "error"]
    if waits or report is None:
        cell.outputs.append(_error(NOT_GRADED, "A person looks at this before it gets points."))
    elif not report.get("passed"):
        mark = "○" if report["not_started"] else "✗"
        words = report["headline"]
        cell.outputs.append(_error("CheckFailed", words, [f"{mark} {words}"]))


def note_for_person(
    reasons: Sequence[str], part: Sequence[str] = (), beginning: str = ""
) -> NotebookNode:
    """A cell for the top of a notebook that waits for a person; ``part``: the exercises, if not all."""
    what = ", ".join(part) or "this notebook"
    rest = "; the other exercises have theirs" if part else ""
    beginning = beginning or f"A person looks at {what} before it gets points{rest}."
    words = "\n".join(f"- {said_as_markdown(reason)}" for reason in reasons)
    return new_markdown_cell(f"**{beginning}**\n\n{words}", id=NOTE)
