"""Asks and judges: chooses the questions, and makes a report of what came out of the box.

Nothing of a submission ever runs here. Its answers are bytes until they have been looked at.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import torch

from autograder.contract.exercise import Exercise
from autograder.exercises import find
from autograder.grading.box import Check, Lost
from autograder.grading.completeness import missing, put_back
from autograder.judging.finding import Finding
from autograder.observation.observation import Observation
from autograder.observation.packing import Unreadable, from_bytes, to_bytes, writable
from autograder.observation.source import Source
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, verdict, wrong_kind
from autograder.reporting.wording import worded
from autograder.running.program import Piece
from autograder.running.submission import Kind


@dataclass(frozen=True)
class Examination:
    """Everything asked of one exercise with one seed; made once for a whole class.

    Both graded cells of an exercise are judged by one set of questions, that of the hidden check: the
    promises are the same, and a submission is asked once.
    """

    exercise: Exercise
    seed: int
    devices: tuple[str, ...]

    @cached_property
    def complete(self) -> Asked:
        return Asked.of(self.exercise, self.seed, True, self.devices)

    def asked(self, hidden: bool) -> Asked:
        """What is asked, for a report on the hidden cell or on the other one."""
        return replace(self.complete, hidden=hidden)

    @cached_property
    def packed(self) -> bytes:
        """The questions as bytes."""
        return to_bytes(list(self.complete.questions))


@lru_cache(maxsize=256)
def examination(exercise: str, seed: int, devices: tuple[str, ...] = ("cpu",)) -> Examination:
    """The examination for one exercise. ``seed`` is the batch's; each exercise has its own from it."""
    digest = hashlib.blake2b(f"{seed}/{exercise}".encode(), digest_size=8).digest()
    own = int.from_bytes(digest, "little") % 2**62
    return Examination(find(exercise), own, devices)


def question(name: str, asked: Examination, pieces: tuple[Piece, ...]) -> Check:
    """The step of a job that puts the questions to what a submission's pieces define."""
    return Check(name, asked.exercise.name, asked.packed, pieces)


def judge(asked: Asked, given: bytes | Lost | None, source: Source, stopped: str = "") -> Report:
    """The report on one graded cell.

    given    what came out of the box; None where the checks were never reached
    stopped  how the cell that defines the exercise stopped, in words
    """
    if given is None or isinstance(given, Lost):
        if given is None:
            return _failed(asked, "nothing-came")
        return _failed(asked, given.why, detail=given.detail)
    try:
        observation = _opened(given)
        kind = _kind(observation.facts.get("kind"))
    except Unreadable as error:
        return _failed(asked, "unreadable", str(error))
    if kind is None:
        told = writable(str(observation.facts.get("stopped", "")))[:400]
        return _failed(asked, "not-there", stopped=stopped or told)
    refused = wrong_kind(kind, asked.exercise)
    if refused is not None:
        return _without_values(asked, refused)
    if "untold" in observation.facts:
        return _failed(asked, "incomparable", str(observation.facts["untold"]))
    unanswered = [q.id for q in asked.questions if q.id not in observation.answers]
    if unanswered and not observation.facts.get("interrupted"):
        return _failed(asked, "incomplete", f"{len(unanswered)} answers are missing")
    with torch.enable_grad():
        try:
            put_back(asked, observation)
            report = verdict(asked, observation, source, graded=True)
            lack = missing(asked, observation) if report.passed else ""
        except Exception as error:  # answers no rule can read are no right answers
            return _failed(asked, "unjudged", f"{type(error).__name__}: {error}")
    return _failed(asked, "incomplete", lack) if lack else report


@lru_cache(maxsize=2)
def _opened(data: bytes) -> Observation:
    """What the answers say: both graded cells of an exercise share one set."""
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


def _failed(asked: Asked, why: str, original: str = "", **facts: Any) -> Report:
    """A report for what no rule judged: ``lost/<why>``."""
    shown = {"original": original[:300]} if original else {}
    facts["name"] = asked.exercise.name
    finding = Finding("raises", cause=f"lost/{why}", facts=facts, evidence=shown)
    return _without_values(asked, worded(finding))


def _without_values(asked: Asked, finding: Finding) -> Report:
    """A report whose words hold none of the values that were asked with."""
    report = asked.report(graded=True)
    finding.evidence["holds_no_values"] = True
    report.findings = [finding]
    return report
