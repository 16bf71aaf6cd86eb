"""Asks and judges: chooses the questions, and makes a report of what came out of the box.

Nothing of a submission ever runs here. Its answers are bytes until they have been looked at.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch

from autograder.evidence import Finding
from autograder.exercise import Exercise
from autograder.exercises import find, is_exercise
from autograder.grading.box import Check, Lost
from autograder.grading.complete import missing, put_back
from autograder.observation import Observation
from autograder.packing import Unreadable, from_bytes, to_bytes
from autograder.report import Report
from autograder.source import Source
from autograder.submission import Kind
from autograder.verdict import Asked, count_rules, verdict, wrong_kind


@dataclass(frozen=True)
class Examination:
    """Everything asked of one exercise with one seed; made once for a whole class.

    The complete check's questions hold those of the visible one, so one set of answers serves both.
    """

    exercise: Exercise
    seed: int
    devices: tuple[str, ...]

    @cached_property
    def complete(self) -> Asked:
        return Asked.of(self.exercise, self.seed, True, self.devices)

    @cached_property
    def visible(self) -> Asked:
        asked = tuple(q for q in self.complete.questions if q.visible)
        return Asked(self.exercise, asked, False, self.seed, self.devices, self.complete.references)

    def asked(self, hidden: bool) -> Asked:
        """The complete check, or the visible one."""
        return self.complete if hidden else self.visible

    @cached_property
    def more(self) -> int:
        """How many more rules the complete check has than the visible one."""
        count = [count_rules(self.exercise, a.questions) for a in (self.complete, self.visible)]
        return max(0, count[0] - count[1])

    @cached_property
    def packed(self) -> dict[bool, bytes]:
        """The questions as bytes, of the complete check and of the visible one."""
        return {hidden: to_bytes(list(self.asked(hidden).questions)) for hidden in (True, False)}


@lru_cache(maxsize=256)
def examination(exercise: str, seed: int, devices: tuple[str, ...] = ("cpu",)) -> Examination:
    """The examination for one exercise. ``seed`` is the batch's; each exercise has its own from it."""
    digest = hashlib.blake2b(f"{seed}/{exercise}".encode(), digest_size=8).digest()
    own = int.from_bytes(digest, "little") % 2**62
    return Examination(find(exercise), own, devices)


def can_be_asked(exercise: str) -> bool:
    """Whether there is an exercise of that name."""
    return bool(exercise) and is_exercise(exercise)


def question(name: str, asked: Examination, hidden: bool) -> Check:
    """The step of a job that puts the questions to a submission."""
    return Check(name, asked.exercise.name, asked.packed[hidden])


def judge(
    asked: Asked, given: bytes | Lost | None, source: Source, more: int = 0, stopped: str = ""
) -> Report:
    """The report on one graded cell.

    given    what came out of the box; None where the checks were never reached
    stopped  how the cell that defines the exercise stopped, in words
    """
    name = asked.exercise.name
    if given is None or isinstance(given, Lost):
        why = str(given) if given else "nothing came of it"
        hint = "Run the check in the notebook: it says where it stops."
        return _failed(asked, Finding("raises", f"{name} could not be checked: {why}.", hint))
    try:
        observation = _opened(given)
        kind = _kind(observation.facts.get("kind"))
    except Unreadable as error:
        message = f"{name} could not be checked: its answers cannot be read."
        return _failed(asked, Finding("raises", message, "", {"original": str(error)[:300]}))
    if kind is None:
        message = (
            f"{name} is not there: the cell that defines it is missing or stopped with an error."
        )
        hint = (
            f"Mend that cell first: {stopped}" if stopped else "Put its cell back and fill it in."
        )
        return _failed(asked, Finding("raises", message, hint))
    refused = wrong_kind(kind, asked.exercise)
    if refused is not None:
        return _failed(asked, refused)
    if "untold" in observation.facts:
        message = f"{name} gives values of a kind that cannot be compared."
        original = str(observation.facts["untold"])[:300]
        return _failed(
            asked, Finding("raises", message, "Give plain tensors.", {"original": original})
        )
    # The complete check's answers serve the visible one as well, which must not see the others.
    seen = {q.id: observation.answers[q.id] for q in asked.questions if q.id in observation.answers}
    observation = Observation(seen, observation.facts)
    unanswered = [q.id for q in asked.questions if q.id not in observation.answers]
    if unanswered and not observation.facts.get("interrupted"):
        message = f"{name} could not be checked: {len(unanswered)} answers are missing."
        return _failed(asked, Finding("raises", message))
    with torch.enable_grad():
        try:
            put_back(asked, observation)
            report = verdict(asked, observation, source, graded=True, more=more)
            lack = missing(asked, observation) if report.passed else ""
        except Exception as error:  # answers no rule can read are no right answers
            message = f"{name} could not be judged from what it gave."
            original = f"{type(error).__name__}: {error}"[:300]
            return _failed(asked, Finding("raises", message, "", {"original": original}))
    if lack:
        message = f"{name} could not be checked: its answers are not complete."
        return _failed(asked, Finding("raises", message, "", {"original": lack[:300]}))
    return report


@lru_cache(maxsize=2)
def _opened(data: bytes) -> Observation:
    """What the answers say: the visible and the complete check of an exercise share one set."""
    observation: Observation = from_bytes(data, expect=Observation)
    return observation


def _kind(given: Any) -> Kind | None:
    if given is None:
        return None
    try:
        kind = Kind(**given)
    except TypeError as error:
        raise Unreadable("not a kind of submission") from error
    if not (isinstance(kind.what, str) and isinstance(kind.type_name, str)):
        raise Unreadable("not a kind of submission")
    return kind


def _failed(asked: Asked, finding: Finding) -> Report:
    """A report for what no rule judged. Its words hold none of the values that were asked with."""
    report = asked.report(graded=True)
    finding.evidence["holds_no_values"] = True
    report.findings = [finding]
    return report
