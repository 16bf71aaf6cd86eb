"""Lesson 03, reductions that choose or weigh: ``Max`` and ``LogSumExp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import (
    Case,
    Exercise,
    ForwardSlip,
    Misconception,
    Sampler,
    Scenario,
    bytes_of,
)
from autograder.exercises.broadcasting import LESSON
from autograder.exercises.reduction_slips import (
    LOG_SUM_EXP_SLOPES,
    LOG_SUM_EXP_VALUES,
    MAX_SLOPES,
    MAX_VALUES,
)

# ---- Max -------------------------------------------------------------------------------------


def _distinct(name: str, *shape: int, dim: int, **more: Any) -> Case:
    return Case(name, lambda s: (s.distinct(*shape), dim), **more)


def _ties(s: Sampler) -> tuple[Tensor, int]:
    """Rows in which the largest value stands twice or three times."""
    rows = [[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 0.5], [0.0, -1.0, 0.0, -2.0]]
    return torch.tensor(rows, dtype=torch.float64) + s.uniform(3, 1), 1


def _far_down(s: Sampler) -> tuple[Tensor, int]:
    """The largest element of each column at an odd index above 256: bytes and bfloat16 have none."""
    x = s.uniform(2, 300, 2, low=-3.0, high=3.0)
    for column in range(4):
        x[column // 2, 2 * s.integer(128, 149) + 1, column % 2] = 4.0 + column
    return x, -2


def _scattered(x: Tensor, dim: int, indices: Tensor, g: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter(dim, indices.unsqueeze(dim), g.unsqueeze(dim))


MAX = Exercise(
    name="Max",
    lesson=LESSON,
    summary="(values, indices) of the largest element along dim, as torch.max gives them.",
    signature="(x, dim)",
    reference=lambda x, dim: tuple(torch.max(x, dim)),
    cases=(
        _distinct("a matrix, dim=1", 3, 4, dim=1, visible=True),
        _distinct("a matrix, dim=0", 5, 2, dim=0, visible=True),
        Case(
            "a batch of matrices of 300 rows, dim=-2",
            _far_down,
            advice="Indices are whole numbers of any size: a byte ends at 255, and beyond 256 bfloat16 has every "
            "second one only. Keep them as torch.max gives them.",
        ),
        _distinct("a batch of matrices, dim=-1", 3, 2, 4, dim=-1),
        _distinct("a batch of matrices, dim=0", 3, 4, 2, dim=0),
        Case(
            "ties: the first of equal elements is chosen",
            _ties,
            role="special",
            advice="Of equal elements one gets the whole gradient, the one that forward's indices name. "
            "x == values marks them all: save the indices and scatter.",
        ),
        _distinct("a vector", 5, dim=0, role="batch"),
        _distinct("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        Case(
            "inputs of ±1000", lambda s: (1000.0 * s.distinct(2, 3, spacing=0.4), 1), role="extreme"
        ),
    ),
    budget=lambda args, outputs: bytes_of(outputs[1]),
    budget_words="the indices",
    hints=(
        "When the largest element of a row grows a little, the maximum grows with it; the others do "
        "nothing. So where does each element of grad_output go, and what does backward have to remember?",
        "Save the indices, and note x.shape and dim. backward receives two upstream gradients, one an "
        "output; that of the indices means nothing. Start from zeros of x's shape (new_zeros keeps the "
        "dtype) and write grad_values to the chosen places with scatter.",
        "grad_x = grad_values.new_zeros(ctx.shape).scatter(dim, indices.unsqueeze(dim), "
        "grad_values.unsqueeze(dim)); return grad_x, None.",
    ),
    misconceptions=(
        Misconception(
            "Every element of a row gets the gradient, not only the largest.",
            "The maximum does not change when a smaller element does.",
            lambda x, dim, *, grad_output: (grad_output.unsqueeze(dim).expand_as(x),),
        ),
        Misconception(
            "The gradient goes to the smallest element.",
            "It belongs to the element that forward chose: use the indices that forward found.",
            lambda x, dim, *, grad_output: (_scattered(x, dim, x.argmin(dim), grad_output),),
        ),
        Misconception(
            "The gradient always goes to the first element along dim.",
            "It belongs to the element that forward chose: scatter to the saved indices.",
            lambda x, dim, *, grad_output: (
                _scattered(x, dim, torch.zeros_like(x.argmax(dim)), grad_output),
            ),
        ),
        Misconception(
            "The indices are kept in a byte: from 256 on the gradient goes to another element.",
            "An index may be as large as the tensor. Keep the indices as torch.max gives them.",
            lambda x, dim, *, grad_output: (_scattered(x, dim, x.argmax(dim) % 256, grad_output),),
        ),
        Misconception(
            "The gradient is multiplied by the largest value.",
            "Where the maximum is, the slope is 1.",
            lambda x, dim, *, grad_output: (
                _scattered(x, dim, x.argmax(dim), grad_output * x.amax(dim)),
            ),
        ),
        Misconception(
            "The gradient is that of logsumexp, the soft maximum: it is spread over the row.",
            "The hard maximum gives everything to one element.",
            lambda x, dim, *, grad_output: (grad_output.unsqueeze(dim) * x.softmax(dim),),
        ),
        *MAX_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is the smallest element.", "max, not min.", lambda x, dim: tuple(x.min(dim))
        ),
        *MAX_VALUES,
    ),
)

# ---- LogSumExp -------------------------------------------------------------------------------


def log_sum_exp(x: Tensor, dim: int) -> Tensor:
    """torch.logsumexp, with gradient 0 (not NaN) for a row that is −inf everywhere."""
    empty = (x == -torch.inf).all(dim, keepdim=True)
    value = torch.logsumexp(torch.where(empty, 0.0, x), dim)
    return torch.where(empty.squeeze(dim), -torch.inf, value)


def _with_infinities(s: Sampler) -> tuple[Tensor, int]:
    """A row of −inf, a row with one −inf, an ordinary row."""
    x = s.normal(3, 4)
    x[0], x[1, 2] = -torch.inf, -torch.inf
    return x, 1


def _soft(name: str, *shape: int, dim: int, **more: Any) -> Case:
    return Case(name, lambda s: (1.5 * s.normal(*shape), dim), **more)


def _large_rows(s: Sampler) -> tuple[Tensor, int]:
    rows = [[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -999.0], [-1000.0, 1000.0, 0.0]]
    return torch.tensor(rows, dtype=torch.float64), 1


def _spread(
    message: str, hint: str, slope: Callable[[Tensor, int, Tensor], Tensor]
) -> Misconception:
    """``slope`` takes x, dim and the output with its dimension kept."""

    def gradients(x: Tensor, dim: int, *, grad_output: Tensor) -> tuple[Tensor]:
        out = torch.logsumexp(x, dim, keepdim=True)
        return (grad_output.unsqueeze(dim) * slope(x, dim, out),)

    return Misconception(message, hint, gradients)


def _nan_upstream(log_sum_exp: Callable[..., Tensor], s: Sampler) -> dict[str, Any]:
    """Which rows of the gradient are NaN when the gradient that arrives for row 1 of 3 is."""
    x = s.normal(3, 4).requires_grad_(True)
    upstream = s.normal(3)
    upstream[1] = torch.nan
    (gradient,) = torch.autograd.grad(log_sum_exp(x, 1), x, upstream)
    return {"rows": gradient.isnan().all(1).tolist()}


def _judge_nan_upstream(seen: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    if seen["rows"][1]:
        return None
    return (
        "A NaN that arrives in grad_output leaves backward as an ordinary number.",
        "A NaN from above is a mistake somewhere else: whoever looks for it must be able to see it. "
        "Replace the infinity before you subtract; nan_to_num over the result sweeps away everything.",
        {},
    )


LOG_SUM_EXP = Exercise(
    name="LogSumExp",
    lesson=LESSON,
    summary="log Σ eˣ along dim, finite for every finite x; −inf with gradient 0 for a row of −inf.",
    signature="(x, dim)",
    reference=log_sum_exp,
    cases=(
        _soft("a matrix, dim=1", 3, 4, dim=1, visible=True),
        _soft("a matrix, dim=0", 5, 2, dim=0, visible=True),
        _soft("a batch of matrices, dim=-2", 2, 3, 4, dim=-2),
        _soft("a single row, dim=1", 1, 3, dim=1),
        Case(
            "rows with −inf",
            _with_infinities,
            role="special",
            visible=True,
            second=True,
            advice="In a row of −inf the output is −inf too, and −inf − (−inf) is nan. Put 0 in place of an "
            "infinite maximum or output before you subtract it, with torch.where.",
        ),
        _soft("a vector", 5, dim=0, role="batch"),
        _soft("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        Case("inputs up to ±1000 in float32", _large_rows, role="extreme", visible=True),
    ),
    budget=lambda args, outputs: bytes_of(args[0], outputs[0]),
    budget_words="x and the output",
    hints=(
        "Shift before you exponentiate: log Σ eˣ = m + log Σ e^(x − m) for every m. Which m keeps all "
        "exponents at or below 0? In backward, each element gets a share of grad_output. Which shares "
        "add up to 1?",
        "Save x and the output. The share of an element is e^(x − output), never larger than 1; that is "
        "the softmax. For a row of −inf both x and the output are −inf, and −inf − (−inf) is NaN: put 0 "
        "in place of an infinite output before you subtract.",
        "Backward: safe = torch.where(out == -torch.inf, 0.0, out), then grad_x = "
        "grad_output.unsqueeze(dim) * torch.exp(x - safe.unsqueeze(dim)). Forward: m = "
        "x.amax(dim, keepdim=True) with −inf replaced by 0 in the same way, out = m.squeeze(dim) "
        "+ torch.exp(x - m).sum(dim).log().",
    ),
    misconceptions=(
        _spread(
            "The gradient is grad_output · eˣ: it is not divided by the sum.",
            "The derivative of log s is s′ / s. The shares of a row add up to 1.",
            lambda x, dim, out: x.exp(),
        ),
        _spread(
            "The gradient is grad_output · e^(x − max): it is not divided by the sum.",
            "Subtract the output, not the maximum: the shares of a row add up to 1.",
            lambda x, dim, out: (x - x.amax(dim, keepdim=True)).exp(),
        ),
        _spread(
            "The gradient is grad_output · (x − output), the logarithm of the share.",
            "That is log-softmax. Take its exponential.",
            lambda x, dim, out: x - out,
        ),
        _spread(
            "The gradient is spread evenly, as if this were a mean.",
            "Larger elements have a larger share: eˣ / Σ eˣ.",
            lambda x, dim, out: torch.ones_like(x) / x.shape[dim],
        ),
        _spread(
            "Every element gets the whole grad_output, as if this were a sum.",
            "The shares of a row are eˣ / Σ eˣ and add up to 1.",
            lambda x, dim, out: torch.ones_like(x),
        ),
        _spread(
            "The share is e^(output − x): the sign in the exponent is turned round.",
            "The largest element has the largest share.",
            lambda x, dim, out: (out - x).exp(),
        ),
        *LOG_SUM_EXP_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is Σ eˣ: the logarithm is missing.",
            "Take the logarithm of the sum.",
            lambda x, dim: x.exp().sum(dim),
        ),
        ForwardSlip(
            "The output is log Σ e^(x − max): the maximum is not added again.",
            "log Σ eˣ = m + log Σ e^(x − m).",
            lambda x, dim: (x - x.amax(dim, keepdim=True)).exp().sum(dim).log(),
        ),
        ForwardSlip(
            "The output is Σ x, the sum of the logarithms of eˣ.",
            "First the sum of the exponentials, then one logarithm.",
            lambda x, dim: x.sum(dim),
        ),
        ForwardSlip(
            "The output is log of the mean of eˣ.",
            "The sum is not divided by the number of elements.",
            lambda x, dim: x.exp().mean(dim).log(),
        ),
        *LOG_SUM_EXP_VALUES,
    ),
    scenarios=(
        Scenario(
            "a NaN from upstream stays a NaN",
            "upstream-nonlinear",
            _nan_upstream,
            _judge_nan_upstream,
            needs=("gradients_agree",),
        ),
    ),
)
