"""Wrong backwards of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from torch import Tensor

from autograder.exercise import Misconception
from autograder.exercises.attention_recomputed import wrong_weights
from autograder.exercises.attention_scale_gradients import WRONG_SCALES
from autograder.exercises.attention_steps import Mistake, Step, dot, known, known_in_tiles

_JACOBIAN = "grad_scores = weights · (grad_weights − Σ weights · grad_weights), with one sum a row."


def _summed_over(dim: int) -> Mistake:
    return lambda s: s.gradients(s.weights * (s.by_weights - dot(s.weights, s.by_weights, dim)))


def _visible_scores(s: Step) -> Tensor:
    """The scores, 0 where they are masked (the weights there are 0, and 0 · (−inf) would be NaN)."""
    return s.scores if s.mask is None else s.scores.masked_fill(~s.mask, 0.0)


# Wrong steps between right weights and the gradients: message, hint, gradients, rule.
_STEPS: tuple[tuple[str, str, Mistake, str], ...] = (
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
        "The brackets are in the wrong place: weights · grad_weights − Σ weights · grad_weights, without "
        "the factor weights on the sum (delta).",
        f"weights · (grad_weights − delta). {_JACOBIAN}",
        lambda s: s.gradients(s.weights * s.by_weights - dot(s.weights, s.by_weights)),
        "gradient-value",
    ),
    (
        "The factor weights stands before the sum (delta) only: grad_weights − weights · delta.",
        f"weights · (grad_weights − delta). {_JACOBIAN}",
        lambda s: s.gradients(s.by_weights - s.weights * dot(s.weights, s.by_weights)),
        "gradient-value",
    ),
    (
        "The factor weights is on the sum (delta) too: weights · (grad_weights − weights · delta).",
        f"weights · (grad_weights − delta). {_JACOBIAN}",
        lambda s: s.gradients(
            s.weights * (s.by_weights - s.weights * dot(s.weights, s.by_weights))
        ),
        "gradient-value",
    ),
    (
        "The factor weights in front is there twice.",
        f"weights · (grad_weights − delta). {_JACOBIAN}",
        lambda s: s.gradients(s.weights * s.by_scores),
        "gradient-value",
    ),
    (
        "This is the backward of log-softmax: grad_weights − weights · Σ grad_weights.",
        _JACOBIAN,
        lambda s: s.gradients(s.by_weights - s.weights * s.by_weights.sum(-1, keepdim=True)),
        "gradient-value",
    ),
    (
        "In the softmax's backward only the sum (delta) is there: −weights · delta, without grad_weights.",
        _JACOBIAN,
        lambda s: s.gradients(-s.weights * dot(s.weights, s.by_weights)),
        "gradient-value",
    ),
    (
        "In the softmax's backward the sum is a mean: Σ weights · grad_weights is divided by the number "
        "of keys.",
        _JACOBIAN,
        lambda s: s.gradients(
            s.weights * (s.by_weights - (s.weights * s.by_weights).mean(-1, keepdim=True))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward the sum (delta) is a mean: Σ out · grad_output is divided by the "
        "width of v.",
        "delta = (out · grad_output).sum(-1, keepdim=True).",
        lambda s: s.gradients(
            s.weights * (s.by_weights - dot(s.weights, s.by_weights) / s.v.shape[-1])
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward one sum runs over queries and keys together; each query has its own.",
        _JACOBIAN,
        lambda s: s.gradients(
            s.weights * (s.by_weights - (s.weights * s.by_weights).sum((-1, -2), keepdim=True))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward one sum runs over everything, all heads included; each query has its "
        "own.",
        _JACOBIAN,
        lambda s: s.gradients(s.weights * (s.by_weights - (s.weights * s.by_weights).sum())),
        "gradient-value",
    ),
    *(
        (
            f"In the softmax's backward the sum runs over dimension {dim}, counted from the front.",
            "With a batch that is another dimension than the keys: sum over dim=-1.",
            _summed_over(dim),
            "gradient-value",
        )
        for dim in (0, 1, 2)
    ),
    (
        "In the softmax's backward the sum (delta) has the scores where the weights belong: "
        "Σ scores · grad_weights.",
        _JACOBIAN,
        lambda s: s.gradients(
            s.weights * (s.by_weights - dot(_visible_scores(s), s.by_weights))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward the factor in front is the scores; it should be the weights.",
        _JACOBIAN,
        lambda s: s.gradients(
            _visible_scores(s) * (s.by_weights - dot(s.weights, s.by_weights))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward Σ out² is subtracted; it should be Σ out · grad_output.",
        "delta = (out · grad_output).sum(-1, keepdim=True).",
        lambda s: s.gradients(
            s.weights * (s.by_weights - ((s.weights @ s.v) ** 2).sum(-1, keepdim=True))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward Σ grad_output² is subtracted; it should be Σ out · grad_output.",
        "delta = (out · grad_output).sum(-1, keepdim=True).",
        lambda s: s.gradients(s.weights * (s.by_weights - (s.g**2).sum(-1, keepdim=True))),
        "gradient-value",
    ),
    (
        "The scale is on grad_weights only, not on the sum (delta) that is subtracted from it.",
        f"weights · (grad_weights − delta), and the scale on all of it. {_JACOBIAN}",
        lambda s: s.gradients(
            s.weights * (s.scale * s.by_weights - dot(s.weights, s.by_weights)), scale=1.0
        ),
        "gradient-value",
    ),
    (
        "The scale is on the sum (delta) only, not on grad_weights.",
        f"weights · (grad_weights − delta), and the scale on all of it. {_JACOBIAN}",
        lambda s: s.gradients(
            s.weights * (s.by_weights - s.scale * dot(s.weights, s.by_weights)), scale=1.0
        ),
        "gradient-value",
    ),
    (
        "grad_scores is put to 0 where the mask is True: those are the keys that count.",
        "Weights of masked keys are 0 already, so backward needs no mask here; with masked_fill it "
        "would be ~mask.",
        lambda s: s.gradients(
            s.by_scores if s.mask is None else s.by_scores.masked_fill(s.mask, 0.0)
        ),
        "gradient-zero",
    ),
    (
        "grad_v is made with the gradient of the scores; it should be made with the weights.",
        "out = weights · v, so grad_v = weightsᵀ · grad_output.",
        lambda s: s.gradients(weights=s.by_scores),
        "gradient-value",
    ),
    (
        "grad_v is made with the gradient of the scores; it should be made with the weights.",
        "out = weights · v, so grad_v = weightsᵀ · grad_output.",
        lambda s: s.gradients(weights=s.by_scores * s.scale),
        "gradient-value",
    ),
    (
        "grad_v is made with the scores; it should be made with the weights.",
        "out = weights · v, so grad_v = weightsᵀ · grad_output.",
        lambda s: s.gradients(weights=_visible_scores(s)),
        "gradient-value",
    ),
    (
        "The gradient for v carries the scale, which belongs to the scores only.",
        "out = weights · v: no scale stands between v and out.",
        lambda s: (None, None, (s.weights * s.scale).transpose(-1, -2) @ s.g),
        "gradient-scale",
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
            s.weights * (s.by_weights - dot(s.weights, s.by_weights, -2))
        ),
        "gradient-value",
    ),
    (
        "In the softmax's backward the factor weights in front is missing.",
        _JACOBIAN,
        lambda s: s.gradients(s.by_weights - dot(s.weights, s.by_weights)),
        "gradient-value",
    ),
    (
        "In the softmax's backward the sum is added, not subtracted.",
        _JACOBIAN,
        lambda s: s.gradients(s.weights * (s.by_weights + dot(s.weights, s.by_weights))),
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
    *WRONG_SCALES,
)  # fmt: skip


def backward_mistakes(tiles: bool = False) -> tuple[Misconception, ...]:
    """The wrong backwards that every attention exercise knows; ``tiles``: those of FlashAttention."""
    if tiles:
        made = (*_STEPS, *wrong_weights(mask=False))
        return tuple(m for each in made for m in known_in_tiles(*each))
    return tuple(known(*each) for each in (*_STEPS, *wrong_weights(mask=True)))
