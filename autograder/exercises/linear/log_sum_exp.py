"""LogSumExp: stable, 0 for the gradient of a row of −inf, and a NaN from above stays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Case,
    Cause,
    Exercise,
    Sampler,
    Scenario,
    sentences_beside,
)
from autograder.exercises.common_cases import along, along_a_dim, fixed, kept


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


def _nan_upstream(log_sum_exp: Callable[..., Tensor], s: Sampler) -> dict[str, Any]:
    """Which rows of the gradient are NaN when the gradient that arrives for row 1 of 3 is."""
    x = s.normal(3, 4).requires_grad_(True)
    upstream = s.normal(3)
    upstream[1] = torch.nan
    (gradient,) = torch.autograd.grad(log_sum_exp(x, 1), x, upstream)
    return {"rows": gradient.isnan().all(1).tolist()}


def _stays(seen: dict[str, Any]) -> Cause | None:
    return None if seen["rows"][1] else Cause("nan/swallowed", at=("nan_to_num", "nansum"))


LOG_SUM_EXP = Exercise(
    name="LogSumExp",
    lesson="03_linear",
    summary="log Σ eˣ along dim, finite for every finite x; −inf with gradient 0 for a row of −inf.",
    signature="(x, dim)",
    reference=log_sum_exp,
    cases=(
        *along_a_dim(
            along,
            along("a single row, dim=1", 1, 3, dim=1),
            Case(
                "rows with −inf",
                _with_infinities,
                role="special",
                second=True,
                advice="In a row of −inf the output is −inf too, and −inf − (−inf) is nan. Put 0 in place of an "
                "infinite maximum or output before you subtract it, with torch.where.",
            ),
        ),
        Case(
            "inputs up to ±1000 in float32",
            fixed(
                [[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -999.0], [-1000.0, 1000.0, 0.0]], 1
            ),
            role="extreme",
        ),
    ),
    budget=kept(0, output=True),
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
    scenarios=(
        Scenario(
            "a NaN from upstream stays a NaN",
            "upstream-nonlinear",
            _nan_upstream,
            _stays,
            needs=("gradients_agree",),
        ),
    ),
    sentences=sentences_beside(__file__),
)
