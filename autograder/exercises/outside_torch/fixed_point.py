"""FixedPoint of lesson 11: a solution by iterating, and the gradient of its equation."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Exercise,
    Sampler,
    bytes_of,
)
from autograder.exercises.common_cases import cases_of, extreme, some, special, told


def fixed_point(z0: Tensor, x: Tensor, weight: Tensor, steps: int) -> Tensor:
    """``steps`` times z ← tanh(z weightᵀ + x).

    60 steps of a contraction by a half are more than float64 can tell: their derivatives are those of the solution.
    """
    z = z0.detach()
    for _ in range(steps):
        z = torch.tanh(z @ weight.mT + x)
    return z + 0 * z0 + 0 * weight.sum()  # nothing is promised where z0 or weight is infinite


def _drawn(s: Sampler, *shape: int, steps: int, norm: float = 0.5) -> Arguments:
    """z0 and x (…, n), and a weight (n, n) of this largest singular value."""
    z0, x, n = s.normal(*shape), s.normal(*shape), shape[-1]
    weight = s.normal(n, n)
    return z0, x, weight * norm / torch.linalg.matrix_norm(weight, 2), steps


_case = cases_of(_drawn)


FIXED_POINT = Exercise(
    **told("FixedPoint"),
    reference=fixed_point,
    cases=(
        _case("a batch of vectors", 3, 4, steps=60),
        _case("another number of steps", 2, 3, steps=75, norm=0.4),
        _case("a batch of matrices", 2, 3, 2, steps=60),
        _case("two steps, far from the solution", 2, 3, steps=2, wants=()),
        special(
            "weight = 0",
            some(3, 2), some(3, 2), [[0.0, 0.0], [0.0, 0.0]], 60,

            advice="Then z is tanh(x), and the gradient for x is grad_output · (1 − z²); weight has a gradient too.",
        ),
        _case("one number in a row", 3, 1, steps=60, role="special"),
        _case("a single vector", 3, steps=60, role="batch"),
        _case("an empty batch", 0, 3, steps=60, role="empty"),
        extreme(
            "x of ±1000",
            some(2, 3),
            [[-1000.0, 1000.0, 0.5], [30.0, -0.25, -30.0]],
            lambda s: _drawn(s, 3, steps=60)[2],
            60,

        ),
    ),
    budget=lambda args, outputs: bytes_of(args[2], *outputs[:1]),
    second_order="right-or-refused",
)  # fmt: skip
