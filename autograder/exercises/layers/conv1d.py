"""Conv1d of lesson 09: contract, hints and experiments."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import cases_of, kept


def _drawn(
    s: Sampler, *x: int, out: int, kernel: int, stride: int = 1, padding: int = 0
) -> tuple[Any, ...]:
    """x (N, C, L) and a weight (out, C, kernel); sizes that the kernel has to fit stay as they are."""
    return s.normal(*x), s.normal(out, x[1], kernel), s.normal(out), stride, padding


_layer = cases_of(_drawn)


CONV1D = Exercise(
    name="Conv1d",
    lesson="09_layers",
    summary="Windows of x (N, C, L) weighed by weight (O, C, K), plus bias (O), as F.conv1d has it.",
    signature="(x, weight, bias, stride, padding)",
    reference=lambda x, weight, bias, stride, padding: F.conv1d(x, weight, bias, stride, padding),
    cases=(
        _layer("stride 1, no padding", 2, 3, 6, out=4, kernel=3),
        _layer("stride 1, padding 2", 3, 2, 5, out=3, kernel=4, padding=2),
        _layer("stride 2, padding 1", 2, 2, 7, out=3, kernel=3, stride=2, padding=1),
        _layer("stride 2, where no window reaches the last element", 2, 3, 8, out=2, kernel=3, stride=2),
        _layer("stride 5 with windows of 2: gaps between them", 2, 2, 9, out=3, kernel=2, stride=5, padding=1),
        _layer("windows of a single element", 2, 3, 4, out=2, kernel=1),
        _layer("one window, as long as x", 3, 2, 4, out=2, kernel=4, role="special"),
        _layer(
            "a window longer than x, by padding", 2, 2, 3, out=2, kernel=5, padding=2, role="special"
        ),
        _layer("an empty batch", 0, 2, 5, out=3, kernel=2, role="empty"),
        Case(
            "inputs of ±1000",
            lambda s: (1000 * s.uniform(2, 2, 5, low=-1.0), s.normal(3, 2, 2), s.normal(3), 2, 1),
            role="extreme",
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
