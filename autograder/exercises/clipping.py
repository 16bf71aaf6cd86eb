"""Lesson 01: Clip, which takes two bounds beside its tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, Scenario
from autograder.exercises.elementwise import bytes_of_x, clipped
from autograder.exercises.first_functions import LESSON, large
from autograder.exercises.linear_slips import CLIP_SLOPES, CLIP_VALUES


def _around(s: Sampler, low: float, high: float) -> Tensor:
    """Six values, two of them below low, two inside and two above high, well off the bounds."""
    width = high - low
    inside = s.uniform(2, low=low + 0.2 * width, high=high - 0.2 * width)
    below, above = low - s.uniform(2, low=0.2, high=2.0), high + s.uniform(2, low=0.2, high=2.0)
    order = torch.tensor([2, 0, 4, 1, 5, 3])
    return torch.cat([below, inside, above])[order]


def _clipped(s: Sampler, *shape: int) -> tuple[Tensor, float, float]:
    """Six values and two bounds, other ones in each call."""
    low, high = float(s.uniform(low=-1.0, high=-0.2)), float(s.uniform(low=0.3, high=1.5))
    return _around(s, low, high).reshape(shape or (6,)), low, high


# Bounds that rounding loses: |x − middle| <= radius, however it is written, is False on one of them.
_BOUNDS = (-0.3, 2.1)


def _on_bounds(s: Sampler) -> Tensor:
    """Both of _BOUNDS, and one value in each region."""
    ordinary = torch.stack([s.uniform(low=-3, high=-2), s.uniform(), s.uniform(low=3, high=4)])
    return torch.cat([torch.tensor(_BOUNDS, dtype=torch.float64), ordinary])


# Between −3.5 and 4.5, in steps of 1: no value lies on a bound.
_STEPS = [i + 0.5 for i in range(-4, 5)]
_TWO_BOUNDS = ((-1.0, 1.0), (-3.0, 2.0))


def _clip_twice(clip: Callable[..., Tensor], s: Sampler) -> dict[str, Any]:
    """Two calls with different bounds, then the backward of both: gradients under .sum()."""
    x = torch.tensor(_STEPS, dtype=torch.float64, requires_grad=True)
    outputs = [clip(x, low, high) for low, high in _TWO_BOUNDS]
    return {"gradients": [torch.autograd.grad(y.sum(), x)[0].tolist() for y in outputs]}


def _judge_twice(seen: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    for gradient, (low, high) in zip(seen["gradients"], _TWO_BOUNDS, strict=True):
        right = [float(low <= x <= high) for x in _STEPS]
        if gradient != right:
            return (
                "When the Function is called twice with different bounds, the gradient of one call "
                "follows the bounds of the other.",
                "Keep bounds and mask on ctx, which is new for each call; what is kept in the class "
                "or in a global is shared by all calls.",
                {"bounds": f"{low} to {high}", "actual": str(gradient), "expected": str(right)},
            )
    return None


CLIP = Exercise(
    name="Clip",
    lesson=LESSON,
    summary="The values of torch.clamp(x, low, high); the gradient passes where low ≤ x ≤ high, bounds included.",
    signature="(x, low, high)",
    reference=clipped,
    cases=(
        Case("a vector", lambda s: _clipped(s), visible=True),
        Case("a matrix", lambda s: _clipped(s, 2, 3)),
        Case("whole numbers as bounds", lambda s: (_around(s, -2.0, -1.0), -2, -1)),
        Case(
            "x on a bound",
            lambda s: (_on_bounds(s), *_BOUNDS),
            role="special",
            visible=True,
            advice="The contract lets the gradient pass on both bounds: low <= x and x <= high, not <. "
            "The output does not tell whether x was on a bound or beyond it, and what is computed from "
            "the bounds is rounded: compare x with each of them as it is.",
        ),
        Case(
            "x beyond a bound by 1e-9",
            lambda s: (
                torch.tensor([_BOUNDS[0] - 1e-9, _BOUNDS[1] + 1e-9], dtype=torch.float64),
                *_BOUNDS,
            ),
            role="special",
            advice="Compare x with the bounds as they are. A tolerance (low - 1e-6, torch.isclose) takes in "
            "what lies beyond them.",
        ),
        Case(
            "an infinite bound",
            lambda s: (torch.tensor([0.5, -2.0, 3.0, 40.0]).double(), 0.5, math.inf),
            role="special",
            advice="math.inf is a number like any other, and says that there is no upper bound. Compare x "
            "with each bound: a product or a difference with the infinity may be inf · 0 or inf − inf, nan.",
        ),
        Case(
            "low = high",
            lambda s: (torch.tensor([0.5, 1.0, 3.0]).double(), 1.0, 1.0),
            role="special",
            advice="Only an x that equals both bounds passes its gradient: low <= x and x <= high.",
        ),
        *(
            Case(
                f"0 as a bound ({low} to {high})",
                lambda s, low=low, high=high: (_around(s, low, high), low, high),  # type: ignore[misc]
                role="special",
                advice="0.0 is a bound like any other: `if low` and `low or ...` take it for a missing one.",
            )
            for low, high in ((0.0, 1.5), (-1.5, 0.0))
        ),
        Case("inputs of ±1000", lambda s: (large(s), -2.0, 3.0), role="extreme"),
        Case("a single number (0-d)", lambda s: (s.uniform(), -0.5, 1.5), role="batch"),
        Case("an empty tensor", lambda s: (s.normal(0, 3), -1.0, 1.0), role="empty"),
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
    budget=bytes_of_x,
    budget_words="the input or a mask",
    misconceptions=(
        Misconception(
            "The gradient passes outside the bounds and stops inside: the mask is inverted.",
            "Inside, the output follows x. There the gradient passes.",
            lambda x, low, high, grad_output: (grad_output * ((x < low) | (x > high)),),
        ),
        Misconception(
            "The gradient passes everywhere, outside the bounds too.",
            "Outside, the output is a bound, whatever x does: the slope is 0.",
            lambda x, low, high, grad_output: (grad_output,),
        ),
        Misconception(
            "The gradient stops at one bound only: above high it still passes.",
            "Both comparisons are needed: low ≤ x and x ≤ high.",
            lambda x, low, high, grad_output: (grad_output * (x >= low),),
        ),
        Misconception(
            "The gradient stops at one bound only: below low it still passes.",
            "Both comparisons are needed: low ≤ x and x ≤ high.",
            lambda x, low, high, grad_output: (grad_output * (x <= high),),
        ),
        Misconception(
            "grad_output is clamped to the bounds. They are bounds for x, not for the gradient.",
            "Where x is inside, grad_output passes unchanged, however large it is.",
            lambda x, low, high, grad_output: (grad_output.clamp(low, high),),
            rule="upstream-nonlinear",
        ),
        Misconception(
            "The gradient is multiplied by the clipped value.",
            "The slope inside is 1, not x.",
            lambda x, low, high, grad_output: (grad_output * x.clamp(low, high),),
        ),
        *CLIP_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "Values outside the bounds become 0; they should become the nearer bound.",
            "torch.clamp(x, low, high), or torch.where twice.",
            lambda x, low, high: torch.where((x >= low) & (x <= high), x, 0.0),
        ),
        ForwardSlip(
            "Only the lower bound is applied.",
            "Values above high become high.",
            lambda x, low, high: x.clamp(min=low),
        ),
        ForwardSlip(
            "Only the upper bound is applied.",
            "Values below low become low.",
            lambda x, low, high: x.clamp(max=high),
        ),
        ForwardSlip(
            "The bounds are crossed: every value becomes one of them.",
            "max with low, min with high: x.clamp(min=low, max=high).",
            lambda x, low, high: x.clamp(max=low).clamp(min=high),
        ),
        *CLIP_VALUES,
    ),
    scenarios=(
        Scenario(
            "two calls with different bounds keep apart",
            "shared-state",
            _clip_twice,
            _judge_twice,
            needs=("gradients_agree",),
        ),
    ),
)
