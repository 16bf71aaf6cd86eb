"""Lesson 04: FakeQuantize, rounding to a grid with two ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.ste_surrogate import (
    LESSON,
    extreme,
    shuffled,
    surrogate,
)


def quantised(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """round(x / scale) + zero_point, before the clamp."""
    return torch.round(x / scale) + zero_point


def fake_quantised(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
    """x rounded to the grid (q − zero_point) · scale with qmin ≤ q ≤ qmax."""
    q = quantised(x, scale, zero_point).clamp(qmin, qmax)
    return (q - zero_point) * scale


def _quantise_surrogate(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
    q = quantised(x, scale, zero_point)
    inside = ((q >= qmin) & (q <= qmax)).to(x.dtype)
    return surrogate(fake_quantised(x, scale, zero_point, qmin, qmax), x * inside)


def _off_the_ties(
    s: Sampler, shape: tuple[int, ...], scale: float, zero_point: int, qmin: int, qmax: int
) -> Tensor:
    """Values on, inside and outside the range, at least 0.2 steps from every tie.

    The first ones tell the mistakes apart: both sides of each end (only the rounded value of the outer
    one lies in the range), beyond each end, and the middle.
    """
    count = int(torch.Size(shape).numel())
    steps = torch.tensor(
        [s.integer(qmin - zero_point - 2, qmax - zero_point + 3) for _ in range(count)],
        dtype=torch.float64,
    )
    offset = s.uniform(count, low=-0.3, high=0.3)
    low, high = qmin - zero_point, qmax - zero_point
    telling = (
        (high, 0.25), (low, -0.25), (high, -0.25), (low, 0.25), (high + 2, 0.1), (low - 2, -0.1),
        ((low + high) // 2, 0.2), (high + 1, -0.3), (low - 1, 0.3),
    )  # fmt: skip
    for place, (step, beside) in enumerate(telling[:count]):
        steps[place], offset[place] = step, beside
    return shuffled(s, (steps + offset) * scale).reshape(shape)


def _quantise_case(
    name: str, *shape: int, scale: float, grid: tuple[int, int, int], **more: Any
) -> Case:
    """``grid`` is (zero_point, qmin, qmax). scale is drawn within a tenth: two calls have two."""

    def make(s: Sampler) -> tuple[Any, ...]:
        step = scale * float(s.uniform(low=0.9, high=1.1))
        return (_off_the_ties(s, shape, step, *grid), step, *grid)

    return Case(name, make, **more)


def _quantise_misconception(
    message: str, hint: str, inside: Callable[..., Tensor], rule: str = "gradient-value"
) -> Misconception:
    """``inside`` gives the factor of grad_output from (x, scale, zero_point, qmin, qmax)."""

    def gradients(*args: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        return (grad_output * inside(*args), None, None, None, None)

    return Misconception(message, hint, gradients, rule)


def _within(values: Tensor, low: float, high: float) -> Tensor:
    return (values >= low) & (values <= high)


FAKE_QUANTIZE = Exercise(
    name="FakeQuantize",
    lesson=LESSON,
    summary=(
        "(q − zero_point) · scale with q = clamp(round(x / scale) + zero_point, qmin, qmax); the "
        "gradient passes where round(x / scale) + zero_point lies in [qmin, qmax]."
    ),
    signature="(x, scale, zero_point, qmin, qmax)",
    reference=_quantise_surrogate,
    gradcheck=False,
    forbidden=frozenset(
        {"torch.fake_quantize_per_tensor_affine", "torch.fake_quantize_per_channel_affine"}
    ),
    cases=(
        _quantise_case("a vector, 3 bits", 12, scale=0.3, grid=(0, -4, 3), visible=True),
        _quantise_case("a matrix, a zero point", 3, 4, scale=0.7, grid=(3, 0, 7), visible=True),
        _quantise_case("a batch of matrices", 2, 3, 4, scale=1.6, grid=(-2, -8, 7)),
        _quantise_case("2 bits, a coarse grid", 5, scale=1.25, grid=(1, -1, 2)),
        Case(
            "x on the ends of the range",
            lambda s: (torch.tensor([-1.0, 0.75, -1.25, 1.0, 0.0]).double(), 0.25, 0, -4, 3),
            role="special",
            visible=True,
        ),
        Case(
            "ties, which go to the even step",
            lambda s: (torch.tensor([-0.75, -0.25, 0.25, 0.75, 1.25]).double(), 0.5, 0, -4, 3),
            role="special",
            advice="torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2. floor(x + 0.5) sends "
            "them all up.",
            visible=True,
        ),
        Case(
            "ties with an odd zero point",
            lambda s: (torch.tensor([-0.75, -0.25, 0.25, 0.75]).double(), 0.5, 1, -4, 3),
            role="special",
            advice="Round x / scale, and add zero_point afterwards: a tie goes to the even step, and an odd "
            "zero point turns even into odd.",
        ),
        _quantise_case("a single number (0-d)", scale=0.4, grid=(0, -4, 3), role="batch"),
        _quantise_case("an empty batch", 0, 3, scale=0.4, grid=(0, -4, 3), role="empty"),
        Case("inputs up to ±1000 in float32", extreme(0.7, 5, 0, 255), role="extreme"),
    ),
    budget=lambda args, outputs: bytes_of(args[0]),
    budget_words="x or a mask",
    hints=(
        "Write q before the clamp into a variable of its own. Backward asks of each element: was that "
        "number inside [qmin, qmax]?",
        "inside = (q >= qmin) & (q <= qmax), with the rounded q before the clamp. Save that mask (one "
        "byte an element). Five arguments, so backward returns five values.",
        "return torch.where(inside, grad_output, 0.0), None, None, None, None. No factor of scale: forward "
        "divides by it and multiplies by it again.",
    ),
    misconceptions=(
        _quantise_misconception(
            "The gradient is zero everywhere: that is the true derivative of a staircase, and nothing "
            "learns from it.",
            "Rounding is passed straight through; only the clamp stops gradients.",
            lambda x, *rest: torch.zeros_like(x),
            rule="gradient-zero",
        ),
        _quantise_misconception(
            "The gradient passes everywhere, where the value was clamped too.",
            "Beyond the last step the output no longer follows x: there the gradient stops.",
            lambda x, *rest: torch.ones_like(x),
        ),
        _quantise_misconception(
            "The mask is made before rounding: x / scale + zero_point is compared with the range.",
            "Half a step beyond an end still rounds to it. Compare the rounded value.",
            lambda x, scale, zp, low, high: _within(x / scale + zp, low, high),
        ),
        _quantise_misconception(
            "The zero point is missing in the mask.",
            "Compare round(x / scale) + zero_point with qmin and qmax.",
            lambda x, scale, zp, low, high: _within(torch.round(x / scale), low, high),
        ),
        *(
            _quantise_misconception(
                "The mask compares x, or the output, with qmin and qmax; they count steps.",
                "Compare round(x / scale) + zero_point with them.",
                inside,
            )
            for inside in (
                lambda x, scale, zp, low, high: _within(x, low, high),
                lambda x, *grid: _within(fake_quantised(x, *grid), *grid[2:]),
            )
        ),
        _quantise_misconception(
            "The mask compares x with qmin · scale and qmax · scale: no zero point, and no rounding.",
            "Compare round(x / scale) + zero_point with qmin and qmax.",
            lambda x, scale, zp, low, high: _within(x, low * scale, high * scale),
        ),
        _quantise_misconception(
            "The ends are excluded: qmin < q < qmax.",
            "A value that rounds to an end has not been clamped: use >= and <=.",
            lambda x, scale, zp, low, high: _within(quantised(x, scale, zp), low + 0.5, high - 0.5),
        ),
        _quantise_misconception(
            "The lower end is excluded: qmin < q.",
            "A value that rounds to an end has not been clamped: use >= and <=.",
            lambda x, scale, zp, low, high: _within(quantised(x, scale, zp), low + 0.5, high),
        ),
        _quantise_misconception(
            "The upper end is excluded: q < qmax.",
            "A value that rounds to an end has not been clamped: use >= and <=.",
            lambda x, scale, zp, low, high: _within(quantised(x, scale, zp), low, high - 0.5),
        ),
        _quantise_misconception(
            "The gradient stops above the range, but not below it.",
            "The mask has two ends: q >= qmin and q <= qmax.",
            lambda x, scale, zp, low, high: quantised(x, scale, zp) <= high,
        ),
        _quantise_misconception(
            "The gradient stops below the range, but not above it.",
            "The mask has two ends: q >= qmin and q <= qmax.",
            lambda x, scale, zp, low, high: quantised(x, scale, zp) >= low,
        ),
        _quantise_misconception(
            "The gradient is multiplied by scale.",
            "Forward divides by scale and multiplies by it again: the two cancel.",
            lambda x, scale, zp, low, high: scale * _within(quantised(x, scale, zp), low, high),
            rule="gradient-scale",
        ),
        _quantise_misconception(
            "The gradient is divided by scale.",
            "Forward divides by scale and multiplies by it again: the two cancel.",
            lambda x, scale, zp, low, high: _within(quantised(x, scale, zp), low, high) / scale,
            rule="gradient-scale",
        ),
        _quantise_misconception(
            "The gradient passes outside the range and stops inside: the mask is inverted.",
            "Inside the range the output follows x.",
            lambda x, scale, zp, low, high: ~_within(quantised(x, scale, zp), low, high),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is q itself, the number of the step: scale and zero point are not undone.",
            "Fake quantisation goes back: (q − zero_point) · scale.",
            lambda x, scale, zp, low, high: quantised(x, scale, zp).clamp(low, high),
        ),
        ForwardSlip(
            "The zero point is not subtracted again.",
            "The value is (q − zero_point) · scale.",
            lambda x, scale, zp, low, high: quantised(x, scale, zp).clamp(low, high) * scale,
        ),
        ForwardSlip(
            "The zero point is left out.",
            "It shifts the range: add it before the clamp, subtract it afterwards.",
            lambda x, scale, zp, low, high: torch.round(x / scale).clamp(low, high) * scale,
        ),
        ForwardSlip(
            "The clamp is missing.",
            "q has to stay between qmin and qmax.",
            lambda x, scale, zp, low, high: torch.round(x / scale) * scale,
        ),
        ForwardSlip(
            "The output is rounded down to the grid, not to the nearest step.",
            "torch.round, not torch.floor.",
            lambda x, scale, zp, low, high: (
                ((torch.floor(x / scale) + zp).clamp(low, high) - zp) * scale
            ),
        ),
        ForwardSlip(
            "The output is cut off towards zero, not rounded to the nearest step.",
            "torch.round, not int() or torch.trunc.",
            lambda x, scale, zp, low, high: (
                ((torch.trunc(x / scale) + zp).clamp(low, high) - zp) * scale
            ),
        ),
        ForwardSlip(
            "x is multiplied by scale where it should be divided.",
            "scale is the width of a step: x / scale counts steps.",
            lambda x, scale, zp, low, high: (
                ((torch.round(x * scale) + zp).clamp(low, high) - zp) / scale
            ),
        ),
        ForwardSlip(
            "Nothing is rounded, only clamped.",
            "Round x / scale before you add the zero point.",
            lambda x, scale, zp, low, high: ((x / scale + zp).clamp(low, high) - zp) * scale,
        ),
    ),
)
