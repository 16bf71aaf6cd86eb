"""GradientReversal and ClipGradient of lesson 04: forward changes nothing, backward does."""

from __future__ import annotations

from torch import Tensor

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import case_with_number, fixed, kept
from autograder.exercises.ste.surrogates import (
    EXTREME,
    KEEPS_NOTHING,
    surrogate,
)

GRADIENT_REVERSAL = Exercise(
    name="GradientReversal",
    lesson="04_ste",
    summary="x unchanged; backward gives −alpha · grad_output, for a Python number alpha.",
    signature="(x, alpha)",
    reference=lambda x, alpha: surrogate(x, -alpha * x),
    gradcheck=False,
    cases=(
        case_with_number("a vector, alpha below 1", 5, low=0.2, high=0.6),
        case_with_number("a matrix, alpha above 1", 3, 4, low=1.5, high=3.0),
        case_with_number("a batch of matrices", 2, 3, 4, low=0.6, high=0.9),
        Case(
            "alpha = 0",
            lambda s: (s.normal(2, 3), 0.0),
            role="special",
            advice="alpha = 0 is a number like any other, and stops the gradient.",
        ),
        Case("a whole number as alpha", lambda s: (s.normal(4), 2), role="special"),
        case_with_number(
            "a negative alpha",
            4,
            low=-0.8,
            high=-0.3,
            role="special",
            advice="The gradient is -alpha * grad_output for every alpha: a negative one turns the sign back.",
        ),
        case_with_number("a single number (0-d)", low=1.2, high=1.8, role="batch"),
        case_with_number("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        Case("inputs up to ±1000 in float32", fixed(EXTREME, 0.5), role="extreme"),
    ),
    budget=kept(),
    budget_words=KEEPS_NOTHING,
    hints=(
        "Forward does nothing to x. All the work is in backward: which sign, and which factor? And how "
        "many values does backward return?",
        "alpha is a number: put it on ctx as an attribute. Forward returns x, or a view of it "
        "(x.view_as(x)). No tensor has to be saved.",
        "return -ctx.alpha * grad_output, None.",
    ),
)


def _clipped(x: Tensor, limit: float) -> Tensor:
    """x, with a hook that clamps the gradient on its way back."""
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient.clamp(-limit, limit) + 0.0)  # no -0
    return y


CLIP_GRADIENT = Exercise(
    name="ClipGradient",
    lesson="04_ste",
    summary="x unchanged; backward gives grad_output clamped to ±limit, element by element.",
    signature="(x, limit)",
    reference=_clipped,
    gradcheck=False,
    linear_upstream=False,
    cases=(
        case_with_number("a vector", 6, low=0.25, high=0.4),
        case_with_number("a matrix", 3, 4, low=0.5, high=0.75),
        case_with_number("a batch of matrices, a wider limit", 2, 3, 4, low=1.1, high=1.3),
        Case(
            "limit = 0",
            lambda s: (s.normal(2, 3), 0.0),
            role="special",
            advice="A limit of 0 is a limit like any other, and lets nothing through.",
        ),
        Case("a whole number as limit", lambda s: (s.normal(4, 3), 1), role="special"),
        Case("a limit that nothing reaches", lambda s: (s.normal(4), 100.0), role="special"),
        case_with_number("a single number (0-d)", low=0.01, high=0.02, role="batch"),
        case_with_number("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        Case("inputs up to ±1000 in float32", fixed(EXTREME, 0.5), role="extreme"),
    ),
    budget=kept(),
    budget_words=KEEPS_NOTHING,
    hints=(
        "Forward does nothing to x. In backward it is grad_output that is limited, not x.",
        "limit is a number: put it on ctx. Tensor.clamp makes a new tensor, clamp_ would write into one "
        "that belongs to torch.",
        "return grad_output.clamp(-ctx.limit, ctx.limit), None.",
    ),
)
