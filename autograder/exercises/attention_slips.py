"""Wrong forwards of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip
from autograder.exercises.attention_formulas import attention, attention_weights, scale_of


def _scores(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    return q @ k.transpose(-1, -2) * scale_of(q, scale)


def _zeroed_scores(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    scores = _scores(q, k, scale)
    return torch.softmax(scores if mask is None else scores * mask, -1) @ v


def _masked_afterwards(
    q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None
) -> Tensor:
    weights = attention_weights(q, k, None, scale)
    return (weights if mask is None else weights * mask) @ v


def _added_mask(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    scores = _scores(q, k, scale)
    return torch.softmax(scores if mask is None else scores + mask.to(q.dtype), -1) @ v


def _over_queries(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    scores = _scores(q, k, scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -2) @ v


FORWARD_SLIPS = (
    ForwardSlip(
        "The scale is missing.",
        "Multiply q · kᵀ by scale, or by 1/√E where scale is None.",
        lambda q, k, v, mask=None, scale=None: attention(q, k, v, mask, 1.0),
    ),
    ForwardSlip(
        "The scale that is given is ignored.",
        "1/√E is only for scale=None.",
        lambda q, k, v, mask=None, scale=None: attention(q, k, v, mask),
    ),
    ForwardSlip(
        "The scores are divided by E, not by √E.",
        "scale=None means 1/√E.",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, mask, 1 / q.shape[-1] if scale is None else scale
        ),
    ),
    ForwardSlip(
        "The scores are multiplied by √E, not divided by it.",
        "scale=None means 1/√E.",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, mask, q.shape[-1] ** 0.5 if scale is None else scale
        ),
    ),
    ForwardSlip(
        "The scores are divided by √Ev, the width of v.",
        "E is the width of q and k: q.shape[-1].",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, mask, v.shape[-1] ** -0.5 if scale is None else scale
        ),
    ),
    ForwardSlip(
        "The scores are divided by √S, the number of keys.",
        "E is the width of q and k: q.shape[-1].",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, mask, k.shape[-2] ** -0.5 if scale is None else scale
        ),
    ),
    ForwardSlip(
        "The scores are divided by the scale that is given.",
        "scale is a factor: multiply.",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, mask, None if scale is None else 1 / scale
        ),
    ),
    ForwardSlip(
        "The mask is ignored.",
        "Where the mask is False the score becomes −inf, so that the weight is 0.",
        lambda q, k, v, mask=None, scale=None: attention(q, k, v, None, scale),
    ),
    ForwardSlip(
        "The mask is the wrong way round.",
        "True means attend. masked_fill fills where its mask is True: pass it ~mask.",
        lambda q, k, v, mask=None, scale=None: attention(
            q, k, v, None if mask is None else ~mask, scale
        ),
    ),
    ForwardSlip(
        "Masked scores become 0, which is a score like any other.",
        "e⁰ = 1: a masked key would still get weight. Use −inf.",
        _zeroed_scores,
    ),
    ForwardSlip(
        "The mask is applied after the softmax: the remaining weights no longer add up to 1.",
        "Set the masked scores to −inf before the softmax.",
        _masked_afterwards,
    ),
    ForwardSlip(
        "The bool mask is added to the scores as 0 and 1.",
        "Adding is for float masks with 0 and −inf. Here: masked_fill(~mask, -inf).",
        _added_mask,
    ),
    ForwardSlip(
        "The softmax runs over the queries.",
        "The weights of one query over all keys add up to 1: dim=-1.",
        _over_queries,
    ),
    ForwardSlip(
        "The softmax is missing.",
        "The weights of a row are not negative and add up to 1.",
        lambda q, k, v, mask=None, scale=None: _scores(q, k, scale) @ v,
    ),
)
