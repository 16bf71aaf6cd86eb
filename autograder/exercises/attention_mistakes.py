"""Wrong backwards of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Misconception
from autograder.exercises.attention_formulas import causal_mask, scale_of, softmax_rows


@dataclass(frozen=True)
class Step:
    """What backward has at hand: all of (…, L, S) but q, k, v and g, the upstream gradient."""

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    scores: Tensor
    weights: Tensor
    mask: Tensor | None
    scale: float

    @property
    def by_weights(self) -> Tensor:
        """∂loss/∂weights, (…, L, S)."""
        return self.g @ self.v.transpose(-1, -2)

    @property
    def by_scores(self) -> Tensor:
        """The right ∂loss/∂scores, (…, L, S)."""
        w, t = self.weights, self.by_weights
        return w * (t - (w * t).sum(-1, keepdim=True))

    def gradients(
        self,
        by_scores: Tensor | None = None,
        weights: Tensor | None = None,
        scale: float | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The three gradients, with one ingredient replaced by a wrong one."""
        s = self.by_scores if by_scores is None else by_scores
        w = self.weights if weights is None else weights
        c = self.scale if scale is None else scale
        return s @ self.k * c, s.transpose(-1, -2) @ self.q * c, w.transpose(-1, -2) @ self.g

    def with_weights(self, weights: Tensor, own_sum: bool) -> tuple[Tensor, Tensor, Tensor]:
        """The three gradients when backward recomputes other weights than forward used.

        ``own_sum``: the sum of a row comes from those weights too, else from the right output.
        """
        t = self.by_weights
        total = _dot(weights if own_sum else self.weights, t)
        return self.gradients(weights * (t - total), weights)


Mistake = Callable[[Step], tuple[Tensor | None, Tensor | None, Tensor | None]]


def step_of(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None, g: Tensor
) -> Step:
    """Everything between the inputs and the gradients, in float64."""
    c = scale_of(q, scale)
    scores = q @ k.transpose(-1, -2) * c
    return Step(q, k, v, g, scores, softmax_rows(scores, mask), mask, c)


def known(
    message: str, hint: str, mistake: Mistake, rule: str = "gradient-value", flash: bool = False
) -> Misconception:
    """A wrong backward of attention; with ``flash`` the arguments are those of FlashAttention."""

    def whole(
        q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None, *, grad_output: Tensor
    ) -> tuple[Tensor | None, ...]:
        return mistake(step_of(q, k, v, mask, scale, grad_output))

    def tiled(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
    ) -> tuple[Tensor | None, ...]:
        mask = causal_mask(q, k) if causal else None
        return mistake(step_of(q, k, v, mask, None, grad_output))

    return Misconception(message, hint, tiled if flash else whole, rule)


def _dot(a: Tensor, b: Tensor, dim: int = -1) -> Tensor:
    return (a * b).sum(dim, keepdim=True)


_JACOBIAN = "grad_scores = weights · (grad_weights − Σ weights · grad_weights), with one sum a row."


def backward_mistakes(flash: bool = False) -> tuple[Misconception, ...]:
    """The wrong backwards that every attention exercise knows."""
    return (*_wrong_steps(flash), *_wrong_weights(flash))


def _wrong_weights(flash: bool) -> tuple[Misconception, ...]:
    """Weights that are not those of forward, with the sum of each row from them or from the output."""

    def using(weights: Callable[[Step], Tensor], own_sum: bool) -> Mistake:
        return lambda s: s.with_weights(weights(s), own_sum)

    return tuple(
        known(message, hint, using(weights, own_sum), flash=flash)
        for message, hint, weights in _RECOMPUTED
        for own_sum in (True, False)
    )


def _masked(s: Step) -> Tensor:
    return s.scores if s.mask is None else s.scores.masked_fill(~s.mask, -torch.inf)


def _logsumexp(scores: Tensor) -> Tensor:
    return torch.logsumexp(scores, -1, keepdim=True)


def _maximum_and_sum(s: Step) -> Tensor:
    top = _masked(s).amax(-1, keepdim=True)
    return top + (_masked(s) - top).exp().sum(-1, keepdim=True)


_NORMALISE = "Subtract the logsumexp of the row: exp(scores − logsumexp) adds up to 1."
_SAME_SCORES = "The scores of backward must be those of forward: scale · q · kᵀ."
_AGAIN = "Backward needs the weights that forward used, zeros included: set the masked scores to −inf again."
_NO_MASK = "The mask is ignored in backward: the weights are recomputed without it."
_NO_SCALE = "The weights that backward recomputes come from scores without the scale."

_RECOMPUTED: tuple[tuple[str, str, Callable[[Step], Tensor]], ...] = (
    (_NO_MASK, _AGAIN, lambda s: torch.softmax(s.scores, -1)),
    (_NO_MASK, _AGAIN, lambda s: (s.scores - _logsumexp(_masked(s))).exp()),
    (
        "The weights that backward recomputes are not normalised: exp(scores − maximum).",
        _NORMALISE,
        lambda s: (_masked(s) - _masked(s).amax(-1, keepdim=True)).exp(),
    ),
    (
        "The weights that backward recomputes are not normalised: exp(scores).",
        _NORMALISE,
        lambda s: _masked(s).exp(),
    ),
    (
        "The weights that backward recomputes are scores − logsumexp: the exponential is missing.",
        "That is the logarithm of the weights. Take its exponential.",
        lambda s: _masked(s) - _logsumexp(_masked(s)),
    ),
    (
        "The logsumexp is wrong: maximum + sum. The logarithm of the sum is missing.",
        "logsumexp = maximum + log(Σ exp(scores − maximum)), one number a row.",
        lambda s: (_masked(s) - _maximum_and_sum(s)).exp(),
    ),
    (_NO_SCALE, _SAME_SCORES, lambda s: softmax_rows(s.scores / s.scale, s.mask)),
    (_NO_SCALE, _SAME_SCORES, lambda s: (_masked(s) / s.scale - _logsumexp(_masked(s))).exp()),
)


def _wrong_steps(flash: bool) -> tuple[Misconception, ...]:
    """A wrong step between right weights and the gradients."""
    return tuple(
        known(message, hint, mistake, rule, flash)
        for message, hint, mistake, rule in (
            (
                "The softmax is left out of backward: the gradient of the weights is used for that of "
                "the scores.",
                f"Between the scores and the weights stands a softmax: {_JACOBIAN}",
                lambda s: s.gradients(s.by_weights),
                "gradient-value",
            ),
            (
                "The sum is missing in the softmax's backward: grad_scores is weights · grad_weights.",
                f"The weights of a row add up to 1, so each depends on all scores of its row. {_JACOBIAN}",
                lambda s: s.gradients(s.weights * s.by_weights),
                "gradient-value",
            ),
            (
                "Only the diagonal of the softmax's Jacobian is there: weights · (1 − weights).",
                f"Each weight depends on all scores of its row. {_JACOBIAN}",
                lambda s: s.gradients(s.weights * (1 - s.weights) * s.by_weights),
                "gradient-value",
            ),
            (
                "In the softmax's backward grad_weights is subtracted with its plain sum, not with the sum "
                "weighted by the weights.",
                _JACOBIAN,
                lambda s: s.gradients(s.weights * (s.by_weights - s.by_weights.sum(-1, keepdim=True))),
                "gradient-value",
            ),
            (
                "In the softmax's backward the plain mean of grad_weights is subtracted.",
                _JACOBIAN,
                lambda s: s.gradients(s.weights * (s.by_weights - s.by_weights.mean(-1, keepdim=True))),
                "gradient-value",
            ),
            (
                "In the softmax's backward the sum runs over the queries; it should run over the keys.",
                "The softmax runs over the last dimension, the keys, and so does the sum of its backward.",
                lambda s: s.gradients(
                    s.weights * (s.by_weights - _dot(s.weights, s.by_weights, -2))
                ),
                "gradient-value",
            ),
            (
                "In the softmax's backward the factor weights in front is missing.",
                _JACOBIAN,
                lambda s: s.gradients(s.by_weights - _dot(s.weights, s.by_weights)),
                "gradient-value",
            ),
            (
                "In the softmax's backward the sum is added, not subtracted.",
                _JACOBIAN,
                lambda s: s.gradients(s.weights * (s.by_weights + _dot(s.weights, s.by_weights))),
                "gradient-value",
            ),
            (
                "In the softmax's backward Σ out is subtracted; it should be Σ out · grad_output.",
                "delta = (out · grad_output).sum(-1, keepdim=True).",
                lambda s: s.gradients(
                    s.weights * (s.by_weights - (s.weights @ s.v).sum(-1, keepdim=True))
                ),
                "gradient-value",
            ),
            (
                "In the softmax's backward Σ grad_output is subtracted; it should be Σ out · grad_output.",
                "delta = (out · grad_output).sum(-1, keepdim=True).",
                lambda s: s.gradients(s.weights * (s.by_weights - s.g.sum(-1, keepdim=True))),
                "gradient-value",
            ),
            (
                "The scale is missing in backward.",
                "The scores are scale · q · kᵀ, so the gradients for q and k carry the factor scale.",
                lambda s: s.gradients(scale=1.0),
                "gradient-scale",
            ),
            (
                "The scale is applied twice in backward.",
                "One factor scale belongs into the gradients for q and k: either at grad_scores, or at "
                "both products.",
                lambda s: s.gradients(scale=s.scale**2),
                "gradient-scale",
            ),
            (
                "The gradients are divided by the scale where they should be multiplied.",
                "The scores are scale · q · kᵀ: the chain rule multiplies by scale.",
                lambda s: s.gradients(scale=1 / s.scale),
                "gradient-scale",
            ),
        )
    )  # fmt: skip
