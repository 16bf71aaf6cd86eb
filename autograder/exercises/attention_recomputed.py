"""Wrong weights that backward recomputes, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.exercises.attention_formulas import softmax_rows
from autograder.exercises.attention_steps import Mistake, Step, logsumexp, masked


def wrong_weights(mask: bool) -> tuple[tuple[str, str, Mistake, str], ...]:
    """Weights that are not those of forward, with the sum of each row from them or from the output.

    ``mask``: those too that only an exercise with a mask knows.
    """

    def using(weights: Callable[[Step], Tensor], own_sum: bool) -> Mistake:
        return lambda s: s.with_weights(weights(s), own_sum)

    return tuple(
        (message, hint, using(weights, own_sum), "gradient-value")
        for message, hint, weights in (*_RECOMPUTED, *(_WRONG_MASKS if mask else ()))
        for own_sum in (True, False)
    )


def _maximum(s: Step) -> Tensor:
    return masked(s).amax(-1, keepdim=True)


def _maximum_and_sum(s: Step) -> Tensor:
    top = _maximum(s)
    return top + (masked(s) - top).exp().sum(-1, keepdim=True)


_NORMALISE = "Subtract the logsumexp of the row: exp(scores − logsumexp) adds up to 1."
_SAME_SCORES = "The scores of backward must be those of forward: scale · q · kᵀ."
_AGAIN = "Backward needs the weights that forward used, zeros included: set the masked scores to −inf again."
_NO_MASK = "The mask is ignored in backward: the weights are recomputed without it."
_NO_SCALE = "The weights that backward recomputes come from scores without the scale."
_NOT_ADDED = "The logsumexp is wrong: log(Σ exp(scores − maximum)), without the maximum."
_LSE = "logsumexp = maximum + log(Σ exp(scores − maximum)), one number a row."
_SCALED_TWICE = "The weights that backward recomputes come from scores that are scaled twice."
_SCALE_DIVIDED = (
    "The weights that backward recomputes come from scores that are divided by the scale."
)
_ROUND = "The mask is the wrong way round in backward."
_TRUE = "True means attend. masked_fill fills where its mask is True: pass it ~mask."
_ZERO_SCORES = "Masked scores become 0 in backward, which is a score like any other."
_ADDED_MASK = "The bool mask is added to the scores as 0 and 1 in backward."


def _turned(s: Step) -> Tensor:
    """The scores with −inf where the mask is True."""
    return s.scores if s.mask is None else s.scores.masked_fill(s.mask, -torch.inf)


def _zeroed(s: Step) -> Tensor:
    return s.scores if s.mask is None else s.scores.masked_fill(~s.mask, 0.0)


def _added(s: Step) -> Tensor:
    return s.scores if s.mask is None else s.scores + s.mask.to(s.scores)


def _own(scores: Callable[[Step], Tensor]) -> Callable[[Step], Tensor]:
    """The softmax of other scores than forward's."""
    return lambda s: torch.softmax(scores(s), -1).nan_to_num(0.0)


def _with_right_lse(scores: Callable[[Step], Tensor]) -> Callable[[Step], Tensor]:
    """Other scores than forward's, with the logsumexp that forward kept."""
    return lambda s: (scores(s) - logsumexp(masked(s))).exp()


_RECOMPUTED: tuple[tuple[str, str, Callable[[Step], Tensor]], ...] = (
    (
        "The weights that backward recomputes are not normalised: exp(scores − maximum).",
        _NORMALISE,
        lambda s: (masked(s) - masked(s).amax(-1, keepdim=True)).exp(),
    ),
    (
        "The weights that backward recomputes are not normalised: exp(scores).",
        _NORMALISE,
        lambda s: masked(s).exp(),
    ),
    (
        "The weights that backward recomputes are scores − logsumexp: the exponential is missing.",
        "That is the logarithm of the weights. Take its exponential.",
        lambda s: masked(s) - logsumexp(masked(s)),
    ),
    (
        "The logsumexp is wrong: maximum + sum. The logarithm of the sum is missing.",
        _LSE,
        lambda s: (masked(s) - _maximum_and_sum(s)).exp(),
    ),
    (
        _NOT_ADDED,
        _LSE,
        lambda s: (masked(s) - logsumexp(masked(s) - masked(s).amax(-1, keepdim=True))).exp(),
    ),
    (
        "The logsumexp is wrong: the sum itself. Its logarithm is missing.",
        _LSE,
        lambda s: (masked(s) - masked(s).exp().sum(-1, keepdim=True)).exp(),
    ),
    (
        "The weights that backward recomputes are divided by a sum in which masked keys count too.",
        "Mask the scores first, then take the logsumexp or the softmax: a masked key adds nothing to the sum.",
        lambda s: (masked(s) - logsumexp(s.scores)).exp(),
    ),
    (
        "The logsumexp is wrong: Σ exp(scores − maximum) itself, without the maximum and without the logarithm.",
        _LSE,
        lambda s: (masked(s) - (masked(s) - _maximum(s)).exp().sum(-1, keepdim=True)).exp(),
    ),
    (
        "The logsumexp is wrong: the logarithm is subtracted from the maximum; it should be added.",
        _LSE,
        lambda s: (masked(s) - 2 * _maximum(s) + logsumexp(masked(s))).exp(),
    ),
    (
        "The sign of the logsumexp is wrong in backward: exp(scores + logsumexp).",
        "weights = exp(scores − logsumexp).",
        lambda s: (masked(s) + logsumexp(masked(s))).exp(),
    ),
    (
        "The logsumexp is multiplied by the scale in backward.",
        "It is the logsumexp of scores that are scaled already: exp(scores − logsumexp).",
        lambda s: (masked(s) - s.scale * logsumexp(masked(s))).exp(),
    ),
    (
        "The logsumexp is wrong: it is taken over the scores without the scale.",
        _SAME_SCORES,
        lambda s: (masked(s) - logsumexp(masked(s) / s.scale)).exp(),
    ),
    (
        "The weights that backward recomputes are normalised over the queries; it should be over the keys.",
        "The logsumexp, or the softmax, runs over the last dimension: one number a query.",
        lambda s: torch.softmax(masked(s), -2),
    ),
    (
        "Backward applies softmax to the saved weights once more.",
        "What comes back from ctx.saved_tensors are the weights already.",
        lambda s: torch.softmax(s.weights, -1),
    ),
    (_NO_SCALE, _SAME_SCORES, lambda s: softmax_rows(s.scores / s.scale, s.mask)),
    (_NO_SCALE, _SAME_SCORES, _with_right_lse(lambda s: masked(s) / s.scale)),
    (_SCALED_TWICE, _SAME_SCORES, lambda s: softmax_rows(s.scores * s.scale, s.mask)),
    (_SCALED_TWICE, _SAME_SCORES, _with_right_lse(lambda s: masked(s) * s.scale)),
    (_SCALE_DIVIDED, _SAME_SCORES, lambda s: softmax_rows(s.scores / s.scale**2, s.mask)),
    (_SCALE_DIVIDED, _SAME_SCORES, _with_right_lse(lambda s: masked(s) / s.scale**2)),
)

# FlashAttention has causal in their place: attention_seen says what goes wrong with that.
_WRONG_MASKS: tuple[tuple[str, str, Callable[[Step], Tensor]], ...] = (
    (_NO_MASK, _AGAIN, lambda s: torch.softmax(s.scores, -1)),
    (_NO_MASK, _AGAIN, _with_right_lse(lambda s: s.scores)),
    (_ROUND, _TRUE, _own(_turned)),
    (_ROUND, _TRUE, _with_right_lse(_turned)),
    (_ZERO_SCORES, _AGAIN, _own(_zeroed)),
    (_ZERO_SCORES, _AGAIN, _with_right_lse(_zeroed)),
    (_ADDED_MASK, _AGAIN, _own(_added)),
    (_ADDED_MASK, _AGAIN, _with_right_lse(_added)),
)
