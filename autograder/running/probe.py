"""Questions in, plain observations out: with its procedures, all that calls the learner's code.

Nothing here judges. Whatever the submission raises, returns or changes becomes part of an Answer.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from autograder.contract.differentiation import draws_of
from autograder.contract.ending import errors_only
from autograder.observation.observation import (
    Answer,
    BackwardCall,
    Observation,
    Question,
)
from autograder.observation.snapshot import Moment, changed, moment
from autograder.running.carried import saved_of
from autograder.running.containment import contained, failure_from
from autograder.running.function_classes import functions, instead_of_backwards, passes_inside
from autograder.running.meta_tensors import QuickMeta
from autograder.running.questioning import Asking
from autograder.running.submission import Submission
from autograder.running.value_flow import Flow, flow_of
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
            answer = _ask(Asking(submission, question, scenarios))
            if seen.interrupted or not stop():  # what ran out of time is not answered
                observation.answers[question.id] = answer
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
    submission, question, answer = ask.submission, ask.question, ask.answer
    # Listening shows among what is measured: only where a rule reads what is heard.
    meta, calls = question.device == "meta", list[BackwardCall]()
    watching = question.kind in ("run", "given", "needs") and not meta
    with contextlib.ExitStack() as watched:
        try:
            if meta:
                watched.enter_context(QuickMeta())
            if watching:
                ends = last_returns(submission.several_returns)
                answer.returned_at = watched.enter_context(ends)
                listening = _heard(submission.classes or functions(), question.looked_for_writes)
                calls = watched.enter_context(listening)
            inner: list[str] = []
            if question.kind not in ("gradcheck", "scenario", "function"):
                watch = passes_inside(submission.codes, Asking.put.__code__)
                inner = watched.enter_context(watch)
            _put(ask)
            if inner:
                answer.data["passes_inside"] = inner[:1]
        # SystemExit and KeyboardInterrupt too: a submission may raise them.
        except BaseException as error:
            watched.close()
            stage = _stage(ask, calls) if watching else ask.stage
            answer.failure = failure_from(error, stage, submission.files)
            error.__traceback__ = None
    for call in calls:  # as it was returned: torch may go on with these very tensors
        call.returned = call.returned and tuple(map(_plain, call.returned))
    answer.raw = _only(calls, question)
    answer.backward = tuple(calls) if question.looked_for_writes else ()
    return answer


def answered(
    value: Any,
    question: Question,
    scenarios: dict[str, Any],
    instead: AbstractContextManager[Any] | None = None,
) -> Answer:
    """What is answered to one question, and nothing of how: a tenth of the time. Inside ``contained``.

    instead  what is on meanwhile: it looks at one value on the way, or puts another in its place
    """
    ask = Asking(Submission(value), question, scenarios)
    with instead or contextlib.nullcontext():
        raw = _answered(ask)
    if question.kind in ("run", "needs"):
        ask.answer.raw = raw
    return ask.answer


def _answered(ask: Asking) -> tuple[Any, ...] | None:
    """Put a question; what backward returned, where that was heard."""
    owner, question = ask.submission.value, ask.question
    # The classes that a submission is or shows, without a look at every Function there is.
    classes = ask.submission.classes or ((owner,) if isinstance(owner, type) else ())
    with _heard(classes) as calls:
        try:
            with errors_only():
                _put(ask)
        except Exception as error:  # of a gradient of another shape, too
            ask.answer.failure = failure_from(error, _stage(ask, calls), ask.submission.files)
    return _only(calls, question)


def flow(value: Any, question: Question, scenarios: dict[str, Any]) -> Flow:
    """How what is answered to one question came about, operation by operation."""
    submission = Submission(value)
    with contained():
        return flow_of(
            lambda answer: _answered(Asking(submission, question, scenarios, answer)),
            question, submission.files,
        )  # fmt: skip


@contextlib.contextmanager
def _heard(classes: Iterable[type], looked: bool = False) -> Iterator[list[BackwardCall]]:
    """What the backwards of these classes return, each time that one is called inside the block.

    looked  whether they write to what they are given is looked at as well
    """
    calls: list[BackwardCall] = []

    def heard(user: Callable[..., Any], ctx: Any, *grads: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():  # which could not take this in
            return user(ctx, *grads)
        given = [tree_leaves(grads), saved_of(ctx)] if looked else []
        before = [list(map(moment, tensors)) for tensors in given]
        call = BackwardCall(inputs=len(ctx.needs_input_grad))
        calls.append(call)
        returned = user(ctx, *grads)
        call.returned_type = type(returned).__name__
        call.returned = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
        if looked:
            written = [tuple(changed(*each)) for each in zip(before, given, strict=True)]
            call.upstream_changed, call.saved_changed = written
        return returned

    with instead_of_backwards(classes, heard):
        yield calls


def _stage(ask: Asking, calls: list[BackwardCall]) -> str:
    """Where a run stopped: in the engine where backward came to its end, and torch refused what it returned."""
    ended = all(call.returned is not None for call in calls)
    return "engine" if ask.stage == "backward" and ended else ask.stage


def _plain(value: Any) -> Any:
    now = moment(value)
    return now.values if isinstance(now, Moment) else now


def _only(calls: list[BackwardCall], question: Question) -> tuple[Any, ...] | None:
    """What the one call of backward returned, a value for each argument; None where it is otherwise."""
    single = len(calls) == 1 and calls[0].inputs == len(question.args)
    return calls[0].returned if single else None


def _put(ask: Asking) -> None:
    """Put a question, and watch nothing. Inside ``contained``."""
    draws_of(ask.question.case).again()  # what a submission draws for it is the same each time
    try:
        ask.put()
    finally:
        torch.set_grad_enabled(True)
