"""Where in a walk through one run a finding can be seen.

`check(Name)` remembers what it found, its report names the step, and `xray(Name)` opens on it.
Only for this session of Python.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.reporting.report import Report

FORWARD, SAVED, BACKWARD, RESULT, ERROR = (
    "Forward", "Saved for backward", "Backward", "Result", "Error",
)  # fmt: skip
RETURNS = f"on the step “{BACKWARD}”: what backward returns"
THE_WRONG_ONE = "on the step of that run that goes wrong"
_OF_GROUP = {
    "forward-": f"on the step “{FORWARD}”: what forward returns",
    "gradient-": RETURNS,
    "upstream-": RETURNS,
    "saves-": f"on the step “{SAVED}”",
    "fails-": THE_WRONG_ONE,
    "double-backward-": "on the second backward, where the derivative of the gradient comes out",
}
_OF_RULE = {
    "raises": f"on the step “{ERROR}”: where it stops",
    "mutates-input": f"on the step “{FORWARD}”: what forward writes to",
    "mutates-upstream": f"on the step “{BACKWARD}”: what backward writes to",
    "mutates-saved": f"on the step “{BACKWARD}”: what backward writes to",
    "ignores-needs-input-grad": RETURNS,
    "shared-state": f"{RETURNS} after another call in between",
    "fails-device": "",  # a walk is on the CPU
}


def place_of(rule: str) -> str:
    """Where a walk opens that shows a finding of this rule, in words; "" where no walk shows it."""
    groups = (words for start, words in _OF_GROUP.items() if rule.startswith(start))
    return _OF_RULE.get(rule, next(groups, ""))


def place_of_finding(rule: str, evidence: Mapping[str, Any], experiments: Collection[str]) -> str:
    """The same for one finding; "" as well for what was seen in an experiment, not in a run.

    Args:
        evidence: of the finding.
        experiments: names of the exercise's own ones.
    """
    in_experiment = evidence.get("case") in experiments and not rule.startswith("double-backward-")
    by_gradcheck = str(evidence.get("original", "")).startswith("GradcheckError")
    of_torch = "changed" in evidence  # settings of torch, which no run of a Function shows
    return "" if in_experiment or by_gradcheck or of_torch else place_of(rule)


@dataclass(frozen=True)
class Failed:
    """A check that found something; seed and hidden ask the same questions again."""

    rule: str
    seed: int
    hidden: bool


_latest: dict[str, Failed] = {}


def remember(report: Report) -> None:
    """Keep what a check found; forget an earlier one where it passed.

    Not while grading: what hidden checks ask must not stand in feedback.
    """
    _latest.pop(report.exercise, None)
    if report.findings and not report.passed and not report.graded and report.seed is not None:
        _latest[report.exercise] = Failed(report.findings[0].rule, report.seed, report.hidden)


def failed(name: str) -> Failed | None:
    """What the latest check of an exercise found; None where it passed or none was made."""
    return _latest.get(name)
