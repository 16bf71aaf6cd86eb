"""Formulas that are right almost everywhere, and wrong at a kink, in a tie or in a row with −inf."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import Misconception

# ---- LinearReLU: a pre-activation of exactly 0 -----------------------------------------------

_AT_ZERO = (
    "At a pre-activation of 0 the contract asks for the gradient 0: it passes where z > 0 only."
)


def _through(x: Tensor, weight: Tensor, bias: Tensor, g: Tensor, at_zero: float) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of a linear layer whose ReLU has this slope at 0."""
    z = F.linear(x, weight, bias)
    g = g * torch.where(z == 0, at_zero, (z > 0).to(z.dtype))
    rows, units = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, rows.T @ units, rows.sum(0)


LINEAR_RELU_AT_ZERO = (
    Misconception(
        "All of the gradient passes where the pre-activation is exactly 0, and none of it should.",
        _AT_ZERO,
        lambda x, weight, bias, *, grad_output: _through(x, weight, bias, grad_output, 1.0),
    ),
    Misconception(
        "Half of the gradient passes where the pre-activation is exactly 0, and none of it should.",
        _AT_ZERO,
        lambda x, weight, bias, *, grad_output: _through(x, weight, bias, grad_output, 0.5),
    ),
)

# ---- Max: several elements are the largest ---------------------------------------------------

_NAMED = "Of equal elements one gets the whole gradient, the one that forward's indices name: save these, and scatter."


def _to_equals(x: Tensor, dim: int, g: Tensor) -> Tensor:
    return g.unsqueeze(dim) * (x == x.amax(dim, keepdim=True))


def _to_the_last(x: Tensor, dim: int, g: Tensor) -> Tensor:
    last = x.shape[dim] - 1 - x.flip(dim).argmax(dim, keepdim=True)
    return torch.zeros_like(x).scatter(dim, last, g.unsqueeze(dim))


MAX_IN_TIES = (
    Misconception(
        "Every one of the equal elements gets the whole gradient; only the one that the index names should.",
        _NAMED,
        lambda x, dim, *, grad_output: (_to_equals(x, dim, grad_output),),
    ),
    Misconception(
        "The equal elements share the gradient; the one that the index names should get all of it.",
        _NAMED,
        lambda x, dim, *, grad_output: (
            _to_equals(x, dim, grad_output) / (x == x.amax(dim, True)).sum(dim, True),
        ),
    ),
    Misconception(
        "The last of the equal elements gets the gradient; the index that comes out names the first.",
        _NAMED,
        lambda x, dim, *, grad_output: (_to_the_last(x, dim, grad_output),),
    ),
)

# ---- LogSumExp: −inf in a row ----------------------------------------------------------------


def _zeros_for_infinities(x: Tensor, dim: int, g: Tensor, dead: float) -> Tensor:
    """Gradients with 0 in the place of every −inf of x; times ``dead`` where the whole row is −inf."""
    out = torch.logsumexp(x, dim, keepdim=True)
    empty = out == -torch.inf
    share = torch.exp(x.masked_fill(x == -torch.inf, 0.0) - out.masked_fill(empty, 0.0))
    return g.unsqueeze(dim) * torch.where(empty, dead * share, share)


_OUTPUT_ALONE = (
    "Leave x as it is: e^(−inf − output) is 0, as it should be, as long as the output is finite. Only where the output "
    "is −inf a 0 has to stand in its place before it is subtracted."
)
LOG_SUM_EXP_AT_INFINITY = (
    *(Misconception(
        "A −inf of x is taken for 0 in rows with other numbers too: its share is made e^(0 − output), and 0 is right.",
        _OUTPUT_ALONE,
        lambda x, dim, *, grad_output, dead=dead: (_zeros_for_infinities(x, dim, grad_output, dead),),
    )
    for dead in (0.0, 1.0)),
    Misconception(
        "A single −inf makes the whole gradient of its row 0; that is right only where all of the row is −inf.",
        "Ask whether all numbers of the row are −inf, not whether any is; or ask the output, which is −inf there only.",
        lambda x, dim, *, grad_output: (
            grad_output.unsqueeze(dim) * torch.where((x == -torch.inf).any(dim, True), 0.0, x.softmax(dim)),
        ),
    ),
)  # fmt: skip
