"""Square, MyReLU and Clip of lesson 01: functions of each element by itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Case, Exercise, Sampler
from autograder.exercises.common_cases import (
    cases_of,
    clipped,
    empty,
    extreme,
    float64,
    kept,
    large,
    off_zero,
    some,
    special,
    zeros_and_others,
)

SQUARE = Exercise(
    name="Square",
    summary="x², element by element.",
    signature="(x)",
    reference=lambda x: x * x,
    cases=(
        off_zero("a vector", 5),
        off_zero("a matrix", 3, 4),
        off_zero("a single number (no dimensions)"),
        special(
            "zeros among the inputs", zeros_and_others, second=True, advice="The slope at 0 is 0."
        ),
        extreme("inputs of ±1000", large),
        off_zero("an empty tensor", 0, 3, role="empty"),
    ),
    hints=(
        "What is the derivative of x² on paper? Which quantity appears in it? That one has to be "
        "there in backward, so forward must save it.",
        "Forward saves x with ctx.save_for_backward(x) and returns its square. Backward unpacks "
        "the tuple: (x,) = ctx.saved_tensors. Then it multiplies two things: the local derivative "
        "and what arrived from upstream.",
        "dy/dx = 2x, so the gradient of x is 2 * x * grad_output.",
    ),
    budget=kept(0),
    budget_words="the input",
)


MY_RELU = Exercise(
    name="MyReLU",
    summary="max(x, 0), element by element; the gradient at x = 0 is 0, as torch.relu has it.",
    signature="(x)",
    reference=torch.relu,
    cases=(
        off_zero("a vector", 10),
        off_zero("a matrix", 3, 4),
        off_zero("a batch of matrices", 2, 3, 2),
        special(
            "x = 0, the kink",
            zeros_and_others,
            advice="At x = 0 the contract asks for the gradient 0, as torch.relu has it. Choose by a comparison: it "
            "passes where x > 0, and nowhere else.",
        ),
        special(
            "x = −inf",
            lambda s: torch.cat([torch.full((1,), -torch.inf), s.away_from(4)]),
            advice="Where x is −inf the output is 0, and so is the gradient. A product of 0 and −inf has no value: "
            "choose between values instead.",
        ),
        extreme("inputs of ±1000", large),
        off_zero("an empty tensor", 0, 3, role="empty"),
    ),
    hints=(
        "Draw max(x, 0). Its slope has only two values. Where is it which, and what tells you so "
        "in backward?",
        "Where x is positive the gradient passes unchanged, elsewhere it stops, at 0 too. Save x, "
        "the output, or a mask such as x > 0; then choose, element by element.",
        "The gradient of x is grad_output where x > 0 and 0 elsewhere: torch.where(condition, "
        "grad_output, 0), with a condition made from what you saved.",
    ),
    budget=kept(0),
    budget_words="the input, the output or a mask",
)


def _around(s: Sampler, low: float, high: float) -> Tensor:
    """Six values, two of them below low, two inside and two above high, well off the bounds."""
    width = high - low
    inside = s.uniform(2, low=low + 0.2 * width, high=high - 0.2 * width)
    below, above = low - s.uniform(2, low=0.2, high=2.0), high + s.uniform(2, low=0.2, high=2.0)
    return torch.cat([below, inside, above])[s.distinct(6).argsort()]


def _clipped(s: Sampler, *shape: int) -> Arguments:
    """Six values and two bounds, other ones in each call."""
    low, high = float(s.uniform(low=-1.0, high=-0.2)), float(s.uniform(low=0.3, high=1.5))
    return _around(s, low, high).reshape(shape or (6,)), low, high


# Bounds that rounding loses: |x − middle| <= radius, however it is written, is False on one of them.
_BOUNDS = (-0.3, 2.1)


def _on_bounds(s: Sampler) -> Tensor:
    """Both of _BOUNDS, and one value in each region."""
    ordinary = torch.stack([s.uniform(low=-3, high=-2), s.uniform(), s.uniform(low=3, high=4)])
    return torch.cat([float64(_BOUNDS), ordinary])


_bounded = cases_of(lambda s, low, high: (_around(s, low, high), low, high))
_ZERO = "0.0 is a bound like any other."

CLIP = Exercise(
    name="Clip",
    summary="The values of torch.clamp(x, low, high); the gradient passes where low ≤ x ≤ high, bounds included.",
    signature="(x, low, high)",
    reference=clipped,
    cases=(
        Case("a vector", _clipped),
        Case("a matrix", lambda s: _clipped(s, 2, 3)),
        _bounded("whole numbers as bounds", -2, -1),
        special(
            "x on a bound",
            lambda s: (_on_bounds(s), *_BOUNDS),
            advice="The contract lets the gradient pass on both bounds: low <= x and x <= high, not <. "
            "The output does not tell whether x was on a bound or beyond it, and what is computed from "
            "the bounds is rounded: compare x with each of them as it is.",
        ),
        special(
            "x beyond a bound by 1e-9",
            [_BOUNDS[0] - 1e-9, _BOUNDS[1] + 1e-9],
            *_BOUNDS,
            advice="Compare x with the bounds as they are. A tolerance (low - 1e-6, torch.isclose) takes in "
            "what lies beyond them.",
        ),
        special(
            "an infinite bound",
            [0.5, -2.0, 3.0, 40.0],
            0.5,
            math.inf,
            advice="math.inf is a number like any other, and says that there is no upper bound. Compare x "
            "with each bound: a product or a difference with the infinity may be inf · 0 or inf − inf, nan.",
        ),
        special(
            "low = high",
            [0.5, 1.0, 3.0],
            1.0,
            1.0,
            advice="Only an x that equals both bounds passes its gradient: low <= x and x <= high.",
        ),
        _bounded("0 as a bound (0.0 to 1.5)", 0.0, 1.5, role="special", advice=_ZERO),
        _bounded("0 as a bound (-1.5 to 0.0)", -1.5, 0.0, role="special", advice=_ZERO),
        extreme("inputs of ±1000", lambda s: (large(s), -2.0, 3.0)),
        Case("a single number (0-d)", lambda s: (s.uniform(), -0.5, 1.5), role="batch"),
        empty("an empty tensor", some(0, 3), -1.0, 1.0),
    ),
    hints=(
        "Draw the output over x. It has three pieces: what is the slope of each? Compare with "
        "MyReLU.",
        "Inside the bounds the gradient passes, outside it stops. A mask tells which: combine two "
        "comparisons with &, each in brackets, and keep the mask with save_for_backward. The "
        "bounds are numbers, and numbers have no gradient.",
        "The gradient of x is grad_output where low ≤ x ≤ high and 0 elsewhere. For low and high "
        "the value is None: three values in all.",
    ),
    budget=kept(0),
    budget_words="the input or a mask",
)
