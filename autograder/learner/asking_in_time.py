"""In which order questions are put to anybody's Function, and which are left out where each of its calls takes long."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import accumulate

from autograder.contract.ending import Clock, on, slow
from autograder.contract.measured import Measured
from autograder.observation.observation import Observation, Question
from autograder.reporting.verdict import OneCheck

_MEASURING = 0.8  # of the time that is left, for the slopes that all else is compared with
_CALLS = {
    "interleave": 12,
    "structure": 7,
    "second": 30,
}  # of all other questions 5, those that comparing takes among them


def ask_in_time(one: OneCheck, clock: Clock) -> None:
    """Put the questions to a submission; those that there would be no time for are left out.

    First the plain cases, and the slopes of forward there; second derivatives, which take most, come last.
    """
    first = [q for q in one.asked.questions if q.id.startswith("run:") and not q.variant]
    observation = one.answers(first)
    with on(clock), clock.for_a_part(_MEASURING):
        for q in first:
            answer = observation.answers.get(q.id)
            if answer is not None and answer.failure is None:
                with contextlib.suppress(Exception):
                    one.asked.references.expect(q)
    reference = one.asked.exercise.reference
    one.observation = observation
    with on(clock), contextlib.suppress(Exception):
        if slow() and isinstance(reference, Measured):
            # What is wrong there is wrong elsewhere, too.
            asked = [p for p in one.evidence().plain if p.answer.gradients]
            reference.believed = all(p.all_agree for p in asked)
    rest = sorted((q for q in one.asked.questions if q not in first), key=_place)
    with on(clock):
        kept = _worth_it(rest, clock) if slow() else rest
    if not observation.facts["interrupted"]:
        _add(observation, one.answers(kept))


def _place(question: Question) -> tuple[bool, ...]:
    """What shows most for few calls comes first."""
    return question.kind == "second", question.kind in ("mutate", "structure"), question.kind != "interleave"  # fmt: skip


def _worth_it(questions: Sequence[Question], clock: Clock) -> list[Question]:
    room = clock.left / clock.cost
    spent = accumulate(_CALLS.get(q.kind, 5) for q in questions)
    return [q for q, calls in zip(questions, spent, strict=True) if calls <= room]


def _add(observation: Observation, more: Observation) -> None:
    observation.answers |= more.answers
    facts, new = observation.facts, more.facts
    facts["printed"] = (facts["printed"] + new["printed"])[:2000]
    facts["changed"] = list(dict.fromkeys([*facts["changed"], *new["changed"]]))
    facts["interrupted"] = new["interrupted"]
