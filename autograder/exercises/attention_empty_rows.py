"""Queries that may look at no key, with a large negative number in place of −inf (lesson 07)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip
from autograder.exercises.attention_formulas import attention, scale_of


def _put(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    scores = q @ k.transpose(-1, -2) * scale_of(q, scale)
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e30), -1) @ v


def _added(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    """What is added to all scores of a row changes nothing: its weights are those without a mask."""
    if mask is not None:
        mask = mask | ~mask.any(-1, keepdim=True)
    return attention(q, k, v, mask, scale)


_HINT = (
    "Put -torch.inf at masked scores: -1e9 or finfo.min is a score like any other where a row has nothing "
    "else. Then give a row without any key the weights 0 (its softmax would be nan)."
)

EMPTY_ROWS = (
    ForwardSlip(
        "A query that may look at no key gets the mean of all values: a large negative number in place of "
        "−inf, or one number for the whole row, makes its weights equal.",
        _HINT,
        _put,
        "masked_fill",
    ),
    ForwardSlip(
        "A query that may look at no key gets what it would get without a mask: a large negative number that "
        "is added to all scores of a row changes nothing.",
        _HINT,
        _added,
    ),
)
