"""One check: questions are put to a submission, and its answers become a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.judging.evidence import Evidence
from autograder.observation.observation import Answer, Observation, Question
from autograder.observation.source import Source
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, verdict, wrong_kind
from autograder.running import probe
from autograder.running.submission import kind_of


@dataclass
class OneCheck:
    """What is asked of one submission, and what comes of it. To be used where its code is contained.

    runs    what runs in the place of what was handed in
    over    whether it is too late for a new question
    graded  the report is feedback
    """

    asked: Asked
    submission: Any
    runs: Any
    over: Callable[[], bool] | None = None
    graded: bool = False

    @property
    def refused(self) -> Report | None:
        """The report on what is not even the kind of thing that was asked for; None: questions are put."""
        wrong = wrong_kind(kind_of(self.submission), self.asked.exercise)
        if wrong is None:
            return None
        report = self.asked.report(self.graded)
        report.findings = [wrong]
        return report

    @cached_property
    def observation(self) -> Observation:
        """What it answers."""
        over = self.over or (lambda: False)
        return probe.probe(self.runs, self.asked.questions, self._experiments, over)

    @cached_property
    def source(self) -> Source:
        """Its source; a plain function may have another name than its exercise."""
        source, exercise = Source.of(self.submission), self.asked.exercise
        return source.known_as(exercise.name) if exercise.is_function else source

    def verdict(self, believed: frozenset[str] = frozenset()) -> Report:
        """What is wrong and why, as far as its answers tell."""
        return verdict(self.asked, self.evidence(), self.graded, believed)

    def evidence(self, asked: Asked | None = None) -> Evidence:
        """What rules and causes are asked about; ``asked``: the same questions, judged otherwise."""
        return (asked or self.asked).evidence(
            self.observation, self.source, self._flow, self._answered
        )

    def _flow(self, question: Question) -> Any:
        return probe.flow(self.runs, question, self._experiments)

    def _answered(self, question: Question, instead: Any) -> Answer:
        return probe.answered(self.runs, question, self._experiments, instead)

    @property
    def _experiments(self) -> dict[str, Any]:
        return {each.name: each for each in self.asked.exercise.scenarios}
