"""Questions in, plain observations out: with its procedures, all that calls the learner's code.

Nothing here judges. Whatever the submission raises, returns or changes becomes part of an Answer.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import draws_of
from autograder.contract.ending import errors_only
from autograder.observation.observation import (
    Answer,
    BackwardCall,
    Failure,
    Observation,
    Question,
)
from autograder.observation.snapshot import Moment, moment
from autograder.running.containment import contained, failure_from
from autograder.running.function_classes import passes_inside, patched
from autograder.running.meta_tensors import QuickMeta
from autograder.running.questioning import Asking
from autograder.running.submission import Submission
from autograder.running.trace import Trace, record
from autograder.running.value_flow import Flow, Looking, flow_of
from autograder.running.watching import last_returns


def probe(
    value: Any, questions: Sequence[Question], scenarios: dict[str, Any],
    stop: Callable[[], bool] = lambda: False,
) -> Observation:  # fmt: skip
    """Put every question to the submission. Stops early when a person interrupts, and where ``stop`` says so."""
    submission = Submission(value)
    observation = Observation()
    was_collecting = gc.isenabled()
    with contained() as seen:
        for question in questions:
            if stop():
                break
            observation.answers[question.id] = _ask(Asking(submission, question, scenarios))
            if seen.interrupted:
                break
    if was_collecting:
        gc.enable()
    observation.facts = {
        "printed": seen.printed,
        "changed": list(dict.fromkeys(seen.changed)),
        "interrupted": seen.interrupted,
    }
    return observation


def _ask(ask: Asking) -> Answer:
    submission, question, answer, trace = ask.submission, ask.question, ask.answer, Trace()
    # Recording takes time, and shows among what is measured: only where a rule reads the trace.
    meta, returned = question.device == "meta", None
    watching = question.kind in ("run", "needs") and not meta
    with contextlib.ExitStack() as watched:
        try:
            if meta:
                watched.enter_context(QuickMeta())
            if watching:
                ends = last_returns(submission.several_returns)
                answer.returned_at = watched.enter_context(ends)
                if question.looked_for_writes or not _can_be_heard(submission.target):
                    recording = record(
                        *submission.classes, keep=None, hold=question.kind == "run", details=False,
                        recorder=submission.recorder,
                    )  # fmt: skip
                    trace = watched.enter_context(recording)
                else:
                    returned = watched.enter_context(_heard(submission.target))
            inner: list[str] = []
            if question.kind in ("run", "second", "needs", "structure"):
                watch = passes_inside(submission.codes, Asking.put.__code__)
                inner = watched.enter_context(watch)
            _put(ask)
            if inner:
                answer.data["passes_inside"] = inner[:1]
        # SystemExit and KeyboardInterrupt too: a submission may raise them.
        except BaseException as error:
            watched.close()
            stage = ask.stage
            ended = returned != [] and not any(
                b.error for a in trace.applications for b in a.backwards
            )
            if stage == "backward" and ended and watching:
                stage = "engine"  # the learner's backward came to its end; torch refused what it returned
            answer.failure = failure_from(error, stage, submission.files)
            error.__traceback__ = None
    if returned is None:
        _read_trace(trace, question, answer)
    elif (raw := _only(returned, question)) is not None:
        answer.raw = tuple(v.detach() if isinstance(v, Tensor) else moment(v) for v in raw)
    return answer


def answered(
    value: Any, question: Question, scenarios: dict[str, Any], instead: Looking | None = None
) -> Answer:
    """What is answered to one question, and nothing of how: a tenth of the time. Inside ``contained``.

    instead  looks at one value on the way, or puts another in its place
    """
    ask = Asking(Submission(value), question, scenarios)
    with _heard(value) as returned, instead or contextlib.nullcontext():
        try:
            with errors_only():
                _put(ask)
        except Exception as error:
            stage = "engine" if ask.stage == "backward" and returned else ask.stage
            ask.answer.failure = Failure(stage, type(error).__name__, "")
    if question.kind in ("run", "needs"):
        ask.answer.raw = _only(returned, question)
    return ask.answer


def flow(value: Any, question: Question, scenarios: dict[str, Any]) -> Flow:
    """How what is answered to one question came about, operation by operation."""
    submission = Submission(value)

    def run(answer: Answer) -> Any:
        with _heard(value) as returned:
            with (
                contextlib.suppress(Exception),
                errors_only(),
            ):  # of a gradient of another shape, too
                _put(Asking(submission, question, scenarios, answer))
            return _only(returned, question)

    with contained():
        return flow_of(run, question, submission.files)


@contextlib.contextmanager
def _heard(value: Any) -> Iterator[list[tuple[Any, ...]]]:
    """What the backward of a class returns, each time that it is called inside the block."""
    returned: list[tuple[Any, ...]] = []
    own = value.backward if _can_be_heard(value) else None

    def backward(*given: Any) -> Any:
        values = own(*given)  # type: ignore[misc]
        returned.append(values if isinstance(values, tuple) else (values,))
        return values

    with patched([(value, "backward", staticmethod(backward))] if own else []):
        yield returned


def _can_be_heard(value: Any) -> bool:
    """Whether it is a class with a backward of its own, in the usual form."""
    return isinstance(value, type) and isinstance(vars(value).get("backward"), staticmethod)


def _only(returned: list[tuple[Any, ...]], question: Question) -> tuple[Any, ...] | None:
    """What the one call of backward returned, a value for each argument; None where it is otherwise."""
    single = len(returned) == 1 and len(returned[0]) == len(question.args)
    return returned[0] if single else None


def _put(ask: Asking) -> None:
    """Put a question, and watch nothing. Inside ``contained``."""
    draws_of(ask.question.case).again()  # what a submission draws for it is the same each time
    try:
        ask.put()
    finally:
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
            changed = tuple(each.upstream_changed), tuple(each.saved_changed)
            calls.append(BackwardCall(returned, each.returned_type, *changed))
    answer.backward = tuple(calls)
    if question.kind == "function":  # a Function that it applies has arguments of its own
        return
    single = [a for a in trace.applications if a.backwards]
    if len(single) == 1 and len(single[0].inputs) == len(question.args):
        answer.raw = calls[0].returned
