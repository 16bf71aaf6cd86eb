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
    zeros_and_others,
)
from autograder.observation.observation import Named

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


_clip_case = cases_of(_clipped)
_bounded = cases_of(lambda s, low, high: (_around(s, low, high), low, high))
_ZERO = "0.0 is a bound like any other."

CLIP = Exercise(
    name="Clip",
    summary="The values of torch.clamp(x, low, high); the gradient passes where low ≤ x ≤ high, bounds included.",
    signature="(x, low, high)",
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


def _two_branches(s: Sampler, *shape: int, weights: Arguments = ()) -> Arguments:
    """Two tensors, and weights: those given, or drawn ones that differ in size and in sign, and from call to call."""
    w1, w2 = float(s.uniform(low=0.3, high=0.9)), float(s.uniform(low=1.2, high=2.5))
    return s.normal(*shape), s.normal(*shape), *(weights or (w1, -w2))


_case = cases_of(_two_branches)


def _refused(what: str, place: str, *weights: Any) -> Refusal:
    return Refusal(f"{what} as {place}", drawing(some(3), some(3), *weights), argument=place)


_PARAMETER = Named("parameter", (0.7,))

WEIGHTED_SUM = Exercise(
    name="WeightedSum",
    summary="w1 · x1 + w2 · x2 for tensors of equal shape and Python numbers w1 and w2.",
    signature="(x1, x2, w1, w2)",
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
    hints=(
        "Forward has four arguments besides ctx. How many values does backward return, and which "
        "of them are None?",
        "The weights are numbers: remember them as attributes of ctx. No tensor has to be saved. "
        "And w1 or w2 may be a tensor by mistake: isinstance(w1, torch.Tensor) tells, and a "
        "TypeError says so.",
        "dy/dx1 = w1 and dy/dx2 = w2. So backward returns w1 * grad_output, w2 * grad_output, "
        "None, None, and None also for x1 or x2 where ctx.needs_input_grad says False.",
    ),
    budget=kept(),
    budget_words="no tensor: the weights are numbers",
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
    name="numerical_gradient",
    summary="the central-difference gradient of the scalar-valued f at x, a tensor of x's shape.",
    signature="(f, x, eps=1e-6)",
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
    hints=(
        "The derivative with respect to one element asks: how far does f move when only this "
        "element moves? So there is a loop over the elements, and two calls of f in it.",
        "Make a zero tensor like x for the result and go through all indices with "
        "np.ndindex(*x.shape). For each, build a new tensor that is eps at this index and 0 "
        "elsewhere; add it to x, subtract it from x, and call f on both.",
        "gradient[index] = (f(x + nudge) - f(x - nudge)) / (2 * eps).",
    ),
    is_function=True,
)
