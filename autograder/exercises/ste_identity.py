"""Lesson 04: the identity in forward, another gradient in backward: GradientReversal, ClipGradient."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception
from autograder.exercises.ste_slips import CLIPPINGS, REVERSALS
from autograder.exercises.ste_surrogate import (
    KEEPS_NOTHING,
    LESSON,
    extreme,
    no_bytes,
    surrogate,
)

# ---- GradientReversal ----------------------------------------------------------------------


def _reversal_case(name: str, *shape: int, low: float, high: float, **more: Any) -> Case:
    """alpha is drawn: two calls have two numbers."""
    return Case(
        name, lambda s: (1.5 * s.normal(*shape), float(s.uniform(low=low, high=high))), **more
    )


GRADIENT_REVERSAL = Exercise(
    name="GradientReversal",
    lesson=LESSON,
    summary="x unchanged; backward gives −alpha · grad_output, for a Python number alpha.",
    signature="(x, alpha)",
    reference=lambda x, alpha: surrogate(x, -alpha * x),
    gradcheck=False,
    cases=(
        _reversal_case("a vector, alpha below 1", 5, low=0.2, high=0.6, visible=True),
        _reversal_case("a matrix, alpha above 1", 3, 4, low=1.5, high=3.0, visible=True),
        _reversal_case("a batch of matrices", 2, 3, 4, low=0.6, high=0.9),
        Case(
            "alpha = 0",
            lambda s: (s.normal(2, 3), 0.0),
            role="special",
            visible=True,
            advice="alpha = 0 is a number like any other, and stops the gradient. `if alpha` and `alpha or 1` "
            "take 0 for a missing number: ask `alpha is None` where that is meant.",
        ),
        Case("a whole number as alpha", lambda s: (s.normal(4), 2), role="special"),
        _reversal_case(
            "a negative alpha",
            4,
            low=-0.8,
            high=-0.3,
            role="special",
            advice="The gradient is -alpha * grad_output for every alpha: a negative one turns the sign back.",
        ),
        _reversal_case("a single number (0-d)", low=1.2, high=1.8, role="batch"),
        _reversal_case("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        Case("inputs up to ±1000 in float32", extreme(0.5), role="extreme"),
    ),
    budget=no_bytes,
    budget_words=KEEPS_NOTHING,
    hints=(
        "Forward does nothing to x. All the work is in backward: which sign, and which factor? And how "
        "many values does backward return?",
        "alpha is a number: put it on ctx as an attribute. Forward returns x, or a view of it "
        "(x.view_as(x)). No tensor has to be saved.",
        "return -ctx.alpha * grad_output, None.",
    ),
    misconceptions=(
        Misconception(
            "The gradient passes unchanged: nothing is reversed.",
            "That is the true derivative of forward. Here −alpha · grad_output is asked for.",
            lambda x, alpha, *, grad_output: (grad_output, None),
            rule="gradient-scale",
        ),
        Misconception(
            "The gradient is reversed, but alpha is missing.",
            "alpha sets how strong the reversal is: backward multiplies by it (forward hands it over on ctx).",
            lambda x, alpha, *, grad_output: (-grad_output, None),
            rule="gradient-scale",
        ),
        Misconception(
            "The gradient is divided by alpha.",
            "Multiply: alpha = 0 switches the reversal off.",
            lambda x, alpha, *, grad_output: (-grad_output / alpha, None),
            rule="gradient-scale",
        ),
        Misconception(
            "The gradient is multiplied by x.",
            "The factor is −alpha alone. x plays no part in backward.",
            lambda x, alpha, *, grad_output: (-alpha * x * grad_output, None),
        ),
        Misconception(
            "alpha is subtracted from grad_output; it should multiply it.",
            "The factor is −alpha.",
            lambda x, alpha, *, grad_output: (grad_output - alpha, None),
        ),
        *REVERSALS,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is −alpha · x: forward is reversed too.",
            "Forward hands x on as it is. Only the gradient is reversed.",
            lambda x, alpha: -alpha * x,
        ),
        ForwardSlip(
            "The output is alpha · x.",
            "Forward hands x on as it is. alpha belongs to backward.",
            lambda x, alpha: alpha * x,
        ),
        ForwardSlip("The output is −x.", "Forward hands x on as it is.", lambda x, alpha: -x),
    ),
)


# ---- ClipGradient --------------------------------------------------------------------------


def _clipped(x: Tensor, limit: float) -> Tensor:
    """x, with a hook that clamps the gradient on its way back."""
    y = x.view_as(x)
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient.clamp(-limit, limit) + 0.0)  # no -0
    return y


def _clip_case(name: str, *shape: int, low: float, high: float, **more: Any) -> Case:
    """limit is drawn: two calls have two numbers."""
    return Case(
        name, lambda s: (1.5 * s.normal(*shape), float(s.uniform(low=low, high=high))), **more
    )


CLIP_GRADIENT = Exercise(
    name="ClipGradient",
    lesson=LESSON,
    summary="x unchanged; backward gives grad_output clamped to ±limit, element by element.",
    signature="(x, limit)",
    reference=_clipped,
    gradcheck=False,
    linear_upstream=False,
    cases=(
        _clip_case("a vector", 6, low=0.25, high=0.4, visible=True),
        _clip_case("a matrix", 3, 4, low=0.5, high=0.75, visible=True),
        _clip_case("a batch of matrices, a wider limit", 2, 3, 4, low=1.1, high=1.3),
        Case(
            "limit = 0",
            lambda s: (s.normal(2, 3), 0.0),
            role="special",
            advice="A limit of 0 lets nothing through. `if limit` and `limit or 1` take 0 for a missing "
            "number: ask `limit is None` where that is meant.",
        ),
        Case("a whole number as limit", lambda s: (s.normal(4, 3), 1), role="special"),
        Case("a limit that nothing reaches", lambda s: (s.normal(4), 100.0), role="special"),
        _clip_case("a single number (0-d)", low=0.01, high=0.02, role="batch"),
        _clip_case("an empty batch", 0, 3, low=0.2, high=0.8, role="empty"),
        Case("inputs up to ±1000 in float32", extreme(0.5), role="extreme"),
    ),
    budget=no_bytes,
    budget_words=KEEPS_NOTHING,
    hints=(
        "Forward does nothing to x. In backward it is grad_output that is limited, not x.",
        "limit is a number: put it on ctx. Tensor.clamp makes a new tensor, clamp_ would write into one "
        "that belongs to torch.",
        "return grad_output.clamp(-ctx.limit, ctx.limit), None.",
    ),
    misconceptions=(
        Misconception(
            "The gradient passes unchanged: nothing is clipped.",
            "That is the true derivative of forward. Here it is clamped to ±limit.",
            lambda x, limit, *, grad_output: (grad_output, None),
        ),
        Misconception(
            "Gradients above limit are clipped, those below −limit are not.",
            "clamp takes a minimum and a maximum.",
            lambda x, limit, *, grad_output: (grad_output.clamp(max=limit), None),
        ),
        Misconception(
            "Gradients below −limit are clipped, those above limit are not.",
            "clamp takes a minimum and a maximum.",
            lambda x, limit, *, grad_output: (grad_output.clamp(min=-limit), None),
        ),
        Misconception(
            "Negative gradients become 0: the lower bound is 0.",
            "The bounds are −limit and limit.",
            lambda x, limit, *, grad_output: (grad_output.clamp(0, limit), None),
        ),
        Misconception(
            "The gradient is clamped to ±1, whatever limit is.",
            "Keep limit on ctx and use it.",
            lambda x, limit, *, grad_output: (grad_output.clamp(-1, 1), None),
        ),
        Misconception(
            "Gradients beyond the limit become 0; they should become ±limit.",
            "clamp keeps their sign and cuts their size.",
            lambda x, limit, *, grad_output: (grad_output * (grad_output.abs() <= limit), None),
        ),
        Misconception(
            "The gradient stops where |x| > limit: the mask looks at x.",
            "Here the size of grad_output counts. x plays no part in backward.",
            lambda x, limit, *, grad_output: (grad_output * (x.abs() <= limit), None),
        ),
        Misconception(
            "The whole gradient is scaled so that its norm is at most limit.",
            "That is clip_grad_norm_. Here every element is clamped by itself.",
            lambda x, limit, *, grad_output: (
                grad_output * (limit / grad_output.norm()).clamp(max=1.0),
                None,
            ),
        ),
        Misconception(
            "Every gradient becomes +limit or −limit, small ones too.",
            "Inside ±limit the gradient passes unchanged.",
            lambda x, limit, *, grad_output: (limit * grad_output.sign(), None),
        ),
        Misconception(
            "The sign of the gradient is lost: its size is clamped.",
            "clamp with −limit and limit keeps the sign.",
            lambda x, limit, *, grad_output: (grad_output.abs().clamp(max=limit), None),
        ),
        Misconception(
            "The gradient is −limit everywhere, whatever grad_output is: so does a clamp whose minimum is "
            "above its maximum.",
            "clamp takes the minimum first: clamp(−limit, limit). With the two exchanged torch gives the "
            "maximum for every number.",
            lambda x, limit, *, grad_output: (grad_output.clamp(limit, -limit), None),
            rule="upstream-ignored",
        ),
        Misconception(
            "x is clamped in backward, and grad_output is not used.",
            "Clamp grad_output.",
            lambda x, limit, *, grad_output: (x.clamp(-limit, limit), None),
            rule="upstream-ignored",
        ),
        *CLIPPINGS,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is clamped; the gradient should be.",
            "Forward hands x on as it is.",
            lambda x, limit: x.clamp(-limit, limit),
        ),
        ForwardSlip(
            "The output is limit · x.",
            "Forward hands x on as it is.",
            lambda x, limit: limit * x,
        ),
    ),
)
