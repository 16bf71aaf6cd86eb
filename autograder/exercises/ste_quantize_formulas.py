"""FakeQuantize as it is asked for, and what learners write in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.ste_slips import QUANTIZE_MASKS, QUANTIZE_VALUES


def quantised(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """round(x / scale) + zero_point, before the clamp."""
    return torch.round(x / scale) + zero_point


def fake_quantised(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
    """x rounded to the grid (q − zero_point) · scale with qmin ≤ q ≤ qmax."""
    q = quantised(x, scale, zero_point).clamp(qmin, qmax)
    return (q - zero_point) * scale


def _quantise_misconception(
    message: str, hint: str, inside: Callable[..., Tensor], rule: str = "gradient-value"
) -> Misconception:
    """``inside`` gives the factor of grad_output from (x, scale, zero_point, qmin, qmax)."""

    def gradients(*args: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        return (grad_output * inside(*args), None, None, None, None)

    return Misconception(message, hint, gradients, rule)


def _within(values: Tensor, low: float, high: float) -> Tensor:
    return (values >= low) & (values <= high)


def _stored_as(dtype: torch.dtype) -> Callable[..., Tensor]:
    """FakeQuantize with the clamped q in an integer dtype, in which it may not fit."""

    def value(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
        q = quantised(x, scale, zero_point).clamp(qmin, qmax).to(dtype)
        return (q.to(x.dtype) - zero_point) * scale

    return value


def _counted_as(dtype: torch.dtype) -> Callable[..., Tensor]:
    """FakeQuantize with whole steps in an integer dtype before the clamp."""

    def value(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
        q = torch.round(x / scale).to(dtype) + zero_point
        return (q.clamp(qmin, qmax) - zero_point).to(x.dtype) * scale

    return value


MISCONCEPTIONS: tuple[Misconception, ...] = (
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
        "The mask leaves out the rounding: it compares x / scale + zero_point with qmin and qmax (or x with the two "
        "values that they stand for, which is the same).",
        "Half a step beyond an end still rounds to it. Compare the rounded value, round(x / scale) + zero_point, with "
        "qmin and qmax.",
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
    *QUANTIZE_MASKS,
)

FORWARD_SLIPS: tuple[ForwardSlip, ...] = (
    *(
        ForwardSlip(
            f"q is kept in {words}: beyond that it comes back as another number.",
            "qmin and qmax may be any whole numbers. Stay in x's dtype.",
            _stored_as(dtype),
        )
        for dtype, words in (
            (torch.int8, "int8, which holds −128 to 127"),
            (torch.uint8, "uint8, which holds 0 to 255"),
        )
    ),
    *(
        ForwardSlip(
            f"round(x / scale) is made an {words} before the clamp, and what does not fit becomes another "
            "number.",
            "x may lie far beyond the range. Clamp in x's dtype first; what is left is small.",
            _counted_as(dtype),
        )
        for dtype, words in (
            (torch.int32, "int32, which ends at 2147483647,"),
            (torch.int64, "int64, which ends at about 9e18,"),
        )
    ),
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
        "The zero point plays no part in the clamp: it is left out, or added after it.",
        "It shifts the range: add it before the clamp, subtract it afterwards.",
        lambda x, scale, zp, low, high: torch.round(x / scale).clamp(low, high) * scale,
        call="clamp",
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
    *QUANTIZE_VALUES,
)
