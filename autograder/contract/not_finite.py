"""Numbers that are not finite, among arguments and outputs: no difference is taken of them, and all others are judged as ever.

An argument that is nan or infinite stays as it is while others move, and an output that is one counts as a constant. What
backward gives for either is not judged: a right exp gives nan at infinity, where 0 comes from above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.real_numbers import flat_of, is_differentiable

Backward = Callable[[Sequence[Any], Sequence[int], Sequence[Any]], Sequence[Tensor]]


def finite(numbers: Tensor) -> Tensor:
    """The same with 0 in the place of what is not finite."""
    return torch.where(numbers.isfinite(), numbers, torch.zeros_like(numbers))


def all_finite(values: Sequence[Any]) -> bool:
    return all(bool(v.isfinite().all()) for v in values if is_differentiable(v))


def told_of(gradient: Tensor, at: Tensor) -> Tensor:
    """What a gradient says of the numbers that are moved, in a row."""
    return torch.where(flat_of(at).isfinite(), flat_of(gradient), 0.0)


def not_judged(
    args: Sequence[Any], wanted: Sequence[int], outputs: Sequence[Any], grads: Sequence[Any],
    own: Callable[[], Mapping[int, Tensor]], backward: Backward,
) -> dict[int, tuple[Tensor, Tensor]]:  # fmt: skip
    """By position, which numbers of a gradient nobody can judge, if their slopes are 0, and which in any case; {} where all are finite.

    own  what backward says the gradients are
    """
    if all_finite([args[p] for p in wanted]) and all_finite(outputs):
        return {}
    given = own()
    unknown = {p: ~args[p].isfinite() for p in given}
    if all_finite(outputs):
        return {p: (each, each) for p, each in unknown.items()}
    asked = any(g is not None and bool(g[~o.isfinite()].any()) for o, g in zip(outputs, grads, strict=True) if is_differentiable(o))  # fmt: skip
    reached = _reached(args, outputs, given, backward)
    return {
        p: (reached[p] & (g == 0), unknown[p] | reached[p] & (asked | ~g.isfinite()))
        for p, g in given.items()
    }


def _reached(
    args: Sequence[Any], outputs: Sequence[Any], given: Mapping[int, Tensor], backward: Backward
) -> dict[int, Tensor]:
    """By position, to which numbers backward leads from the outputs that are not finite, where all are ordinary numbers."""
    made = list(args)
    for p, g in given.items():
        good = args[p].isfinite() & g.isfinite()
        usual = args[p][good][: 1 + int(good.sum()) // 2][-1:]
        made[p] = torch.where(good, args[p], usual if len(usual) else torch.ones_like(args[p]))
        made[p] = made[p].detach().requires_grad_(args[p].requires_grad)
    above = [torch.where(o.isfinite(), 0.0, 1.0).to(o.dtype) if is_differentiable(o) else None for o in outputs]  # fmt: skip
    try:
        found = backward(made, list(given), above)
    except Exception:  # nobody knows
        return {p: torch.ones_like(g, dtype=torch.bool) for p, g in given.items()}
    return {p: g != 0 for p, g in zip(given, found, strict=True)}
