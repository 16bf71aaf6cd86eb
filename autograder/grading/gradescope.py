"""Results for Gradescope: one results.json a student, as its autograders write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.explanations import TITLES
from autograder.grading.records import Record
from autograder.grading.result import Mark
from autograder.grading.scores import CellScore, Score

# Learners see the visible checks at once, and the rest when the instructor publishes grades.
AT_ONCE, PUBLISHED = "visible", "after_published"


def results(score: Score, record: Record | None, comments: Sequence[str] = ()) -> dict[str, Any]:
    """One student's results.json, with the scores of the gradebook.

    record    what the grader remembers, for the words; None: scores only
    comments  what people wrote to the student
    """
    marks = {mark.grade_id: mark for mark in record.result.marks} if record else {}
    order = {name: place for place, name in enumerate(marks)}
    cells = sorted(score.cells, key=lambda cell: order.get(cell.name, len(order)))
    said = [f"Comment: {comment}" for comment in comments]
    if score.penalty:
        said.insert(0, f"Handed in late: {score.penalty:g} points are taken off.")
    if score.waits:
        said.insert(0, "Not final yet: somebody still looks at this submission.")
    return {
        "score": score.points,
        "output": "\n\n".join(said),
        "output_format": "text",
        "visibility": PUBLISHED,
        "stdout_visibility": "hidden",
        "tests": [
            _test(cell, marks.get(cell.name), number) for number, cell in enumerate(cells, 1)
        ],
    }


def _test(cell: CellScore, mark: Mark | None, number: int) -> dict[str, Any]:
    exercise = mark.exercise if mark else ""
    hidden = mark is None or mark.hidden
    kind = "complete check" if hidden else "visible check"
    return {
        "name": f"{exercise} ({kind})" if exercise else cell.name,
        "number": str(number),
        "score": cell.points,
        "max_score": cell.max_points,
        "status": "passed" if cell.points >= cell.max_points and not cell.waits else "failed",
        "output": _words(cell, mark),
        "output_format": "text",
        "visibility": PUBLISHED if hidden else AT_ONCE,
        "tags": [mark.rule] if mark and mark.rule else [],
    }


def _words(cell: CellScore, mark: Mark | None) -> str:
    """What the learner may read of a check: root cause, their line, advice; no values, no seed."""
    if cell.waits:
        return "A person looks at this before it gets points."
    if mark is None or not mark.report:
        return "Graded by a person."
    findings = mark.report.get("findings") or []
    if mark.points is not None and mark.points != cell.points:
        return "A person gave these points." + (f"\n{_advice(findings[0])}" if findings else "")
    if not findings:
        which = "all checks" if mark.hidden else "the visible checks"
        return f"{mark.exercise}: {which} pass." if mark.report.get("passed") else ""
    return _advice(findings[0])


def _advice(finding: dict[str, Any]) -> str:
    rule = str(finding.get("rule", ""))
    evidence = finding.get("evidence") or {}
    lines = [TITLES.get(rule, "")]
    if evidence.get("line"):
        lines.append(f"Your line {evidence['line']}: {str(evidence.get('source', ''))[:100]}")
    if finding.get("hint"):
        lines.append(f"Next: {finding['hint']}")
    lines.append(f'Rule: {rule} – explain("{rule}") in the notebook says more.')
    return "\n".join(line for line in lines if line)
