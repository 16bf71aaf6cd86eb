"""Softmax of lesson 07: contract, hints and experiments."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import along, along_a_dim, fixed, kept


def _masked_scores(s: Sampler) -> tuple[Tensor, int]:
    """Rows in which one or two elements are −inf, as a mask leaves them."""
    x = s.normal(3, 4)
    x[0, 1], x[1, 2], x[1, 3] = -torch.inf, -torch.inf, -torch.inf
    return x, 1


SOFTMAX = Exercise(
    name="Softmax",
    lesson="07_attention",
    summary="softmax along dim; right second derivatives.",
    signature="(x, dim)",
    reference=lambda x, dim: torch.softmax(x, dim),
    cases=(
        *along_a_dim(
            along,
            along("a batch of matrices, dim=-1", 2, 4, 3, dim=-1),
            Case("rows with some −inf, as a mask leaves them", _masked_scores, role="special"),
        ),
        Case(
            "inputs up to ±1000 in float32",
            fixed([[1000.0, 0.0, -1000.0], [-1000.0, -1200.0, -800.0], [2.0, 0.5, 1.0]], 1),
            role="extreme",
        ),
    ),
    budget=kept(output=True),
    budget_words="the output",
    hints=(
        "Every output of a row depends on every input of it, so there is a Jacobian, one matrix a row. "
        "You do not need the matrix, only its product with grad_output. And which tensor is enough to "
        "write it: x, or the output?",
        "∂yᵢ/∂xⱼ = yᵢ·(1 if i = j else 0) − yᵢ·yⱼ. Multiply with g and sum over i: one term stays, the "
        "other becomes a sum along dim that all elements of the row share. Save y itself; shift by the "
        "maximum before exp.",
        "e = (x - x.amax(dim, keepdim=True)).exp(); y = e / e.sum(dim, keepdim=True). Backward: y "
        "* (g - (g * y).sum(dim, keepdim=True)), and None for dim.",
    ),
)
