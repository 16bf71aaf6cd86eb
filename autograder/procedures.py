"""How each kind of question is put to a submission: the only code, with the probe, that calls it.

A procedure gets the submission, the question, an answer to fill in, and the stage to keep up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.calls import patched
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
from autograder.observation import Answer, Question
from autograder.once import without_once_differentiable
from autograder.structure import classes_of, kept_by_nodes, look_inside
from autograder.submission import Submission
from autograder.trace import functions
from autograder.work import counted, operations_in_backward, repeated_line


class Stage:
    """Where in a run we are, so that a failure can say so."""

    def __init__(self) -> None:
        self.name = "forward"


def _run(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
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


def _second(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
    """Gradients of a weighted sum of the gradients; with ``mixed``, in a loss that adds x³.

    Where backward is once differentiable, its second derivatives without that decorator too.
    """
    classes: list[type] = []
    try:
        answer.gradients, answer.second = _differentiated_twice(sub, q, answer, stage, classes)
    finally:
        if patches := without_once_differentiable(classes):
            answer.data["without_decorator"] = _without(patches, sub, q)


def _differentiated_twice(
    sub: Submission, q: Question, answer: Answer, stage: Stage, classes: list[type]
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:
    """The first and the second derivatives; notes in ``classes`` whose backward is differentiated."""
    args = fresh_arguments(q)
    outputs, wanted = call(sub, args, answer)
    classes += classes_of(outputs)
    if q.visible:  # a visible check asks no other question that shows what is kept
        answer.kept = tuple(kept_by_nodes(args, outputs))
    upstream = fresh_upstream(q, outputs)
    for g in upstream:
        if g is not None:
            g.requires_grad_(True)
    return second_order(
        outputs, upstream, list(wanted.values()), q.directions, bool(q.more.get("mixed")), stage
    )


def _without(patches: list[tuple[type, str, Any]], sub: Submission, q: Question) -> dict[str, Any]:
    """The second derivatives with the patches, or the error that they end in."""
    try:
        with patched(patches):
            _, second = _differentiated_twice(sub, q, Answer(), Stage(), [])
    except Exception as error:  # whichever it is: there is none without the decorator either
        return {"second": [], "error": type(error).__name__}
    return {"second": list(second), "error": ""}


def _needs(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
    """Backward when only the arguments in ``wants`` need a gradient, and how many operations it takes."""
    args = fresh_arguments(q)
    outputs, wanted = call(sub, args, answer)
    stage.name = "backward"
    upstream = fresh_upstream(q, outputs)
    if not q.more.get("counted"):
        answer.gradients = tuple(map(copied, gradients_of(outputs, upstream, wanted)))
        return
    with operations_in_backward(sub.classes or tuple(functions())) as work:
        found = gradients_of(outputs, upstream, wanted)
    answer.gradients = tuple(map(copied, found))
    answer.data["operations"] = work.operations


def _interleave(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
    """Several forwards, then two backwards: nothing may be shared between the calls."""
    mine, other = fresh_arguments(q), fresh_arguments(q, q.more["args"])
    outputs, wanted = call(sub, mine, answer)
    other_outputs, other_wanted = call(sub, other, Answer())
    if q.more["unlike"] is not None:
        _alive = call(sub, fresh_arguments(q, q.more["unlike"]), Answer())
    stage.name = "backward"
    answer.gradients = tuple(map(copied, gradients_of(outputs, fresh_upstream(q, outputs), wanted)))
    found = gradients_of(other_outputs, fresh_upstream(q, other_outputs), other_wanted)
    answer.data["other"] = list(map(copied, found))


def _mutate(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
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


def _structure(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
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


def _grown(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
    """A case as it is and with more rows: the answers to the latter, and the work that both take."""
    answer.data["work"], counts = [], []
    for args, upstream in ((q.more["args"], q.more["upstream"]), (q.args, q.upstream)):
        asked = replace(q, args=args, upstream=upstream)
        ready = fresh_arguments(asked)
        stage.name = "forward"
        with counted(sub.files) as forward:
            output = sub(*ready)
        outputs, wanted = call(lambda *_, made=output: made, ready, answer)
        given = fresh_upstream(asked, outputs)
        stage.name = "backward"
        with counted(sub.files) as backward:
            found = gradients_of(outputs, given, wanted)
        work = [forward.operations, forward.lines, backward.operations, backward.lines]
        answer.data["work"].append(work)
        counts.append((forward, backward))
    few, many = counts
    answer.data["repeated"] = [repeated_line(a, b) for a, b in zip(few, many, strict=True)]
    answer.gradients = tuple(map(copied, found))


def _refusal(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
    """Arguments that the contract says are refused: forward only."""
    stage.name = "call"
    call(sub, fresh_arguments(q), answer)


def _gradcheck(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
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


def _function(sub: Submission, q: Question, answer: Answer, stage: Stage, _: Any) -> None:
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
    answer.data["changed_by"] = [_difference(args[i], before[i]) for i in answer.inputs_changed]
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


def _difference(now: Tensor, before: Tensor) -> float:
    """The largest change of an element, as a share of the largest one; infinite where that says nothing."""
    numbers = now.shape == before.shape and before.is_floating_point() and before.numel()
    if not numbers or not bool(before.any()):
        return float("inf")
    return float((now.detach() - before).abs().max() / before.abs().max())


def _scenario(sub: Submission, q: Question, answer: Answer, stage: Stage, scenarios: Any) -> None:
    """An exercise's own experiment."""
    stage.name = "call"
    answer.data = scenarios[q.more["name"]].run(sub, Sampler(q.more["seed"]))


PROCEDURES: dict[str, Callable[..., None]] = {
    "run": _run,
    "second": _second,
    "needs": _needs,
    "interleave": _interleave,
    "mutate": _mutate,
    "structure": _structure,
    "grown": _grown,
    "refusal": _refusal,
    "gradcheck": _gradcheck,
    "function": _function,
    "scenario": _scenario,
}
