"""Wrong forwards of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip
from autograder.exercises.attention_formulas import (
    attention,
    attention_weights,
    causal_mask,
    scale_of,
)
from autograder.exercises.attention_scales import GIVEN_SCALES, SCALES


def _scores(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    return q @ k.transpose(-1, -2) * scale_of(q, scale)


def _weights(message: str, hint: str, weights: Callable[[Tensor], Tensor]) -> ForwardSlip:
    """Other weights, made from the scores with their −inf."""

    def value(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
        scores = _scores(q, k, scale)
        return weights(scores if mask is None else scores.masked_fill(~mask, -torch.inf)) @ v

    return ForwardSlip(message, hint, value)


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


def _low_number(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    """-1e4 in place of −inf: right where a larger score stands beside it; a row without any True gives 0."""
    scores = _scores(q, k, scale)
    if mask is None:
        return torch.softmax(scores, -1) @ v
    weights = torch.softmax(scores.masked_fill(~mask, -1e4), -1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0) @ v


def _first_head(q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None) -> Tensor:
    """All heads with the keys and values of the first one."""
    return attention(q, *((k, v) if q.dim() == 2 else (k[:1], v[:1])), mask, scale)


def _other_heads_zero(
    q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None
) -> Tensor:
    out = attention(q, k, v, mask, scale).clone()
    if out.dim() > 2:
        out[1:] = 0
    return out


def _sum(t: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    return t.sum(dim, keepdim=True)


def _softmax(dim: int, cleaned: bool) -> Callable[[Tensor], Tensor]:
    """Along a wrong dim. Where all of it is masked that is NaN; ``cleaned``: masked weights become 0."""

    def weights(scores: Tensor) -> Tensor:
        found = torch.softmax(scores, dim)
        return found.masked_fill(scores == -torch.inf, 0.0) if cleaned else found

    return weights


def _top(scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


_ADD_UP = "The weights of one query over all keys add up to 1: divide by the sum of the exponentials, dim=-1."
_LOGSUMEXP = "logsumexp = maximum + log(Σ exp(scores − maximum)), one number a row."

# FlashAttention has words of its own for it: there is a running sum.
NOT_DIVIDED = _weights(
    "The weights are exp(scores − maximum): they are not divided by their sum.",
    _ADD_UP,
    lambda s: (s - _top(s)).exp(),
)

# What goes wrong without a mask and without a scale too; FlashAttention has neither.
EVERYWHERE = (
    *SCALES,
    *(
        _weights(
            "The softmax runs over the queries.",
            "The weights of one query over all keys add up to 1: dim=-1.",
            _softmax(-2, cleaned),
        )
        for cleaned in (False, True)
    ),
    *(
        _weights(
            f"The softmax runs over dimension {dim}, counted from the front.",
            "With a batch that is another dimension than the keys: dim=-1.",
            _softmax(dim, cleaned),
        )
        for dim in (0, 1, 2)
        for cleaned in (False, True)
    ),
    ForwardSlip(
        "The softmax is missing.",
        "The weights of a row are not negative and add up to 1.",
        lambda q, k, v, mask=None, scale=None: _scores(q, k, scale) @ v,
    ),
    _weights(
        "The softmax is missing, and masked scores are 0.",
        "The weights of a row are not negative and add up to 1.",
        lambda s: s.masked_fill(s == -torch.inf, 0.0),
    ),
    _weights("The weights are exp(scores): they are not divided by their sum.", _ADD_UP, torch.exp),
    NOT_DIVIDED,
    _weights(
        "The weights are divided by the sum over the queries.",
        _ADD_UP,
        lambda s: (s - _top(s)).exp() / _sum((s - _top(s)).exp(), -2),
    ),
    _weights(
        "The weights are divided by the sum over queries and keys together.",
        _ADD_UP,
        lambda s: s.exp() / _sum(s.exp(), (-1, -2)),
    ),
    _weights(
        "The weights are divided by the sum over queries and keys together.",
        _ADD_UP,
        lambda s: (s - _top(s)).exp() / _sum((s - _top(s)).exp(), (-1, -2)),
    ),
    _weights(
        "The weights are divided by one sum over everything, all heads included.",
        _ADD_UP,
        lambda s: s.exp() / s.exp().sum(),
    ),
    _weights(
        "The weights are divided by one sum over everything, all heads included.",
        _ADD_UP,
        lambda s: (s - _top(s)).exp() / (s - _top(s)).exp().sum(),
    ),
    _weights(
        "The maximum is subtracted above the fraction line only: exp(scores − maximum) / Σ exp(scores).",
        "The same numbers stand above and below: e = exp(scores − maximum), then e / Σ e.",
        lambda s: (s - _top(s)).exp() / _sum(s.exp()),
    ),
    _weights(
        "The maximum is subtracted below the fraction line only: exp(scores) / Σ exp(scores − maximum). "
        "As a logsumexp: the maximum is not added back.",
        f"The same numbers stand above and below. {_LOGSUMEXP}",
        lambda s: s.exp() / _sum((s - _top(s)).exp()),
    ),
    _weights(
        "The logsumexp is wrong: maximum + sum. The logarithm of the sum is missing.",
        _LOGSUMEXP,
        lambda s: (s - _top(s) - _sum((s - _top(s)).exp())).exp(),
    ),
    _weights(
        "The weights are exp(scores − Σ exp(scores)): the logarithm of the sum is missing.",
        _LOGSUMEXP,
        lambda s: (s - _sum(s.exp())).exp(),
    ),
    _weights(
        "The weights are log-softmax.",
        "Take the exponential of it.",
        lambda s: torch.log_softmax(s, -1).masked_fill(s == -torch.inf, 0.0),
    ),
    _weights(
        "The weights are sigmoid(scores).",
        "Softmax, not sigmoid: the weights of a row add up to 1.",
        torch.sigmoid,
    ),
    _weights(
        "The softmax is taken twice.",
        "Once: the weights add up to 1 already.",
        lambda s: torch.softmax(torch.softmax(s, -1), -1),
    ),
    _weights(
        "The scores have the wrong sign.",
        "The larger q · k is, the larger is the weight.",
        lambda s: torch.softmax(torch.where(s == -torch.inf, s, -s), -1),
    ),
    ForwardSlip(
        "Every head gets the keys and values of the first one.",
        "Leave the batch dimensions alone: q @ k.transpose(-1, -2) and @ v treat each entry by itself.",
        _first_head,
    ),
    ForwardSlip(
        "Only the first entry of the batch is computed; the others stay 0.",
        "@ treats every entry by itself: no loop and no index over the batch is needed.",
        _other_heads_zero,
    ),
)


def tiled(slip: ForwardSlip) -> ForwardSlip:
    """The same slip with FlashAttention's arguments."""

    def value(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Any:
        return slip.value(q, k, v, causal_mask(q, k) if causal else None)

    return ForwardSlip(slip.message, slip.hint, value)


FORWARD_SLIPS = (
    *EVERYWHERE,
    *GIVEN_SCALES,
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
        "A large negative number stands in place of −inf, and where an allowed score is lower still, masked "
        "keys get the weight.",
        "Put -torch.inf there.",
        _low_number,
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
)
