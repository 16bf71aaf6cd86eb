"""Wrong factors of the gradients of attention: the scale in backward (lesson 07)."""

from __future__ import annotations

from torch import Tensor

from autograder.exercises.attention_steps import Mistake, Step, dot, logsumexp, masked


def _default_throughout(own_softmax: bool) -> Mistake:
    """The default scale in the recomputed scores and in the gradients."""

    def gradients(s: Step) -> tuple[Tensor, Tensor, Tensor]:
        scores = masked(s) / s.scale * s.default
        base = scores if own_softmax else masked(s)
        weights = (scores - logsumexp(base)).exp()
        total = dot(weights if own_softmax else s.weights, s.by_weights)
        return s.gradients(weights * (s.by_weights - total), weights, s.default)

    return gradients


# Message, hint, gradients, rule.
WRONG_SCALES: tuple[tuple[str, str, Mistake, str], ...] = (
    (
        "The scale is missing in backward.",
        "The scores are scale · q · kᵀ, so the gradients for q and k carry the factor scale.",
        lambda s: s.gradients(scale=1.0),
        "gradient-scale",
    ),
    (
        "The scale that is given is ignored in backward: 1/√E is used there, always.",
        "Keep the scale that forward used on ctx.",
        lambda s: s.gradients(scale=s.default),
        "gradient-scale",
    ),
    (
        "The scale that is given is ignored in backward: 1/√E is used there, always.",
        "Keep the scale that forward used on ctx.",
        _default_throughout(True),
        "gradient-value",
    ),
    (
        "The scale that is given is ignored in backward: 1/√E is used there, always.",
        "Keep the scale that forward used on ctx.",
        _default_throughout(False),
        "gradient-value",
    ),
    (
        "The scale is applied twice in backward.",
        "One factor scale belongs into the gradients for q and k: either at grad_scores, or at "
        "both products. A q or k that was kept with the scale in it has that factor already.",
        lambda s: s.gradients(scale=s.scale**2),
        "gradient-scale",
    ),
    (
        "The gradients are divided by the scale where they should be multiplied.",
        "The scores are scale · q · kᵀ: the chain rule multiplies by scale.",
        lambda s: s.gradients(scale=1 / s.scale),
        "gradient-scale",
    ),
)  # fmt: skip
