"""What every kind of question needs: fresh arguments, upstream gradients, derivatives, plain copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Named
from autograder.functions import resolve
from autograder.observation import Answer, Question


def fresh_arguments(question: Question, args: Sequence[Any] | None = None) -> list[Any]:
    """Fresh copies of the arguments: leaves, in the layout and on the device of the question."""
    made: list[Any] = []
    for position, value in enumerate(question.args if args is None else args):
        if isinstance(value, Named):
            value = resolve(value)
        elif isinstance(value, Tensor):
            value = value.to(question.device, copy=True)
            if question.layout == "transposed":
                value = transposed(value)
            if position in question.wants:
                value.requires_grad_(True)
        made.append(value)
    return made


def transposed(tensor: Tensor) -> Tensor:
    """The same values with other strides: dimensions stored in reverse order, every second element."""
    if tensor.dim() == 0:
        return tensor
    roomy = tensor.new_empty(*reversed(tensor.shape), 2)
    view = roomy[..., 0].permute(*reversed(range(tensor.dim())))
    view.copy_(tensor)
    return view.detach()


def fresh_upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is None or not isinstance(output, Tensor):
            made.append(None)
            continue
        given = given.to(output.device, copy=True)
        if question.layout == "expanded":
            given = given.expand(output.shape)
        elif question.layout == "transposed":
            given = transposed(given)
        made.append(given)
    return made


def call(
    submission: Any, args: list[Any], answer: Answer
) -> tuple[tuple[Any, ...], dict[int, Tensor]]:
    """Forward. Fills in the outputs; gives them and the arguments that want a gradient."""
    output = submission(*args)
    answer.single = not isinstance(output, tuple | list)
    if isinstance(output, list):
        answer.data["returned_list"] = True
    outputs = (output,) if answer.single else tuple(output)
    answer.outputs = tuple(plain(v) for v in outputs)
    answer.requires_grad = tuple(isinstance(v, Tensor) and v.requires_grad for v in outputs)
    answer.custom = any(isinstance(v, Tensor) and has_custom_node(v) for v in outputs)
    wanted = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad}
    return outputs, wanted


def plain(value: Any) -> Any:
    """A detached copy of a tensor; a plain value as it is; anything else as its type's name."""
    if isinstance(value, Tensor):
        if value.is_meta:
            return None
        return value.detach().cpu().clone()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__}>"


def has_custom_node(tensor: Tensor) -> bool:
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


def paired(
    outputs: Sequence[Any], upstream: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that have an upstream gradient, and those gradients."""
    pairs = [
        (o, g)
        for o, g in zip(outputs, upstream, strict=False)
        # An output of the wrong shape has no upstream gradient: the shape is the finding.
        if g is not None and isinstance(o, Tensor) and o.requires_grad and o.shape == g.shape
    ]
    return [o for o, _ in pairs], [g for _, g in pairs]


def gradients_of(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    wanted: dict[int, Tensor],
    create_graph: bool = False,
) -> tuple[Tensor | None, ...]:
    roots, grads = paired(outputs, upstream)
    if not roots or not wanted:
        return tuple(None for _ in wanted)
    return torch.autograd.grad(
        roots, list(wanted.values()), grads, allow_unused=True, create_graph=create_graph
    )


def copied(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None or tensor.is_meta else tensor.detach().cpu().clone()


def same_values(a: Tensor, b: Tensor) -> bool:
    if a.is_meta:
        return True
    if a.shape != b.shape:
        return False
    if torch.equal(a, b):
        return True
    # nan is not equal to itself, so unequal is not yet changed.
    a, b = a.detach(), b.detach()
    return bool(((a == b) | ((a != a) & (b != b))).all())


def second_order(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    directions: Sequence[Tensor | None],
    mixed: bool,
    stage: Any = None,
    keep_graph: bool = False,
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:
    """(first, second) derivatives; second holds those for the inputs, then for the upstreams.

    The same code measures the learner's Function and the reference. ``keep_graph`` leaves the graph of
    the outputs usable.
    """
    if stage is not None:
        stage.name = "second"
    roots, grads = paired(outputs, upstream)
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
    second = torch.autograd.grad(
        contraction, [*inputs, *grads], allow_unused=True, retain_graph=keep_graph
    )
    return tuple(map(copied, first)), tuple(map(copied, second))
