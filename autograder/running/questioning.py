"""How each kind of question is put to a submission. Nothing else but the probe calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import (
    Draws,
    as_tuple,
    copied,
    draws_of,
    gradients_of,
    second_order,
)
from autograder.contract.ending import ended_in
from autograder.contract.exercise import Sampler
from autograder.observation.observation import Answer, Question
from autograder.observation.snapshot import changed, moment
from autograder.running import beside_backward
from autograder.running.carried import World, worked
from autograder.running.containment import failure_from
from autograder.running.function_classes import (
    backwards_of,
    classes_of,
    custom_nodes,
    functions,
    in_backward,
    patched,
    without_once_differentiable,
)
from autograder.running.moving_points import QUOTIENT
from autograder.running.structure import kept_of_many, look_around, look_inside, on_ctx
from autograder.running.submission import Submission, fresh_arguments, fresh_upstream
from autograder.running.watching import Watching, counted, repeated_line, work_of

Gradients = tuple[Tensor | None, ...]


@dataclass
class Asking:
    """One question as it is put to a submission: its answer so far, and where in a run we are."""

    submission: Submission
    question: Question
    scenarios: dict[str, Any]
    answer: Answer = field(default_factory=Answer)
    stage: str = "forward"

    def put(self) -> None:
        """Ask; what the submission raises passes through."""
        PROCEDURES[self.question.kind](self, self.question, self.answer)

    def take(self, output: Any) -> tuple[Any, ...]:
        """The outputs that forward gave, which go into the answer."""
        answer, outputs = self.answer, as_tuple(output)
        answer.single = not isinstance(output, tuple | list)
        if isinstance(output, list):
            answer.data["returned_list"] = True
        answer.outputs = tuple(map(_plain, outputs))
        answer.requires_grad = tuple(isinstance(v, Tensor) and v.requires_grad for v in outputs)
        answer.custom = next(custom_nodes(outputs), None) is not None
        return outputs

    def forward(self) -> tuple[list[Any], tuple[Any, ...]]:
        """Fresh arguments, and the outputs for them."""
        args = fresh_arguments(self.question)
        return args, self.take(self.submission(*args))

    def gradients(
        self, args: Sequence[Any], outputs: Sequence[Any], upstream: Sequence[Any] | None = None,
        keep: bool = False,
    ) -> Gradients:  # fmt: skip
        """Copies of the gradients, with the upstream gradients of the question or others; ``keep``: the graph too."""
        self.stage = "backward"
        given = fresh_upstream(self.question, outputs) if upstream is None else upstream
        leaves = list(_wanting(args).values())
        return tuple(map(copied, gradients_of(outputs, given, leaves, retain_graph=keep)))


def _wanting(args: Sequence[Any]) -> dict[int, Tensor]:
    """The arguments that want a gradient, by position."""
    return {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}


def _plain(value: Any) -> Any:
    """A detached copy of a tensor; a plain value as it is; anything else as its type's name."""
    if isinstance(value, Tensor):
        return copied(value)
    known = value is None or isinstance(value, bool | int | float | str)
    return value if known else f"<{type(value).__name__}>"


def _run(ask: Asking, q: Question, answer: Answer) -> None:
    """Forward and backward as a training step does it; looks whether anything was written to.

    A ``target`` is written to in between: backward must refuse or stay right. In dtypes that somebody gave, a second
    pass through the graph shows whether a write does harm there.
    """
    args, looked, twice = fresh_arguments(q), q.looked_for_writes, q.kind == "given"
    # By value: a function may move its input and put it back (a Function may not: torch looks).
    changes = partial(changed, by_value=q.kind == "function")
    before = [moment(a) for a in args if looked]
    drawn = [torch.get_rng_state()]
    outputs = ask.take(ask.submission(*args))
    tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor)]
    # A Function gives an argument back that it wrote to, and said so.
    said = outputs if ask.submission.classes else ()
    written = [i for i in changes(before, args) if not any(args[i] is o for o in said)]
    answer.data["inputs_changed_in_forward"] = written
    answer.data["requires_grad_changed"] = [
        i for i, a in tensors if a.requires_grad != (i in q.wants)
    ]
    if ask.submission.classes:
        answer.data["hooked"] = [i for i, a in tensors if a._backward_hooks]
    answer.data["on_ctx"] = on_ctx(args, outputs)
    upstream = fresh_upstream(q, outputs)
    marks = [moment(g) for g in upstream if looked]
    drawn.append(torch.get_rng_state())
    torch.rand(())  # what is drawn between the two may not be drawn again after them
    draws = Draws()
    if (target := q.more.get("target")) is not None:
        ask.stage = "mutate"
        with torch.no_grad():
            (outputs[0] if target == "output" else args[target]).mul_(3.0).add_(0.7)
    counting, ran = bool(q.more.get("counted")), Watching()
    with in_backward((ask.submission.classes or functions()) if counting else (), ran):
        if upstream:
            answer.gradients = ask.gradients(args, outputs, upstream, keep=twice)
    if counting:
        answer.data["operations"] = work_of(ran.operations)
    now = torch.get_rng_state()
    answer.data["drawn_again"] = any(torch.equal(now, earlier) for earlier in drawn)
    answer.inputs_changed = tuple(changes(before, args))
    # The gradients were asked for without .backward(): whoever filled .grad did it in a backward.
    answer.data["grad_left"] = [i for i, a in tensors if a.is_leaf and a.grad is not None]
    answer.upstream_changed = bool(changed(marks, upstream))
    if twice:
        draws.again()
        with suppress(Exception):  # who frees what forward kept says no to a second pass
            answer.data["again"] = list(ask.gradients(args, outputs))


def _second(ask: Asking, q: Question, answer: Answer) -> None:
    """Gradients of a weighted sum of the gradients; with ``mixed``, in a loss that adds x³.

    Where backward is once differentiable, its second derivatives without that decorator too.
    """
    classes: list[type] = []
    try:
        answer.gradients, answer.second = _differentiated_twice(ask, classes)
    finally:
        if patches := without_once_differentiable(classes):
            answer.data["without_decorator"] = _without(patches, replace(ask, answer=Answer()))


def _differentiated_twice(ask: Asking, classes: list[type]) -> tuple[Gradients, Gradients]:
    """The first and the second derivatives; notes in ``classes`` whose backward is differentiated."""
    q = ask.question
    args, outputs = ask.forward()
    classes += classes_of(outputs)
    upstream = fresh_upstream(q, outputs)
    for g in upstream:
        if g is not None:
            g.requires_grad_(True)
    ask.stage = "second"
    wanted = list(_wanting(args).values())
    return second_order(outputs, upstream, wanted, q.directions, bool(q.more.get("mixed")))


def _without(patches: list[tuple[type, str, Any]], ask: Asking) -> dict[str, Any]:
    """The second derivatives with the patches, or the error that they end in."""
    try:
        with patched(patches):
            _, second = _differentiated_twice(ask, [])
    except Exception as error:  # whichever it is: there is none without the decorator either
        return {"second": [], "error": type(error).__name__}
    return {"second": list(second), "error": ""}


def _interleave(ask: Asking, q: Question, answer: Answer) -> None:
    """Several forwards, then two backwards: nothing may be shared between the calls, or between two passes of one."""
    ask.submission(*fresh_arguments(q, q.more["args"]))  # as to evaluate: nobody asks its gradient
    other = fresh_arguments(q, q.more["args"])
    mine, outputs = ask.forward()
    held = list(map(moment, outputs))
    other_outputs = as_tuple(ask.submission(*other))
    if q.more["unlike"] is not None:
        with suppress(Exception):  # that it can be called so is asked elsewhere
            _alive = ask.submission(*fresh_arguments(q, q.more["unlike"]))
    answer.data["other_outputs"] = list(map(_plain, other_outputs))
    answer.data["overwritten"] = changed(held, outputs)
    draws = Draws()
    answer.gradients = ask.gradients(mine, outputs, keep=True)
    answer.data["other"] = list(ask.gradients(other, other_outputs))
    draws.again()
    try:
        answer.data["again"] = list(ask.gradients(mine, outputs))
    except Exception as error:  # who frees what forward kept says no to a second pass, in words
        answer.data["again_stops"] = failure_from(error, "backward", ask.submission.files)


def _structure(ask: Asking, q: Question, answer: Answer) -> None:
    """Which operations run, and how many bytes stay alive between forward and backward."""
    args = fresh_arguments(q)

    def backward(outputs: tuple[Any, ...]) -> None:
        answer.outputs = tuple(map(_plain, outputs))
        answer.gradients = ask.gradients(args, outputs)

    def forward() -> tuple[Any, ...]:
        return as_tuple(ask.submission(*args))

    classes = ask.submission.classes or tuple(functions())
    seen = look_inside(answer, args, classes, forward, backward, ask.submission.is_class)
    if "moved" in q.more:
        answer.data["moved"] = found = []

        def gradients(args: Sequence[Any]) -> None:
            draws_of(q.case).again()
            given = fresh_arguments(q, args)
            found.append(list(ask.gradients(given, as_tuple(ask.submission(*given)))))

        def tangents(args: Sequence[Any]) -> None:
            draws_of(q.case).again()
            ones = tuple(torch.ones_like(args[i]) for i in q.wants)
            beside_backward.tangents(ask, replace(q, args=tuple(args), directions=ones), q.wants)

        def around(run: Callable[[Sequence[Any]], None], inputs: list[Any], *seen: Any) -> str:
            """Some numbers move alike by chance, but not others as well."""
            said = look_around(classes, run, inputs, *seen)
            return said if said != QUOTIENT else look_around(classes, run, q.more["others"])

        answer.data["elsewhere"] = "backward", around(gradients, q.more["moved"], seen)
        has_jvp = any(name == "jvp" for _, name, _ in backwards_of(ask.submission.classes))
        if has_jvp and (said := around(tangents, [q.args, *q.more["moved"]])):
            answer.data["elsewhere"] = "jvp", said


def _large(ask: Asking, q: Question, answer: Answer) -> None:
    """What stays alive between forward and backward of many rows, and the gradients by what ctx holds alone."""
    args, others = fresh_arguments(q), fresh_arguments(q, q.more["others"])
    ask.submission(*fresh_arguments(q, q.more["args"]))
    world, answer.data["carried"] = None, None
    ask.gradients(others, as_tuple(ask.submission(*others)))
    try:  # once somebody keeps what is kept for a shape, and has forgotten the last call
        world = World(*ask.submission.classes) if ask.submission.classes else None
    except Exception as error:  # what cannot be written, each library says in its own way
        answer.data["carried"] = ended_in(error)
    draws_of(q.case).again()
    held = world.holds(as_tuple(ask.submission(*others))) if world else {}
    draws_of(q.case).again()
    output, answer.kept = kept_of_many(partial(ask.submission, *args), held, world, args)
    outputs = ask.take(output)
    if world is None:
        answer.gradients = ask.gradients(args, outputs)
        return
    carried: Any = None
    try:
        carried, alone = world.backward(outputs, others, partial(ask.gradients, others))
    except Exception as error:  # whatever backward lacks
        carried = ended_in(error)
    answer.gradients, work = worked(world.cls, partial(ask.gradients, args, outputs))
    answer.backward_ops = tuple(work)
    answer.data["carried"] = carried if isinstance(carried, str) else [*carried, alone == work]


def _grown(ask: Asking, q: Question, answer: Answer) -> None:
    """A case as it is and with more rows: the answers to the latter, and the work that both take."""
    answer.data["work"], counts, files = [], [], ask.submission.files
    for args, upstream in ((q.more["args"], q.more["upstream"]), (q.args, q.upstream)):
        asked = replace(q, args=args, upstream=upstream)
        ready = fresh_arguments(asked)
        ask.stage = "forward"
        with counted(files) as forward:
            output = ask.submission(*ready)
        outputs = ask.take(output)
        given, wanted = fresh_upstream(asked, outputs), list(_wanting(ready).values())
        ask.stage = "backward"
        with counted(files) as backward:
            found = gradients_of(outputs, given, wanted)
        work = [forward.operations, forward.lines, backward.operations, backward.lines]
        answer.data["work"].append(work)
        counts.append((forward, backward))
    answer.data["repeated"] = [repeated_line(*both) for both in zip(*counts, strict=True)]
    answer.gradients = tuple(map(copied, found))


def _refusal(ask: Asking, q: Question, answer: Answer) -> None:
    """Arguments that the contract says are refused: forward only."""
    ask.forward()


def _gradcheck(ask: Asking, q: Question, answer: Answer) -> None:
    """torch's own gradcheck on the arguments of the question (float64), along random directions.

    The reference has judged each number.
    """
    args = fresh_arguments(q)
    wanted = _wanting(args)

    def function(*tensors: Tensor) -> Any:
        moved = dict(enumerate(args)) | dict(zip(wanted, tensors, strict=True))
        out = ask.submission(*moved.values())
        return out if isinstance(out, Tensor) else tuple(out)

    ask.stage = "gradcheck"
    torch.autograd.gradcheck(function, tuple(wanted.values()), fast_mode=True)
    answer.data["passed"] = True


def _scenario(ask: Asking, q: Question, answer: Answer) -> None:
    """An exercise's own experiment."""
    answer.data = ask.scenarios[q.more["name"]].run(ask.submission, Sampler(q.more["seed"]))


PROCEDURES: dict[str, Callable[[Asking, Question, Answer], None]] = {
    **dict.fromkeys(("run", "function", "given", "needs", "mutate"), _run),
    "second": _second,
    "interleave": _interleave,
    "structure": _structure,
    "large": _large,
    "grown": _grown,
    "refusal": _refusal,
    "gradcheck": _gradcheck,
    "scenario": _scenario,
    **beside_backward.PROCEDURES,
}
