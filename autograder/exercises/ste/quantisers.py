"""FakeQuantize and LearnedScale of lesson 04: rounding to a grid whose step is given, or has a gradient (LSQ)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import (
    cases_of,
    empty,
    extreme,
    float64,
    kept,
    some,
    special,
    told,
)
from autograder.exercises.ste.straight_through import EXTREME, FAR_OUT, HALVES, shuffled, surrogate


def _quantise_surrogate(x: Tensor, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
    """x rounded to the grid (q − zero_point) · scale with qmin ≤ q ≤ qmax; x itself to the derivative, where q is inside."""
    q = torch.round(x / scale) + zero_point
    inside = ((q >= qmin) & (q <= qmax)).to(x.dtype)
    return surrogate((q.clamp(qmin, qmax) - zero_point) * scale, x * inside)


def _off_the_ties(s: Sampler, shape: tuple[int, ...], low: int, high: int) -> Tensor:
    """x / scale inside and outside the range from low to high, 0.1 or more from its ends and 0.2 from every tie.

    The first ones tell the mistakes apart: both sides of each end (the outer one rounds to the end and
    yet is outside), beyond each, and the middle.
    """
    count = math.prod(shape)
    whole = torch.tensor([s.integer(low - 2, high + 3) for _ in range(count)]).double()
    offset = s.uniform(count, low=0.1, high=0.3) * torch.sign(s.uniform(count, low=-1.0))
    telling = (
        (high, 0.25), (low, -0.25), (high, -0.25), (low, 0.25), (high + 2, 0.1), (low - 2, -0.1),
        ((low + high) // 2, 0.2), (high + 1, -0.3), (low - 1, 0.3),
    )  # fmt: skip
    for place, (step, beside) in enumerate(telling[:count]):
        whole[place], offset[place] = step, beside
    return shuffled(s, whole + offset).reshape(shape)


def _drawn(s: Sampler, *shape: int, scale: float, grid: tuple[int, int, int]) -> Arguments:
    """``grid`` is (zero_point, qmin, qmax). scale is drawn within a tenth: two calls have two."""
    step = scale * float(s.uniform(low=0.9, high=1.1))
    zero_point, *ends = grid
    steps = _off_the_ties(s, shape, *(end - zero_point for end in ends))
    return (steps * step, step, *grid)


_quantise_case = cases_of(_drawn)
_WIDE = [-1e20, -3e9, *EXTREME, 3e9, 1e20]
_REBUILT = frozenset(
    {"torch.fake_quantize_per_tensor_affine", "torch.fake_quantize_per_channel_affine"}
)


FAKE_QUANTIZE = Exercise(
    **told("FakeQuantize"),
    reference=_quantise_surrogate,
    gradcheck=False,
    forbidden=_REBUILT,
    cases=(
        _quantise_case("a vector, 3 bits", 12, scale=0.3, grid=(0, -4, 3)),
        _quantise_case("a matrix, 8 bits", 3, 4, scale=0.07, grid=(100, 0, 255)),
        _quantise_case("a batch of matrices", 2, 3, 4, scale=1.6, grid=(-2, -8, 7)),
        _quantise_case("2 bits, a coarse grid", 5, scale=1.25, grid=(1, -1, 2)),
        special("x on the ends of the range", [-1.0, 0.75, -1.25, 1.0, 0.0], 0.25, 0, -4, 3),
        special(
            "ties, which go to the even step",
            [-0.75, -0.25, 0.25, 0.75, 1.25],
            0.5,
            0,
            -4,
            3,
            advice=HALVES,
        ),
        special(
            "ties half a step beyond the ends",
            [-2.25, 1.75, 1.25, -1.75],
            0.5,
            0,
            -4,
            3,
            advice="Where the rounded value is in the range the gradient passes, and nowhere else: -4.5 rounds "
            "to -4, which is an end, and 3.5 to 4, which is beyond one.",
        ),
        special(
            "ties with an odd zero point",
            [-0.75, -0.25, 0.25, 0.75],
            0.5,
            1,
            -4,
            3,
            advice="Round x / scale, and add zero_point afterwards: a tie goes to the even step, and an odd "
            "zero point turns even into odd.",
        ),
        _quantise_case("a single number (0-d)", scale=0.4, grid=(0, -4, 3), role="batch"),
        _quantise_case("an empty batch", 0, 3, scale=0.4, grid=(0, -4, 3), role="empty"),
        extreme(
            "inputs up to ±1e20 in float32",
            _WIDE,
            0.7,
            5,
            0,
            255,
            advice=FAR_OUT,
        ),
    ),
    budget=kept(0),
)


def beside(x: Tensor, scale: Tensor) -> Tensor:
    """scale in a shape that broadcasts to x: 0-d as it is, one a channel along dim 0 of x."""
    if not scale.dim():
        return scale
    if scale.shape != x.shape[:1]:
        raise ValueError(f"a scale of shape {tuple(scale.shape)} for x of shape {tuple(x.shape)}")
    return scale.reshape(-1, *[1] * (x.dim() - 1))


def _learned(x: Tensor, scale: Tensor, qmin: int, qmax: int) -> Tensor:
    step = beside(x, scale)
    exact = (x / step).detach()
    q = torch.round(exact).clamp(qmin, qmax)
    inside = (exact > qmin) & (exact < qmax)
    sharing = max(x.numel() // max(scale.numel(), 1), 1)  # elements that share one scale
    slope = torch.where(inside, q - exact, q) / math.sqrt(sharing * qmax)
    return surrogate(q * step, torch.where(inside, x, 0.0) + step * slope)


def _drawn_scale(
    s: Sampler, *shape: int, scale: tuple[int, ...] = (), grid: tuple[int, int]
) -> Arguments:
    """``grid`` is (qmin, qmax); ``scale`` the shape of the scale, whose values are drawn."""
    drawn = s.uniform(*scale, low=0.2, high=1.6)
    grown = (len(drawn), *shape[1:]) if scale else shape
    return (_off_the_ties(s, grown, *grid) * beside(torch.empty(grown), drawn), drawn, *grid)


_case = cases_of(_drawn_scale)


_QUARTER = float64(0.25)  # divides exactly

LEARNED_SCALE = Exercise(
    **told("LearnedScale"),
    reference=_learned,
    gradcheck=False,
    second_order="not-judged",
    forbidden=_REBUILT
    | {
        "torch._fake_quantize_learnable_per_tensor_affine",
        "torch._fake_quantize_learnable_per_channel_affine",
    },
    cases=(
        _case("a vector, one scale", 12, grid=(-4, 3)),
        _case("a matrix, a scale for each row", 3, 4, scale=(3,), grid=(-8, 7)),
        _case("a batch of matrices, one scale, no negative steps", 2, 3, 4, grid=(0, 7)),
        _case("2 bits, a scale for each channel", 2, 3, 3, scale=(2,), grid=(-2, 1)),
        special(
            "x on the ends of the range",
            [-1.0, 0.75, 0.0, 0.25],
            _QUARTER,
            -4,
            3,
            advice="On an end x / scale = qmin or qmax, which is not inside: x gets 0 there, scale qmin or qmax.",
        ),
        special(
            "ties, which go to the even step",
            [-0.375, -0.125, 0.125, 0.375, 0.625],
            _QUARTER,
            -4,
            3,
            advice=HALVES,
        ),
        _case("8 bits without a sign", 3, 4, grid=(0, 255), role="special"),
        _case(
            "a square matrix, a scale for each row", 3, 3, scale=(3,), grid=(-4, 3), role="batch"
        ),
        _case("one channel", 1, 5, scale=(1,), grid=(-4, 3), role="batch"),
        _case("a vector, a scale for each number", 4, scale=(4,), grid=(-4, 3), role="batch"),
        _case("a single number (0-d)", grid=(-2, 1), role="batch"),
        empty(
            "an empty batch",
            some(0, 3),
            lambda s: s.uniform(low=0.5, high=1.5),
            -4,
            3,
            advice="A sum over no elements is 0, and so is the gradient of scale: what is √(n · qmax) for n = 0?",
        ),
        extreme(
            "inputs up to ±1e20 in float32",
            _WIDE,
            float64(0.7),
            -128,
            127,
            advice=FAR_OUT,
        ),
    ),
    budget=kept(0, 1),
)
