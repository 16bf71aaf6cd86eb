"""First and second derivatives: the same measurement of a learner's Function and of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


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


def copied(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None or tensor.is_meta else tensor.detach().cpu().clone()


def second_order(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    directions: Sequence[Tensor | None],
    mixed: bool,
    keep_graph: bool = False,
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:
    """(first, second) derivatives; second holds those for the inputs, then for the upstreams.

    The same code measures the learner's Function and the reference. ``keep_graph`` leaves the graph of
    the outputs usable.
    """
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
