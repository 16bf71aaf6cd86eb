"""BatchNorm, LayerNorm and Conv1d of lesson 09."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler, bytes_of
from autograder.exercises.common_cases import cases_of, extreme, float64, kept, some, special, told


def normalised(x: Tensor, weight: Tensor, bias: Tensor, eps: float, dim: int) -> Tensor:
    """(x − mean) / √(biased variance + eps) along ``dim``, times weight, plus bias.

    Written out: F.batch_norm refuses a batch of one, and F.layer_norm an empty row.
    """
    centred = x - x.mean(dim, keepdim=True)
    variance = (centred * centred).mean(dim, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


def _columns(s: Sampler, *shape: int) -> Arguments:
    """x of this shape, with columns of other means and spreads; weight and bias of its last size; an eps that counts."""
    x, columns = s.normal(*shape), shape[-1:]
    x = x * s.uniform(*columns, low=0.5, high=2.0) + s.normal(*columns)
    eps = float(s.uniform(low=0.01, high=0.5))
    return x, s.away_from(*columns, gap=0.3), s.normal(*columns), eps


_layer = cases_of(_columns)


def with_values(rows: list[list[float]], eps: float = 1e-5) -> Any:
    """Arguments with these rows as x."""

    def make(s: Sampler) -> Arguments:
        x = float64(rows)
        return x, s.away_from(x.shape[1], gap=0.3), s.normal(x.shape[1]), eps

    return make


_ROOM = 2  # numbers a channel beside x̂: the mean and one over the spread
_WIDEST = 8  # bytes: of half precision they may be kept in a wider dtype, as torch does

BATCH_NORM = Exercise(
    **told("BatchNorm"),
    reference=lambda x, weight, bias, eps: normalised(x, weight, bias, eps, 0),
    cases=(
        _layer("a batch of vectors", 4, 3),
        _layer("a batch of wider vectors", 5, 6),
        _layer("a single channel", 6, 1),
        special(
            "a channel that is the same in every row",
            with_values([[2.0, 1.0], [2.0, -1.0], [2.0, 0.5]], eps=0.1),
            advice="Its variance is 0, and eps alone stands below the root: everything stays finite, and x̂ is 0.",
        ),
        _layer("no channels", 3, 0, role="empty"),
        extreme(
            "channels far from 0, in float32",
            with_values([[500.25, -800.0], [501.5, -801.75], [499.0, -800.5], [500.5, -799.25]]),
            advice="Subtract the mean first, and square then: E[x²] − E[x]² takes two large numbers from one another.",
        ),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]) + _ROOM * args[0].shape[-1] * _WIDEST,
    second_order="right-or-refused",
)


LAYER_NORM = Exercise(
    **told("LayerNorm"),
    reference=lambda x, weight, bias, eps: normalised(x, weight, bias, eps, -1),
    cases=(
        _layer("a batch of vectors", 3, 4),
        _layer("a batch of longer vectors", 2, 6),
        _layer("a batch of sequences", 2, 3, 5, role="batch"),
        special(
            "a row whose elements are all the same",
            with_values([[2.0, 2.0, 2.0], [0.5, 1.0, -1.0]], eps=0.1),
            second=True,
            advice="Its variance is 0, and eps alone stands below the root: everything stays finite, and x̂ is 0.",
        ),
        extreme(
            "rows far from 0, in float32",
            with_values([[500.25, 501.5, 499.0, 500.5], [-800.0, -801.75, -800.5, -799.25]]),
            advice="Subtract the mean first, and square then: E[x²] − E[x]² takes two large numbers from one another.",
        ),
        _layer("a single vector, no batch dimension", 5, role="batch"),
        _layer("three batch dimensions", 2, 1, 3, 4, role="batch"),
        _layer("an empty batch", 0, 3, role="empty"),
        _layer("an empty batch of sequences", 2, 0, 4, role="empty"),
    ),
    budget=lambda args, outputs: (
        bytes_of(args[0], args[1])
        + _ROOM * (args[0].numel() // max(1, args[0].shape[-1])) * _WIDEST
    ),
)


# x (N, C, L) and a weight (out, C, kernel); sizes that the kernel has to fit stay as they are.
_windows = cases_of(
    lambda s, *x, out, kernel, stride=1, padding=0: (
        *(s.normal(*x), s.normal(out, x[1], kernel), s.normal(out)),
        stride,
        padding,
    )
)


CONV1D = Exercise(
    **told("Conv1d"),
    reference=lambda x, weight, bias, stride, padding: F.conv1d(
        x, weight + 0 * weight.sum(), bias, stride, padding  # nothing is promised for an infinite weight
    ),
    cases=(
        _windows("stride 1, no padding", 2, 3, 6, out=4, kernel=3),
        _windows("stride 1, padding 2", 3, 2, 5, out=3, kernel=4, padding=2),
        _windows("stride 2, padding 1", 2, 2, 7, out=3, kernel=3, stride=2, padding=1),
        _windows("stride 2, where no window reaches the last element", 2, 3, 8, out=2, kernel=3, stride=2),
        _windows("stride 5 with windows of 2: gaps between them", 2, 2, 9, out=3, kernel=2, stride=5, padding=1),
        _windows("windows of a single element", 2, 3, 4, out=2, kernel=1),
        _windows("one window, as long as x", 3, 2, 4, out=2, kernel=4, role="special"),
        _windows(
            "a window longer than x, by padding", 2, 2, 3, out=2, kernel=5, padding=2, role="special"
        ),
        _windows("an empty batch", 0, 2, 5, out=3, kernel=2, role="empty"),
        extreme(
            "inputs of ±1000",
            lambda s: 1000 * s.uniform(2, 2, 5, low=-1.0), some(3, 2, 2), some(3), 2, 1,

        ),
    ),
    budget=kept(0, 1),
)  # fmt: skip
