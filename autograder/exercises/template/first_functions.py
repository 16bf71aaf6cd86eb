"""The exercises of lesson 01: functions of each element, a weighted sum, and a gradient by differences."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Refusal, Sampler, Solution
from autograder.exercises.common_cases import (
    cases_of,
    clipped,
    drawing,
    empty,
    extreme,
    float64,
    kept,
    large,
    off_zero,
    some,
    special,
    told,
    zeros_and_others,
)
from autograder.observation.observation import Named

SQUARE = Exercise(
    **told("Square"),
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
    budget=kept(0),
)


MY_RELU = Exercise(
    **told("MyReLU"),
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
    budget=kept(0),
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


_clip_case = cases_of(_clipped)
_bounded = cases_of(lambda s, low, high: (_around(s, low, high), low, high))
_ZERO = "0.0 is a bound like any other."

CLIP = Exercise(
    **told("Clip"),
    reference=clipped,
    cases=(
        _clip_case("a vector"),
        _clip_case("a matrix", 2, 3),
        _bounded("whole numbers as bounds", -2, -1),
        special(
            "x on a bound",
            _on_bounds,
            *_BOUNDS,
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
        extreme("inputs of ±1000", large, -2.0, 3.0),
        special("a single number (0-d)", Sampler.uniform, -0.5, 1.5, role="batch"),
        empty("an empty tensor", some(0, 3), -1.0, 1.0),
    ),
    budget=kept(0),
)


def _two_branches(s: Sampler, *shape: int, weights: Arguments = ()) -> Arguments:
    """Two tensors, and weights: those given, or drawn ones that differ in size and in sign, and from call to call."""
    w1, w2 = float(s.uniform(low=0.3, high=0.9)), float(s.uniform(low=1.2, high=2.5))
    return s.normal(*shape), s.normal(*shape), *(weights or (w1, -w2))


_case = cases_of(_two_branches)


def _refused(what: str, place: str, *weights: Any) -> Refusal:
    return Refusal(f"{what} as {place}", drawing(some(3), some(3), *weights), argument=place)


_PARAMETER = Named("parameter", (0.7,))

WEIGHTED_SUM = Exercise(
    **told("WeightedSum"),
    reference=lambda x1, x2, w1, w2: w1 * x1 + w2 * x2,
    cases=(
        _case("two vectors", 5),
        _case("two matrices", 3, 4),
        _case(
            "whole numbers as weights",
            2,
            3,
            weights=(3, -2),
            advice="Python ints are numbers too: refuse tensors only.",
        ),
        _case("weights of 1 and −1", 4, weights=(1.0, -1.0)),
        _case("weights of −1 and 1", 3, weights=(-1, 1)),
        _case(
            "a weight of 0",
            4,
            weights=(0.0, 1.5),
            role="special",
            advice="0 is a weight like any other: its gradient is 0 · grad_output.",
        ),
        special("x1 = 0", [0.0, 0.0, 0.0], some(3), 0.5, 1.5),
        special("x2 = 0", some(3), [0.0, 0.0, 0.0], 0.5, 1.5),
        extreme("inputs of ±1000", large, lambda s: -large(s), 0.5, 2.0),
        _case("empty tensors", 0, 3, role="empty"),
    ),
    budget=kept(),
    refusals=(
        _refused("a tensor", "w1", torch.tensor(0.7), 0.5),
        _refused("a tensor", "w2", 0.5, torch.tensor([0.7])),
        _refused("a tensor that requires no gradient", "w2", 0.5, torch.tensor(2)),
        _refused("a torch.nn.Parameter", "w1", _PARAMETER, 0.5),
        _refused("a torch.nn.Parameter", "w2", 0.5, _PARAMETER),
    ),
)


def central_differences(f: Solution, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Central difference quotients of f at x, one element at a time; has the shape and dtype of x."""
    steps = (eps * torch.eye(x.numel(), dtype=x.dtype)).reshape(x.numel(), *x.shape)
    rises = [float(f(x.detach() + step)) - float(f(x.detach() - step)) for step in steps]
    return x.new_tensor(rises).reshape(x.shape) / (2 * eps)


# x of either sign and of the size of 1: sums of them have exponentials that are no larger than their digits.
_of_f = cases_of(lambda s, f, *shape, step=(): (f, 0.5 * s.away_from(*shape), *step))

NUMERICAL_GRADIENT = Exercise(
    **told("numerical_gradient"),
    reference=central_differences,
    cases=(
        _of_f("a vector", Named("weighted_squares", (0.5,)), 4),
        _of_f("a function that gives a Python float", Named("sine_as_float", (1.3,)), 3),
        _of_f("a step of 0.01", Named("exp_of_sum", (0.7,)), 2, 3, step=(1e-2,)),
        _of_f("a matrix", Named("column_products", (-1.5,)), 3, 4),
        _of_f("a linear function", Named("affine", (2.5, 1.0)), 2, 2, 2),
        _of_f("a function that gives one of the numbers of x", Named("last_number"), 3),
        _of_f("a single number (no dimensions)", Named("exp_of_sum", (0.4,))),
        _of_f("an empty tensor", Named("affine", (2.0, 0.5)), 0, 3, role="empty"),
    ),
    is_function=True,
)
