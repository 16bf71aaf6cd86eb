"""Asks and judges: chooses the questions, and makes a report of what came out of the box.

Nothing of a submission ever runs here. Its answers are bytes until they have been looked at. Rules look
for mistakes, and a forged observation could have none because it has nothing: so the deciding process
compares each experiment with its own, and asks of what passes that nothing is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from autograder.contract.promises import promise_of
from autograder.exercises import find
from autograder.grading.box import Lost, Step
from autograder.judging.finding import Finding
from autograder.observation.observation import Answer, Observation, Question
from autograder.observation.packing import from_bytes, from_plain, writable
from autograder.observation.source import Source
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, verdict, wrong_kind
from autograder.reporting.wording import worded
from autograder.running.beside_backward import BESIDE_BACKWARD
from autograder.running.program import Piece
from autograder.running.submission import Kind


@lru_cache(maxsize=512)
def examination(
    exercise: str, seed: int, devices: tuple[str, ...] = ("cpu",), hidden: bool = True
) -> Asked:
    """Everything asked of one exercise, made once for a whole class.

    Both graded cells of an exercise are judged by one set of questions, that of the hidden check: the
    promises are the same, and a submission is asked once.

    seed    the batch's; each exercise has its own from it
    hidden  for a report on the hidden cell, or on the other one
    """
    if not hidden:
        return replace(examination(exercise, seed, devices), hidden=False)
    digest = hashlib.blake2b(f"{seed}/{exercise}".encode(), digest_size=8).digest()
    return Asked.of(find(exercise), int.from_bytes(digest, "little") % 2**62, True, devices)


def question(asked: Asked, pieces: tuple[Piece, ...]) -> Step:
    """The step of a job that puts the questions to what a submission's pieces define."""
    return Step(pieces, asked.exercise.name, asked.packed)


def judge(asked: Asked, given: bytes | Lost | None, source: Source, stopped: str = "") -> Report:
    """The report on one graded cell.

    given    what came out of the box; None where the checks were never reached
    stopped  how the cell that defines the exercise stopped, in words
    """
    if given is None:
        return _failed(asked, "nothing-came")
    if isinstance(given, Lost):
        return _failed(asked, given.why, detail=given.detail)
    try:
        observation = opened(given)
        kind = from_plain(Kind | None, observation.facts.get("kind"))
    except (ValueError, TypeError) as error:
        return _failed(asked, "unreadable", str(error))
    if kind is None:
        said = writable(str(observation.facts.get("stopped", "")))[:400]
        return _failed(asked, "not-there", stopped=stopped or said)
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
            report = verdict(asked, asked.evidence(observation, source), graded=True)
            lack = missing(asked, observation) if report.passed else ""
        except Exception as error:  # answers no rule can read are no right answers
            return _failed(asked, "unjudged", f"{type(error).__name__}: {error}")
    return _failed(asked, "incomplete", lack) if lack else report


@lru_cache(maxsize=2)
def opened(data: bytes) -> Observation:
    """What the answers say: both graded cells of an exercise share one set."""
    return from_bytes(data, expect=Observation)


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


# Questions that a right answer may refuse with an error: other rules say whether it has to.
_SECOND = ("refused", "right-or-refused")


def missing(asked: Asked, observation: Observation, passed: bool = True) -> str:
    """What is missing in answers; "" where they are complete.

    passed  no rule found a mistake in them; else what stopped is what the rules spoke of
    """
    for question in asked.questions:
        answer = observation.answers.get(question.id)
        if answer is None:
            return f"{question.id} was not answered"
        if not passed and (answer.failure is not None or question.kind in ("refusal", "gradcheck")):
            continue
        for lack in _lacks(question, answer, asked):
            return f"{question.id}: {lack}"
    return ""


def _lacks(question: Question, answer: Answer, asked: Asked) -> Iterator[str]:
    """What an answer has less of than the reference's."""
    kind, exercise, wants = question.kind, asked.exercise, question.wants
    if kind == "refusal" or answer.failure is not None:
        refused = kind == "second" and exercise.second_order in _SECOND
        if answer.failure is None:
            yield "nothing was refused"
        elif not (kind in ("refusal", "mutate") or refused or question.variant == "meta"):
            yield f"it stopped with {answer.failure.kind[:80]}"
    elif kind == "gradcheck" and answer.data.get("passed") is not True:
        yield "gradcheck did not pass"
    elif kind == "scenario":
        if not answer.data:
            yield "nothing was measured"
        free = next(s.free for s in exercise.scenarios if s.name == question.more["name"])
        yield from _less(answer.data, asked.references.experiment(question), "data", free)
    elif kind in BESIDE_BACKWARD:
        for name in BESIDE_BACKWARD[kind]:
            least = len(wants) if name != "operators" else 1
            if len(answer.data.get(name) or ()) < max(1, least):
                yield f"too little is known of {name}"
    elif kind not in ("gradcheck", "structure", "large") and question.variant != "meta":
        if not exercise.is_function and wants and not answer.custom:
            yield "no backward of a Function was seen"
        right = asked.references.expect(question)
        wanted = {"outputs": right.outputs, "requires_grad": (None,) * len(right.outputs)}
        if wants and any(u is not None for u in question.upstream):
            wanted["gradients"] = tuple(question.args[position] for position in wants)
        if kind == "second":
            wanted["second"] = right.second or ()
        yield from _less(vars(answer), wanted, "the answer", None)


def _less(data: Any, trusted: Any, where: str, free: tuple[str, ...] | None) -> Iterator[str]:
    """Where an answer or an experiment's data has less in it than the reference's.

    free  names in an experiment's data of which nobody knows what they have to hold; None: of an answer
          as many entries and the same shapes are wanted, but that no gradient is one of zeros
    """
    if isinstance(trusted, dict):
        given = data if isinstance(data, dict) else {}
        for name, value in trusted.items():
            told = name in (free or ()) or (
                name in ("found", "value") and given.get("refused") is True
            )
            if name not in given:
                yield f"{where} has no {name!r}"
            elif not told:
                yield from _less(given[name], value, f"{where}[{name!r}]", free)
    elif isinstance(trusted, list | tuple):
        count = len(data) if isinstance(data, list | tuple) else -1
        if count < len(trusted) or (free is None and count > len(trusted)):
            yield f"{where} has {count} entries in place of {len(trusted)}"
        else:
            for i, (inner, value) in enumerate(zip(data, trusted, strict=False)):
                yield from _less(inner, value, f"{where}[{i}]", free)
    elif free is None and isinstance(trusted, Tensor):
        absent = data is None and "outputs" not in where
        if not absent and getattr(data, "shape", None) != trusted.shape:
            yield f"{where} is not of the shape {tuple(trusted.shape)}"


# ---- what an answer earns that keeps some of its promises, where an instructor wants that --------

# Of an answer that is wrong, or somebody else's, the rest is worth nothing.
GROUND = frozenset({"values", "gradients", "work"})


def kept_share(asked: Asked, given: bytes | Lost | None, report: Report) -> float:
    """The share of a check's points, from 0 to 1: of all promises of the exercise, those that are kept.

    given  what came out of the box, as it was judged for the report

    Nothing where values, gradients or the learner's own work are not what was promised, and nothing for
    answers in which something is missing: of those nobody knows what they keep.
    """
    if report.passed:
        return 1.0
    if not isinstance(given, bytes) or not report.promises:
        return 0.0
    if missing(asked, opened(given), passed=False):
        return 0.0
    promised = {promise_of(rule) for rule in asked.rules.values()}
    promised |= {line.key for line in report.promises}
    kept = {line.key for line in report.promises if line.state == "kept"}
    return round(len(kept) / len(promised), 4) if GROUND & promised <= kept else 0.0
