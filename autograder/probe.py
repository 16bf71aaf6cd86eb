"""The only module that calls the learner's code: questions in, plain observations out.

Nothing here judges. Whatever the submission raises, returns or changes becomes part of an Answer.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.containment import contained, failure_from, files_of
from autograder.exercise import Named, Sampler
from autograder.functions import resolve
from autograder.observation import Answer, BackwardCall, Observation, Question
from autograder.structure import look_inside
from autograder.trace import Snapshot, Trace, functions, record


class Submission:
    """A Function class, or a callable that applies one, made callable in one way."""

    def __init__(self, value: Any):
        self.value = value
        self.is_class = isinstance(value, type) and issubclass(value, Function)
        owner = getattr(value, "__self__", None)
        if not self.is_class and isinstance(owner, type) and issubclass(owner, Function):
            value, self.is_class = owner, True  # MySigmoid.apply says as much as MySigmoid
        self.target = value
        self.files = files_of(value)

    def __call__(self, *args: Any) -> Any:
        return self.target.apply(*args) if self.is_class else self.target(*args)

    @property
    def classes(self) -> tuple[type, ...]:
        """The classes to trace; () means every Function there is (a wrapper may use any)."""
        return (self.target,) if self.is_class else ()


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
    # The two kinds that measure are left alone: recording would show among what they measure.
    watching = question.kind not in ("structure", "gradcheck")
    recording = record(*submission.classes, keep=None, hold=question.kind == "run")
    try:
        with recording if watching else contextlib.nullcontext(trace) as trace:
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


# ---- what every kind does ------------------------------------------------------------------


def _arguments(question: Question, args: Sequence[Any] | None = None) -> list[Any]:
    """Fresh copies of the arguments: leaves, in the layout and on the device of the question."""
    made: list[Any] = []
    for position, value in enumerate(question.args if args is None else args):
        if isinstance(value, Named):
            value = resolve(value)
        elif isinstance(value, Tensor):
            value = value.to(question.device, copy=True)
            if question.layout == "transposed":
                value = _transposed(value)
            if position in question.wants:
                value.requires_grad_(True)
        made.append(value)
    return made


def _transposed(tensor: Tensor) -> Tensor:
    """The same values with other strides: dimensions stored in reverse order, every second element."""
    if tensor.dim() == 0:
        return tensor
    roomy = tensor.new_empty(*reversed(tensor.shape), 2)
    view = roomy[..., 0].permute(*reversed(range(tensor.dim())))
    view.copy_(tensor)
    return view.detach()


def _upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is None:
            made.append(None)
            continue
        given = given.to(output.device, copy=True)
        if question.layout == "expanded":
            given = given.expand(output.shape)
        elif question.layout == "transposed":
            given = _transposed(given)
        made.append(given)
    return made


def _call(
    submission: Submission, args: list[Any], answer: Answer
) -> tuple[tuple[Any, ...], dict[int, Tensor]]:
    """Forward. Fills in the outputs; gives them and the arguments that want a gradient."""
    output = submission(*args)
    answer.single = not isinstance(output, tuple | list)
    outputs = (output,) if answer.single else tuple(output)
    answer.outputs = tuple(_plain(v) for v in outputs)
    answer.requires_grad = tuple(isinstance(v, Tensor) and v.requires_grad for v in outputs)
    answer.custom = any(isinstance(v, Tensor) and _has_custom_node(v) for v in outputs)
    wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
    return outputs, wanted


def _plain(value: Any) -> Any:
    """A detached copy of a tensor; a plain value as it is; anything else as its type's name."""
    if isinstance(value, Tensor):
        if value.is_meta:
            return None
        return value.detach().cpu().clone()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__}>"


def _has_custom_node(tensor: Tensor) -> bool:
    """Whether a hand-written backward node lies between this tensor and the leaves."""
    queue, seen = [tensor.grad_fn], 0
    while queue and seen < 500:
        node = queue.pop()
        if node is None:
            continue
        if hasattr(node, "_forward_cls"):
            return True
        seen += 1
        queue += [n for n, _ in node.next_functions]
    return False


def _paired(
    outputs: Sequence[Any], upstream: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that have an upstream gradient, and those gradients."""
    pairs = [
        (o, g)
        for o, g in zip(outputs, upstream, strict=False)
        if g is not None and isinstance(o, Tensor) and o.requires_grad
    ]
    return [o for o, _ in pairs], [g for _, g in pairs]


def _gradients(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    wanted: dict[int, Tensor],
    create_graph: bool = False,
) -> tuple[Tensor | None, ...]:
    roots, grads = _paired(outputs, upstream)
    if not roots or not wanted:
        return tuple(None for _ in wanted)
    return torch.autograd.grad(
        roots, list(wanted.values()), grads, allow_unused=True, create_graph=create_graph
    )


def _read_trace(trace: Trace, question: Question, answer: Answer) -> None:
    """What the learner's own backward returned, aligned with the arguments of the question."""
    calls = []
    for app in trace.applications:
        if app.inputs_changed:
            answer.data["inputs_changed_in_forward"] = list(app.inputs_changed)
        attributes = [a for a in app.attributes if not a.who.startswith("intermediate")]
        if attributes:
            answer.data["on_ctx"] = [[a.holder, a.who] for a in attributes]
        for call in app.backwards:
            returned = None
            if call.returned is not None:
                returned = tuple(v.values if isinstance(v, Snapshot) else v for v in call.returned)
            calls.append(
                BackwardCall(
                    returned, call.returned_type, call.grad_mode, call.needs,
                    tuple(call.upstream_changed), tuple(call.saved_changed),
                )
            )  # fmt: skip
    answer.backward = tuple(calls)
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
    args = _arguments(q)
    before = [a.detach().clone() if isinstance(a, Tensor) else a for a in args]
    versions = [a._version if isinstance(a, Tensor) else 0 for a in args]
    outputs, wanted = _call(sub, args, answer)
    upstream = _upstream(q, outputs)
    marks = [(g._version, g.detach().clone()) if g is not None else None for g in upstream]
    if upstream:
        stage.name = "backward"
        answer.gradients = tuple(map(_copy, _gradients(outputs, upstream, wanted)))
    answer.inputs_changed = tuple(
        i
        for i, a in enumerate(args)
        if isinstance(a, Tensor) and (a._version != versions[i] or not _same(a, before[i]))
    )
    answer.upstream_changed = any(
        m is not None and g is not None and (g._version != m[0] or not _same(g, m[1]))
        for g, m in zip(upstream, marks, strict=True)
    )


def _copy(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None or tensor.is_meta else tensor.detach().cpu().clone()


def _same(a: Tensor, b: Tensor) -> bool:
    if a.is_meta:
        return True
    a, b = a.detach(), b.detach()
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _second(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Gradients of a weighted sum of the gradients; with ``mixed``, in a loss that adds x³."""
    args = _arguments(q)
    outputs, wanted = _call(sub, args, answer)
    upstream = _upstream(q, outputs)
    for g in upstream:
        if g is not None:
            g.requires_grad_(True)
    answer.gradients, answer.second = second_order(
        outputs, upstream, list(wanted.values()), q.directions, bool(q.more.get("mixed")), stage
    )


def second_order(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    directions: Sequence[Tensor | None],
    mixed: bool,
    stage: Any = None,
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:
    """(first, second) derivatives; second holds those for the inputs, then for the upstreams.

    The same code measures the learner's Function and the reference.
    """
    if stage is not None:
        stage.name = "second"
    roots, grads = _paired(outputs, upstream)
    total = sum(((o * g).sum() for o, g in zip(roots, grads, strict=True)), torch.zeros(()))
    if mixed:
        total = total + sum(((x**3).sum() for x in inputs), torch.zeros(()))
    first = torch.autograd.grad(total, list(inputs), create_graph=True, allow_unused=True)
    contraction = sum(
        (
            (g * d).sum()
            for g, d in zip(first, directions, strict=True)
            if g is not None and d is not None
        ),
        torch.zeros(()),
    )
    second = torch.autograd.grad(contraction, [*inputs, *grads], allow_unused=True)
    return tuple(map(_copy, first)), tuple(map(_copy, second))


def _needs(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Backward when only the argument in ``wants`` needs a gradient."""
    args = _arguments(q)
    outputs, wanted = _call(sub, args, answer)
    stage.name = "backward"
    answer.gradients = tuple(map(_copy, _gradients(outputs, _upstream(q, outputs), wanted)))


def _interleave(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Two forwards, then the backward of the first: nothing may be shared between the calls."""
    args, others = _arguments(q), _arguments(q, q.more["args"])
    outputs, wanted = _call(sub, args, answer)
    ignored = Answer()
    _call(sub, others, ignored)
    stage.name = "backward"
    answer.gradients = tuple(map(_copy, _gradients(outputs, _upstream(q, outputs), wanted)))


def _mutate(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Write to an argument (or the output) after forward: backward must refuse or stay right."""
    args = _arguments(q)
    outputs, wanted = _call(sub, args, answer)
    target = q.more["target"]
    victim = outputs[0] if target == "output" else args[target]
    stage.name = "mutate"
    with torch.no_grad():
        victim.mul_(3.0).add_(0.7)
    stage.name = "backward"
    answer.gradients = tuple(map(_copy, _gradients(outputs, _upstream(q, outputs), wanted)))


def _structure(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Which operations run, and how many bytes stay alive between forward and backward."""
    args = _arguments(q)

    def forward() -> tuple[Any, ...]:
        output = sub(*args)
        return tuple(output) if isinstance(output, tuple | list) else (output,)

    def backward(outputs: tuple[Any, ...]) -> None:
        stage.name = "backward"
        wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
        _gradients(outputs, _upstream(q, outputs), wanted)

    look_inside(answer, args, sub.classes or tuple(functions()), forward, backward)


def _refusal(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """Arguments that the contract says are refused: forward only."""
    stage.name = "call"
    _call(sub, _arguments(q), answer)


def _gradcheck(sub: Submission, q: Question, answer: Answer, stage: _Stage, _: Any) -> None:
    """torch's own gradcheck, or gradgradcheck, on the arguments of the question (float64)."""
    checker = torch.autograd.gradcheck if q.more["order"] == 1 else torch.autograd.gradgradcheck
    args = _arguments(q)
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
    args = _arguments(q)
    before = [a.detach().clone() if isinstance(a, Tensor) else a for a in args]
    versions = [a._version if isinstance(a, Tensor) else 0 for a in args]
    output = sub(*args)
    answer.single = not isinstance(output, tuple | list)
    outputs = (output,) if answer.single else tuple(output)
    answer.outputs = tuple(_plain(v) for v in outputs)
    answer.requires_grad = tuple(isinstance(v, Tensor) and v.requires_grad for v in outputs)
    answer.inputs_changed = tuple(
        i
        for i, a in enumerate(args)
        if isinstance(a, Tensor) and (a._version != versions[i] or not _same(a, before[i]))
    )
    answer.data["grad_left"] = [
        i for i, a in enumerate(args) if isinstance(a, Tensor) and a.grad is not None
    ]
    answer.data["requires_grad_changed"] = [
        i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad != (i in q.wants)
    ]
    if q.upstream:
        wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
        answer.gradients = tuple(map(_copy, _gradients(outputs, _upstream(q, outputs), wanted)))


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
