"""What an answer earns that keeps some of its promises, where an instructor wants that.

It is off unless nbgrader_config.py says `c.ExecuteInBox.points_by_promise = True`.
"""

from __future__ import annotations

from autograder.contract.promises import promise_of
from autograder.grading.box import Lost
from autograder.grading.judge import Examination, missing, opened
from autograder.reporting.report import Report

# Of an answer that is wrong, or somebody else's, the rest is worth nothing.
GROUND = frozenset({"values", "gradients", "work"})


def kept_share(asked: Examination, given: bytes | Lost | None, report: Report) -> float:
    """The share of a check's points, from 0 to 1: of all promises of the exercise, those that are kept.

    given  what came out of the box, as it was judged for the report

    Nothing where values, gradients or the learner's own work are not what was promised, and nothing for
    answers in which something is missing: of those nobody knows what they keep.
    """
    if report.passed:
        return 1.0
    if not isinstance(given, bytes) or not report.promises:
        return 0.0
    if missing(asked.complete, opened(given), passed=False):
        return 0.0
    promised = {promise_of(rule) for rule in asked.complete.rules.values()}
    promised |= {line.key for line in report.promises}
    kept = {line.key for line in report.promises if line.state == "kept"}
    return round(len(kept) / len(promised), 4) if GROUND & promised <= kept else 0.0
