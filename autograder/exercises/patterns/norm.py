"""Norm of lesson 08: contract and hints."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import along_a_dim, cases_of, float64, kept


def norm(x: Tensor, dim: int) -> Tensor:
    """√Σx² along dim in float64; a row of zeros has the value 0 and the gradient 0."""
    zero = (x == 0).all(dim, keepdim=True)
    value = torch.where(zero, 1.0, x).square().sum(dim).sqrt()
    return torch.where(zero.squeeze(dim), 0.0, value)


# Away from 0: no row is short.
_rows = cases_of(lambda s, *shape, dim: (s.away_from(*shape, gap=0.3), dim))


def _zero_rows(s: Sampler) -> tuple[Tensor, int]:
    x = s.away_from(4, 3)
    x[0], x[2] = 0.0, 0.0
    return x, 1


def _short_rows(s: Sampler) -> tuple[Tensor, int]:
    return s.away_from(2, 3) * 1e-30, 1


def _some_zeros(s: Sampler) -> tuple[Tensor, int]:
    x = s.away_from(3, 4)
    x[0, 1:], x[1, 2] = 0.0, 0.0
    return x, 1


def _far(s: Sampler) -> tuple[Tensor, int]:
    rows = [[1e30, -2e30, 3e30], [1000.0, 0.0, -1000.0], [1e30, 1.0, 0.0], [0.0, 0.0, 0.0]]
    return float64(rows) * s.uniform(4, 1, low=0.5, high=1.5), 1


NORM = Exercise(
    name="Norm",
    lesson="08_patterns",
    summary="√Σx² along dim; gradient 0 in a row of zeros, no overflow at 1e30 in float32.",
    signature="(x, dim)",
    reference=norm,
    cases=(
        *along_a_dim(
            _rows,
            _rows("rows of a single number, dim=1", 3, 1, dim=1),
            Case(
                "rows of zeros",
                _zero_rows,
                role="special",
                advice="In a row of zeros x / out is 0 / 0, which is nan. Put 1 in place of a norm of 0 with "
                "torch.where before you divide; no small number has to be added.",
            ),
            Case(
                "zeros in rows that are not zero",
                _some_zeros,
                role="special",
                second=True,
                advice="A row is zero when all of its elements are, which is where its norm is 0.",
            ),
            Case(
                "short rows: a norm of 1e-30",
                _short_rows,
                role="special",
                advice="The gradient of a short row has length 1, too: put another number in place of a norm of 0 alone.",
            ),
        ),
        Case(
            "inputs up to 1e30 in float32",
            _far,
            role="extreme",
            advice="The square of 1e30 is more than float32 can hold. Divide each row by its largest size before "
            "you square, and multiply afterwards; a row of zeros is divided by 1. In backward, "
            "divide x by the norm first.",
        ),
    ),
    budget=kept(0, output=True),
    budget_words="x and the output",
    hints=(
        "The norm of a row grows fastest in the direction of the row itself, and the slope in that "
        "direction is 1. Which vector of length 1 is that? And what could it be where the row is zero?",
        "Forward: take the largest |x| of each row out of the root, so that nothing larger than 1 is squared; "
        "where it is 0, take 1. Backward: x / out, with 1 in place of an out of 0. Save x and the output, "
        "and no mask or scaled copy: those would be constants to the second derivative.",
        "top = x.abs().amax(dim, keepdim=True); top = torch.where(top == 0, 1.0, top); out = top.squeeze(dim) * "
        "(x / top).square().sum(dim).sqrt(). Backward: safe = torch.where(out == 0, 1.0, out).unsqueeze(dim); "
        "grad_x = grad_output.unsqueeze(dim) * (x / safe), and None for dim.",
    ),
)
