"""Questions in, plain observations out: with its procedures, all that calls the learner's code.

Nothing here judges. Whatever the submission raises, returns or changes becomes part of an Answer.
"""

from __future__ import annotations

import contextlib
import gc
import random
import zlib
from collections.abc import Sequence
from typing import Any

import torch

from autograder.arithmetic import Element, follow, to_be_followed
from autograder.containment import contained, failure_from
from autograder.meta import QuickMeta
from autograder.observation import LOOKED_FOR_WRITES, Answer, BackwardCall, Observation, Question
from autograder.operands import look_again
from autograder.procedures import PROCEDURES, Stage
from autograder.returning import last_returns
from autograder.snapshot import Moment
from autograder.submission import Submission
from autograder.trace import Trace, record


def probe(value: Any, questions: Sequence[Question], scenarios: dict[str, Any]) -> Observation:
    """Put every question to the submission. Stops early only when a person interrupts."""
    submission = Submission(value)
    observation = Observation()
    was_collecting = gc.isenabled()
    with contained() as seen:
        for question in questions:
            answer = _ask(submission, question, scenarios)
            observation.answers[question.id] = answer
            if seen.interrupted:
                answer.interrupted = True
                break
    if was_collecting:
        gc.enable()
    observation.facts = {
        "printed": seen.printed,
        "changed": list(dict.fromkeys(seen.changed)),
        "interrupted": seen.interrupted,
    }
    return observation


def _ask(submission: Submission, question: Question, scenarios: dict[str, Any]) -> Answer:
    answer, stage = Answer(), Stage()
    trace = Trace()
    keep_rng = torch.get_rng_state()
    # What a submission (or gradgradcheck) draws is the same each time: so is the verdict.
    torch.default_generator.manual_seed(zlib.crc32(question.id.encode()))
    random.seed(question.id)
    # Recording takes time, and shows among what is measured: only where a rule reads the trace.
    meta = question.device == "meta"
    watching = question.kind in ("run", "needs", "function") and not meta
    holds = question.kind == "run" and question.variant in LOOKED_FOR_WRITES
    recording = record(*submission.classes, keep=None, hold=holds, details=False)
    try:
        quick = QuickMeta() if meta else contextlib.nullcontext()
        ends = last_returns(submission.several_returns if watching else frozenset())
        with (
            quick,
            ends as lines,
            recording if watching else contextlib.nullcontext(trace) as trace,
        ):
            answer.returned_at = lines
            PROCEDURES[question.kind](submission, question, answer, stage, scenarios)
    except (
        BaseException
    ) as error:  # SystemExit and KeyboardInterrupt too: a submission may raise them
        name = stage.name
        ended = not any(b.error for a in trace.applications for b in a.backwards)
        if name == "backward" and ended and watching:
            name = (
                "engine"  # the learner's backward came to its end; torch refused what it returned
            )
        answer.failure = failure_from(error, name, submission.files)
        error.__traceback__ = None
        if (
            question.kind in ("run", "function")
            and question.role in ("main", "batch")
            and not question.variant
        ):
            look_again(
                answer.failure,
                lambda: PROCEDURES[question.kind](
                    submission, question, Answer(), Stage(), scenarios
                ),
                submission.files,
            )
    finally:
        torch.set_rng_state(keep_rng)
        torch.set_grad_enabled(True)
    _read_trace(trace, question, answer)
    if to_be_followed(question, answer):
        answer.data["arithmetic"] = _followed(submission, question, scenarios)
    return answer


def follow_one(
    value: Any, question: Question, scenarios: dict[str, Any], wrong: Element
) -> list[dict[str, Any]]:
    """What happened on the way to one element of a question's answer that is finite and wrong."""
    with contained():
        return _followed(Submission(value), question, scenarios, wrong)


def _followed(
    submission: Submission,
    question: Question,
    scenarios: dict[str, Any],
    wrong: Element | None = None,
) -> list[dict[str, Any]]:
    """Put a question again, with the same random numbers, and follow each operation."""
    keep_rng = torch.get_rng_state()

    def run(answer: Answer) -> None:
        torch.default_generator.manual_seed(zlib.crc32(question.id.encode()))
        random.seed(question.id)
        PROCEDURES[question.kind](submission, question, answer, Stage(), scenarios)

    try:
        return follow(run, submission.files, wrong)
    finally:
        torch.set_rng_state(keep_rng)
        torch.set_grad_enabled(True)


def _read_trace(trace: Trace, question: Question, answer: Answer) -> None:
    """What the learner's own backward returned, aligned with the arguments of the question."""
    calls = []
    for app in trace.applications:
        if app.inputs_changed:
            answer.data["inputs_changed_in_forward"] = list(app.inputs_changed)
        if app.attributes:
            answer.data["on_ctx"] = [[a.holder, a.who] for a in app.attributes]
        for each in app.backwards:
            returned = None
            if each.returned is not None:
                returned = tuple(v.values if isinstance(v, Moment) else v for v in each.returned)
            calls.append(
                BackwardCall(
                    returned, each.returned_type, each.grad_mode, each.needs,
                    tuple(each.upstream_changed), tuple(each.saved_changed),
                )
            )  # fmt: skip
    answer.backward = tuple(calls)
    if question.kind == "function":  # a Function that it applies has arguments of its own
        return
    single = [a for a in trace.applications if a.backwards]
    if len(single) == 1 and single[0].backwards[0].returned is not None and single[0].inputs:
        first = calls[0]
        answer.raw_count = len(first.returned or ())
        answer.expected_count = len(single[0].inputs)
        if answer.expected_count == len(question.args):
            answer.raw = first.returned
