"""RoundSTE, SignSTE, Binarize, GradientReversal and ClipGradient of lesson 04, and what surrogates share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.exercise import Exercise, Sampler
from autograder.exercises.common_cases import (
    clipped,
    extreme,
    kept,
    normal,
    of_every_shape,
    special,
    told,
    with_number,
)

EXTREME = [-1000.0, -100.0, -30.0, -5.0, -0.75, 0.25, 5.0, 30.0, 100.0, 1000.0]


# Beyond 2²⁴ float32 has no 1 beside x: x + (sign(x) − x) is 0 there.
_FAR = extreme("inputs up to ±1e30 in float32", [-1e30, -4e7, *EXTREME, 4194305.0, 4e7, 1e30])


class _InPlaceOf(Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, stand_in: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor]:
        return None, grad_output


def surrogate(value: Tensor, stand_in: Tensor) -> Tensor:
    """A tensor with exactly the values of ``value`` and all the derivatives of ``stand_in``, at ±∞ too."""
    found: Tensor = _InPlaceOf.apply(value.detach(), stand_in)
    return found


NEAR_ZERO = [-0.5, 0.0, -0.0, 1e-300, -1e-300, 2.0]


def shuffled(s: Sampler, values: Tensor) -> Tensor:
    """The same values in a random order."""
    return values[s.distinct(values.numel()).argsort()]


HALVES = (
    "torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2. A half that is added and cut off sends "
    "them all one way: floor(x + 0.5) up, trunc(x + 0.5 · sign(x)) away from 0."
)


FAR_OUT = (
    "Beside 1e20 float32 has no 1, so x + (… − x) is 0 there; and x / scale is larger than every number of an "
    "integer dtype. Compute the output from the clamped steps, in x's dtype."
)


ROUND_STE = Exercise(
    **told("RoundSTE"),
    reference=lambda x: surrogate(torch.round(x), x),
    gradcheck=False,
    cases=of_every_shape(
        lambda s, *shape: 2.5 * s.normal(*shape),
        special(
            "halves",
            [-2.5, -1.5, -0.5, 0.2, 0.5, 1.5, 2.5],
            advice=f"backward passes the gradient at halves as everywhere: they play a part in forward alone. {HALVES}",
        ),
        _FAR,
        vector=12,
    ),
    budget=kept(),
)


SIGN_STE = Exercise(
    **told("SignSTE"),
    reference=lambda x: surrogate(torch.sign(x), x),
    gradcheck=False,
    cases=of_every_shape(
        normal,
        special(
            "x = 0, where sign is 0",
            NEAR_ZERO,
            advice="torch.sign(0) is 0, neither 1 nor -1, and x / |x| is nan there. The gradient passes at 0 "
            "as everywhere.",
        ),
        _FAR,
        vector=12,
    ),
    budget=kept(),
)


def _on_both_sides(s: Sampler, *shape: int) -> Tensor:
    """Values up to about ±3 off the kinks; the first tell masks apart. A single one lies inside ±1."""
    flat = s.away_from(*shape, points=(-1.0, 0.0, 1.0), scale=1.3).reshape(-1)
    telling = (0.4, -1.6, 1.7, -0.5, 0.9, -0.9, 1.1, -1.1)
    for place, value in enumerate(telling[: flat.numel()]):
        flat[place] = value + s.uniform(low=-0.04, high=0.04)
    return shuffled(s, flat).reshape(shape)


BINARIZE = Exercise(
    **told("Binarize"),
    reference=lambda x: surrogate(torch.where(x >= 0, 1.0, -1.0).to(x), clipped(x, -1.0, 1.0)),
    gradcheck=False,
    cases=of_every_shape(
        _on_both_sides,
        special(
            "x = 0, which gives +1, and x next to 0",
            NEAR_ZERO,
            advice="Binarize has two values, and 0 belongs to +1: x >= 0. torch.sign would give 0 there.",
        ),
        special(
            "x = ±1, where the gradient still passes",
            [-1.0, 1.0, 0.5, 1.5, -1.25],
            advice="At x = -1 and x = 1 the gradient still passes: |x| <= 1, not <.",
        ),
        _FAR,
        vector=12,
    ),
    budget=kept(0),
)


GRADIENT_REVERSAL = Exercise(
    **told("GradientReversal"),
    reference=lambda x, alpha: surrogate(x, -alpha * x),
    gradcheck=False,
    cases=(
        with_number("a vector, alpha below 1", 5, low=0.2, high=0.6),
        with_number("a matrix, alpha above 1", 3, 4, low=1.5, high=3.0),
        with_number("a batch of matrices", 2, 3, 4, low=0.6, high=0.9),
        with_number(
            "alpha = 0",
            2,
            3,
            number=0.0,
            role="special",
            advice="alpha = 0 is a number like any other, and stops the gradient.",
        ),
        with_number("a whole number as alpha", 4, number=2, role="special"),
        with_number(
            "a negative alpha",
            4,
            low=-0.8,
            high=-0.3,
            role="special",
            advice="The gradient is -alpha * grad_output for every alpha: a negative one turns the sign back.",
        ),
        with_number("a single number (0-d)", low=1.2, high=1.8, role="batch"),
        with_number("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        extreme("inputs up to ±1000 in float32", EXTREME, 0.5),
    ),
    budget=kept(),
)


def _clipped(x: Tensor, limit: float) -> Tensor:
    """x, with a hook that clamps the gradient on its way back."""
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient.clamp(-limit, limit) + 0.0)  # no -0
    return y


CLIP_GRADIENT = Exercise(
    **told("ClipGradient"),
    reference=_clipped,
    gradcheck=False,
    linear_upstream=False,
    cases=(
        with_number("a vector", 6, low=0.25, high=0.4),
        with_number("a matrix", 3, 4, low=0.5, high=0.75),
        with_number("a batch of matrices, a wider limit", 2, 3, 4, low=1.1, high=1.3),
        with_number(
            "limit = 0",
            2,
            3,
            number=0.0,
            role="special",
            advice="A limit of 0 is a limit like any other, and lets nothing through.",
        ),
        with_number("a whole number as limit", 4, 3, number=1, role="special"),
        with_number("a limit that nothing reaches", 4, number=100.0, role="special"),
        with_number("a single number (0-d)", low=0.01, high=0.02, role="batch"),
        with_number("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        extreme("inputs up to ±1000 in float32", EXTREME, 0.5),
    ),
    budget=kept(),
)
