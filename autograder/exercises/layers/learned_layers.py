"""BatchNorm, LayerNorm and Conv1d of lesson 09."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler, bytes_of
from autograder.exercises.common_cases import cases_of, extreme, float64, kept, some, special


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
    name="BatchNorm",
    summary="Each column of x (N, C) normalised over the batch, times weight, plus bias; biased variance.",
    signature="(x, weight, bias, eps)",
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
    budget_words="x or x̂, two numbers a channel, and weight",
    second_order="right-or-refused",
    hints=(
        "Write x̂ = (x − mean) / s with s = √(variance + eps). The gradients for weight and bias are sums over the "
        "batch, as in MyLinear. For x, count the ways: xᵢ changes its own x̂ᵢ, and through mean and s "
        "every other one of its column.",
        "With h = g·weight, the gradient for x̂: through its own x̂ᵢ comes h / s. The mean takes the mean of h "
        "away, and s takes the part of h along x̂ away. What is left has mean 0 and no part along x̂. A "
        "column must not change when a constant is added to it, so its gradient adds up to 0: test that.",
        "With h = grad_output * weight: grad_x = (h - h.mean(0) - x_hat * (h * x_hat).mean(0)) / s; grad_weight = "
        "(grad_output * x_hat).sum(0); grad_bias = grad_output.sum(0); None for eps. If x̂ or s is saved, begin with "
        "if torch.is_grad_enabled(): raise RuntimeError(…). If x is saved, compute both again instead.",
    ),
)


LAYER_NORM = Exercise(
    name="LayerNorm",
    summary="Each row of x (…, D) normalised over the last dimension, times weight, plus bias; biased variance.",
    signature="(x, weight, bias, eps)",
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
    budget_words="x, two numbers a row, and weight",
    hints=(
        "The same three terms as in BatchNorm, along the last dimension, where mean and spread belong to a row. "
        "Weight and bias serve all rows: over which dimensions are their gradients summed, when x has three?",
        "What forward computes on the way to its output is a constant for the second derivative. Save x itself and "
        "compute mean, s and x̂ again in backward. With h = g·weight the mean of h and the mean of h·x̂, both "
        "along dim −1, go away. Gradients of weight and bias: flatten all rows first, reshape(-1, D).",
        "With h = grad_output * weight: grad_x = (h - h.mean(-1, keepdim=True) - x_hat * (h * x_hat).mean(-1, keepdim=True))"
        " / s; grad_weight = (grad_output * x_hat).reshape(-1, D).sum(0); grad_bias = grad_output.reshape(-1, D).sum(0); "
        "each only where it is needed, and None for eps.",
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
    name="Conv1d",
    summary="Windows of x (N, C, L) weighed by weight (O, C, K), plus bias (O), as F.conv1d has it.",
    signature="(x, weight, bias, stride, padding)",
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
    budget_words="x and weight; no gradient needs the numbers of the bias",
    hints=(
        "Write the indices: y[n, o, t] = Σ over c and k of x[n, c, t·stride + k − padding] · weight[o, c, k], plus "
        "bias[o]. Which outputs does one element of weight touch, and with which factor? And one element of x?",
        "windows = F.pad(x, (padding, padding)).unfold(2, K, stride) has the shape (N, C, T, K), and then the layer "
        "is MyLinear on windows: grad_weight is a sum over n and t of grad_output and windows. For x, each "
        "element of grad_output goes back into its whole window, times weight: F.conv_transpose1d does that. An element "
        "behind the last window gets 0: that is what output_padding is for.",
        "grad_weight = torch.einsum('not,nctk->ock', grad_output, windows); grad_bias = grad_output.sum((0, 2)); "
        "grad_x = F.conv_transpose1d(grad_output, weight, None, stride, padding, output_padding=(L + 2·padding − K) "
        "% stride); None for stride and padding.",
    ),
)  # fmt: skip
