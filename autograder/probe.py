"""The only module that calls the learner's code: questions in, plain observations out.

Nothing here judges. Whatever the submission raises, returns or changes becomes part of an Answer.
"""

from __future__ import annotations

import contextlib
import gc
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.containment import contained, failure_from
from autograder.exercise import Sampler
from autograder.materials import (
    call,
    copied,
    fresh_arguments,
    fresh_upstream,
    gradients_of,
    plain,
    same_values,
    second_order,
)
from autograder.meta import QuickMeta
from autograder.observation import Answer, BackwardCall, Observation, Question
from autograder.snapshot import Moment
from autograder.structure import look_inside
from autograder.submission import Submission
from autograder.trace import Trace, functions, record


class _Stage:
    """Where in a run we are, so that a failure can say so."""

    def __init__(self) -> None:
        self.name = "forward"


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
    answer, stage = Answer(), _Stage()
    trace = Trace()
    keep_rng = torch.get_rng_state()
    # What a submission (or gradgradcheck) draws is the same each time: so is the verdict.
    torch.default_generator.manual_seed(zlib.crc32(question.id.encode()))
    random.seed(question.id)
    # The kinds that measure are left alone: recording would show among what they measure.
    watching = question.kind not in ("structure", "gradcheck", "scenario")
    holds = question.kind == "run"
    recording = record(*submission.classes, keep=None, hold=holds, details=False)
    try:
        quick = QuickMeta() if question.device == "meta" else contextlib.nullcontext()
        with quick, recording if watching else contextlib.nullcontext(trace) as trace:
            _KINDS[question.kind](submission, question, answer, stage, scenarios)
    except (
        BaseException
    ) as error:  # SystemExit and KeyboardInterrupt too: a submission may raise them
        name = stage.name
        if name == "backward" and not any(b.error for a in trace.applications for b in a.backwards):
            name = (
                "engine"  # the learner's backward came to its end; torch refused what it returned
            )
        answer.failure = failure_from(error, name, submission.files)
        error.__traceback__ = None
    finally:
        torch.set_rng_state(keep_rng)
        torch.set_grad_enabled(True)
    _read_trace(trace, question, answer)
    return answer


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


# ---- the kinds of question -----------------------------------------------------------------


def _run(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Forward and backward as a training step does it; looks whether anything was written to."""
    args = fresh_arguments(q)
    before = [a.detach().clone() if isinstance(a, Tensor) else a for a in args]
    versions = [a._version if isinstance(a, Tensor) else 0 for a in args]
    outputs, wanted = call(sub, args, answer)
    upstream = fresh_upstream(q, outputs)
    marks = [(g._version, g.detach().clone()) if g is not None else None for g in upstream]
    if upstream:
        stage.name = "backward"
        answer.gradients = tuple(map(copied, gradients_of(outputs, upstream, wanted)))
    answer.inputs_changed = tuple(
        i
        for i, a in enumerate(args)
        if isinstance(a, Tensor) and (a._version != versions[i] or not same_values(a, before[i]))
    )
    # The gradients were asked for without .backward(): whoever filled .grad did it in a backward.
    answer.data["grad_left"] = [
        i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_leaf and a.grad is not None
    ]
    answer.upstream_changed = any(
        m is not None and g is not None and (g._version != m[0] or not same_values(g, m[1]))
        for g, m in zip(upstream, marks, strict=True)
    )


def _second(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Gradients of a weighted sum of the gradients; with ``mixed``, in a loss that adds x³."""
    args = fresh_arguments(q)
    outputs, wanted = call(sub, args, answer)
    upstream = fresh_upstream(q, outputs)
    for g in upstream:
        if g is not None:
            g.requires_grad_(True)
    answer.gradients, answer.second = second_order(
        outputs, upstream, list(wanted.values()), q.directions, bool(q.more.get("mixed")), stage
    )


def _needs(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Backward when only the argument in ``wants`` needs a gradient."""
    args = fresh_arguments(q)
    outputs, wanted = call(sub, args, answer)
    stage.name = "backward"
    answer.gradients = tuple(map(copied, gradients_of(outputs, fresh_upstream(q, outputs), wanted)))


def _interleave(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Two forwards, then both backwards: nothing may be shared between the calls."""
    mine, other = fresh_arguments(q), fresh_arguments(q, q.more["args"])
    ignored, later = Answer(), bool(q.more.get("later"))
    if later:
        other_outputs, other_wanted = call(sub, other, ignored)
    outputs, wanted = call(sub, mine, answer)
    if not later:
        other_outputs, other_wanted = call(sub, other, ignored)
    stage.name = "backward"
    if later:
        gradients_of(other_outputs, fresh_upstream(q, other_outputs), other_wanted)
    answer.gradients = tuple(map(copied, gradients_of(outputs, fresh_upstream(q, outputs), wanted)))


def _mutate(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Write to an argument (or the output) after forward: backward must refuse or stay right."""
    args = fresh_arguments(q)
    outputs, wanted = call(sub, args, answer)
    target = q.more["target"]
    victim = outputs[0] if target == "output" else args[target]
    stage.name = "mutate"
    with torch.no_grad():
        victim.mul_(3.0).add_(0.7)
    stage.name = "backward"
    answer.gradients = tuple(map(copied, gradients_of(outputs, fresh_upstream(q, outputs), wanted)))


def _structure(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Which operations run, and how many bytes stay alive between forward and backward."""
    args = fresh_arguments(q)

    def forward() -> tuple[Any, ...]:
        output = sub(*args)
        return tuple(output) if isinstance(output, tuple | list) else (output,)

    def backward(outputs: tuple[Any, ...]) -> None:
        stage.name = "backward"
        wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
        gradients_of(outputs, fresh_upstream(q, outputs), wanted)

    look_inside(answer, args, sub.classes or tuple(functions()), forward, backward)


def _refusal(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Arguments that the contract says are refused: forward only."""
    stage.name = "call"
    call(sub, fresh_arguments(q), answer)


def _gradcheck(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """torch's own gradcheck, or gradgradcheck, on the arguments of the question (float64)."""
    checker = torch.autograd.gradcheck if q.more["order"] == 1 else torch.autograd.gradgradcheck
    args = fresh_arguments(q)
    positions = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]

    def function(*tensors: Tensor) -> Any:
        full = list(args)
        for position, tensor in zip(positions, tensors, strict=True):
            full[position] = tensor
        out = sub(*full)
        return out if isinstance(out, Tensor) else tuple(out)

    stage.name = "gradcheck"
    checker(function, tuple(args[i] for i in positions))
    answer.data["passed"] = True


def _function(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """A plain function: its value, and (where asked) the gradient through it."""
    stage.name = "call"
    args = fresh_arguments(q)
    before = [a.detach().clone() if isinstance(a, Tensor) else a for a in args]
    output = sub(*args)
    answer.single = not isinstance(output, tuple | list)
    if isinstance(output, list):
        answer.data["returned_list"] = True
    outputs = (output,) if answer.single else tuple(output)
    answer.outputs = tuple(plain(v) for v in outputs)
    answer.requires_grad = tuple(isinstance(v, Tensor) and v.requires_grad for v in outputs)
    # By value: a function may move its input and put it back (a Function may not: torch looks).
    answer.inputs_changed = tuple(
        i for i, a in enumerate(args) if isinstance(a, Tensor) and not same_values(a, before[i])
    )
    answer.data["grad_left"] = [
        i for i, a in enumerate(args) if isinstance(a, Tensor) and a.grad is not None
    ]
    answer.data["requires_grad_changed"] = [
        i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad != (i in q.wants)
    ]
    if q.upstream:
        wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
        answer.gradients = tuple(
            map(copied, gradients_of(outputs, fresh_upstream(q, outputs), wanted))
        )


def _scenario(sub: Submission, q: Question, answer: Answer, stage: _Stage, scenarios: Any) -> None:
    """An exercise's own experiment."""
    stage.name = "call"
    answer.data = scenarios[q.more["name"]].run(sub, Sampler(q.more["seed"]))


_KINDS: dict[str, Callable[..., None]] = {
    "run": _run,
    "second": _second,
    "needs": _needs,
    "interleave": _interleave,
    "mutate": _mutate,
    "structure": _structure,
    "refusal": _refusal,
    "gradcheck": _gradcheck,
    "function": _function,
    "scenario": _scenario,
}
