"""Amax of lesson 08: contract and hints."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import along_a_dim, distinct_along, fixed, float64, kept

_SHARE = (
    "The elements that equal the maximum share the gradient of their row: count them, and divide. "
    "The others get nothing."
)


def _ties(s: Sampler) -> tuple[Tensor, int]:
    """Two, three and four of a row are the largest, and a row without ties."""
    rows = [
        [2.0, 5.0, 5.0, 1.0],
        [3.0, 3.0, 0.5, 3.0],
        [7.0, 7.0, 7.0, 7.0],
        [0.0, 4.0, -1.0, -1.0],
    ]
    return float64(rows) + s.uniform(4, 1), 1


def _columns(s: Sampler) -> tuple[Tensor, int]:
    x, _ = _ties(s)
    return x.t().contiguous(), 0


def _almost(s: Sampler) -> tuple[Tensor, int]:
    """The second largest differs in its last digit."""
    top = s.uniform(3, 1, low=0.1, high=0.2)
    return torch.cat([torch.nextafter(top, top - 1.0), top, top - 1.0], 1), 1


AMAX = Exercise(
    name="Amax",
    lesson="08_patterns",
    summary="The largest element along dim; elements that tie share the gradient equally.",
    signature="(x, dim)",
    reference=lambda x, dim: torch.amax(x, dim),
    cases=(
        *along_a_dim(
            distinct_along,
            distinct_along("rows of a single number, dim=1", 3, 1, dim=1),
            Case("ties along dim=1", _ties, role="special", second="mixed", advice=_SHARE),
            Case("ties along dim=0", _columns, role="special", advice=_SHARE),
            Case(
                "almost a tie: another last digit",
                _almost,
                role="special",
                advice="A little less is less: ask for equality, without a tolerance.",
            ),
            Case(
                "300 that tie",
                lambda s: (s.uniform(1, 1).expand(2, 300).clone(), 1),
                role="special",
                advice="Count those that share in a dtype that has room for all of them; uint8 ends at 255.",
            ),
        ),
        Case(
            "inputs of ±1000",
            fixed(
                [[-1000.0, 1000.0, 999.0], [-1000.0, -1001.0, -1000.0], [1000.0, 1000.0, 1000.0]], 1
            ),
            role="extreme",
            advice=_SHARE,
        ),
    ),
    budget=kept(0, output=True),
    budget_words="x and the output, or a mask",
    hints=(
        "When one of two equal largest elements grows, the maximum grows; when it falls, nothing happens. "
        "A fair answer between the two shares the gradient. Who has a share, and how many are they?",
        "x == out, with the lost dimension put back, marks all who share; its sum along dim counts them. Save "
        "x and the output, or the mask itself: a bool takes one byte an element.",
        "mask = x == out.unsqueeze(dim); grad_x = mask * (grad_output / mask.sum(dim)).unsqueeze(dim); "
        "return grad_x, None.",
    ),
)
