"""Lesson 04: functions with one jump, SignSTE and Binarize."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.elementwise import clipped
from autograder.exercises.ste_surrogate import (
    KEEPS_NOTHING,
    LESSON,
    elementwise_cases,
    no_bytes,
    shuffled,
    surrogate,
    true_derivative,
)

# ---- SignSTE -------------------------------------------------------------------------------

SIGN_STE = Exercise(
    name="SignSTE",
    lesson=LESSON,
    summary="torch.sign(x); backward passes the upstream gradient on unchanged.",
    signature="(x)",
    reference=lambda x: surrogate(torch.sign(x), x),
    gradcheck=False,
    cases=elementwise_cases(
        lambda s, *shape: 1.5 * s.normal(*shape),
        Case(
            "x = 0, where sign is 0",
            lambda s: (_near_zero(),),
            role="special",
            advice="torch.sign(0) is 0, neither 1 nor -1, and x / |x| is nan there. The gradient passes at 0 "
            "as everywhere.",
        ),
    ),
    budget=no_bytes,
    budget_words=KEEPS_NOTHING,
    hints=(
        "Pretend in backward that forward had been y = x. What does the identity do with the gradient "
        "that arrives?",
        "Forward is torch.sign(x). Backward needs neither x nor the output, so nothing has to be saved.",
        "grad_x = grad_output.",
    ),
    misconceptions=(
        true_derivative("sign is flat wherever it has a derivative"),
        Misconception(
            "The gradient passes only where |x| ≤ 1: that is the clipped estimator.",
            "SignSTE is the plain one. The clipped one is the next exercise, Binarize.",
            lambda x, *, grad_output: (grad_output * (x.abs() <= 1),),
        ),
        Misconception(
            "The gradient is multiplied by sign(x), the output.",
            "That turns the gradient round for every negative x. The surrogate's slope is 1 everywhere.",
            lambda x, *, grad_output: (grad_output * torch.sign(x),),
        ),
        Misconception(
            "sign is applied to grad_output as well, so its size is lost.",
            "Only forward takes the sign. Backward hands on what it gets.",
            lambda x, *, grad_output: (torch.sign(grad_output),),
            rule="upstream-nonlinear",
        ),
        Misconception(
            "The gradient is multiplied by x.",
            "The surrogate is y = x, and its slope is 1.",
            lambda x, *, grad_output: (grad_output * x,),
        ),
        Misconception(
            "The gradient is that of tanh, a smooth surrogate.",
            "That is a fair choice elsewhere. Here the contract is the identity.",
            lambda x, *, grad_output: (grad_output * (1 - torch.tanh(x) ** 2),),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is x itself: no sign is taken.",
            "Forward is torch.sign(x). Only backward pretends.",
            lambda x: x,
        ),
        ForwardSlip(
            "The output is 0 or 1, not −1 or 1.",
            "torch.sign gives −1, 0 and 1.",
            lambda x: (x > 0).to(x.dtype),
        ),
        ForwardSlip(
            "The sign is turned round.", "torch.sign(x) is 1 where x > 0.", lambda x: -x.sign()
        ),
        ForwardSlip(
            "The output is tanh(x), which is smooth.", "Forward is torch.sign(x).", torch.tanh
        ),
        *(
            ForwardSlip(
                f"0 is counted among the {words} numbers, and gets {value}; sign has a value of its own for it, 0.",
                "torch.sign gives −1, 0 and 1. A comparison with two results has no third value.",
                at_zero,
            )
            for words, value, at_zero in (
                ("positive", "1", lambda x: plus_or_minus_one(x)),
                ("negative", "−1", lambda x: -plus_or_minus_one(-x)),
            )
        ),
    ),
)


def _near_zero() -> Tensor:
    return torch.tensor([-0.5, 0.0, -0.0, 1e-12, -1e-12, 2.0], dtype=torch.float64)


# ---- Binarize ------------------------------------------------------------------------------


def plus_or_minus_one(x: Tensor) -> Tensor:
    """+1 where x ≥ 0, −1 elsewhere; the dtype of x."""
    return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


def _on_both_sides(s: Sampler, *shape: int) -> Tensor:
    """Values up to about ±3 off the kinks; the first tell masks apart. A single one lies inside ±1."""
    flat = s.away_from(*shape, points=(-1.0, 0.0, 1.0), scale=1.3).reshape(-1)
    telling = (0.4, -1.6, 1.7, -0.5, 0.9, -0.9, 1.1, -1.1)
    for place, value in enumerate(telling[: flat.numel()]):
        flat[place] = value + s.uniform(low=-0.04, high=0.04)
    return shuffled(s, flat).reshape(shape)


BINARIZE = Exercise(
    name="Binarize",
    lesson=LESSON,
    summary="+1 where x ≥ 0, −1 elsewhere; the gradient passes where |x| ≤ 1 and is 0 elsewhere.",
    signature="(x)",
    reference=lambda x: surrogate(plus_or_minus_one(x), clipped(x, -1.0, 1.0)),
    gradcheck=False,
    cases=elementwise_cases(
        _on_both_sides,
        Case(
            "x = 0, which gives +1, and x next to 0",
            lambda s: (_near_zero(),),
            role="special",
            visible=True,
            advice="Binarize has two values, and 0 belongs to +1: x >= 0. torch.sign would give 0 there.",
        ),
        Case(
            "x = ±1, where the gradient still passes",
            lambda s: (torch.tensor([-1.0, 1.0, 0.5, 1.5, -1.25], dtype=torch.float64),),
            role="special",
            visible=True,
            advice="At x = -1 and x = 1 the gradient still passes: |x| <= 1, not <.",
        ),
    ),
    budget=lambda args, outputs: bytes_of(args[0]),
    budget_words="x or a mask",
    hints=(
        "The surrogate is clamp(x, -1, 1). You wrote its gradient in lesson 01: it was called "
        "Clip.",
        "Keep x, or the mask x.abs() <= 1, with save_for_backward. In forward torch.sign will not do: it "
        "has a third value.",
        "Forward: torch.where(x >= 0, 1.0, -1.0).to(x.dtype). Backward: torch.where(x.abs() <= 1, "
        "grad_output, 0.0).",
    ),
    misconceptions=(
        true_derivative("a step is flat on both sides"),
        Misconception(
            "The gradient passes everywhere: that is the plain estimator of SignSTE.",
            "Where |x| > 1 the clipped estimator stops it.",
            lambda x, *, grad_output: (grad_output,),
        ),
        Misconception(
            "The gradient passes where |x| > 1 and stops inside: the mask is inverted.",
            "Inside of ±1 a small step can change the sign, so there the gradient passes.",
            lambda x, *, grad_output: (grad_output * (x.abs() > 1),),
        ),
        Misconception(
            "The gradient stops above 1, but not below −1.",
            "The bound is one for |x|.",
            lambda x, *, grad_output: (grad_output * (x <= 1),),
        ),
        Misconception(
            "The gradient stops below −1, but not above 1.",
            "The bound is one for |x|.",
            lambda x, *, grad_output: (grad_output * (x >= -1),),
        ),
        Misconception(
            "grad_output is clamped to ±1; it should stop where |x| is above 1, and pass as it is elsewhere.",
            "Compare |x| with 1, and leave grad_output as it is where it passes.",
            lambda x, *, grad_output: (grad_output.clamp(-1, 1),),
        ),
        Misconception(
            "The mask looks at grad_output; it should look at x.",
            "Save x (or the mask) in forward and use it here.",
            lambda x, *, grad_output: (grad_output * (grad_output.abs() <= 1),),
        ),
        Misconception(
            "The gradient is multiplied by the output ±1.",
            "The slope of the surrogate is 1 inside, not the sign of x.",
            lambda x, *, grad_output: (grad_output * plus_or_minus_one(x) * (x.abs() <= 1),),
        ),
        Misconception(
            "The gradient is multiplied by the slope of tanh, a smooth surrogate.",
            "That is a fair choice elsewhere. Here the contract is clamp: slope 1 inside, 0 outside.",
            lambda x, *, grad_output: (grad_output * (1 - torch.tanh(x) ** 2),),
        ),
        Misconception(
            "The gradient is multiplied by the clamped x.",
            "The slope of clamp is 1 inside and 0 outside; its value plays no part.",
            lambda x, *, grad_output: (grad_output * x.clamp(-1, 1),),
        ),
        *(
            Misconception(
                f"The gradient stops at {where} already, as with {strict}.",
                "The bounds are inside: |x| <= 1.",
                lambda x, *, grad_output, inside=inside: (grad_output * inside(x),),
            )
            for where, strict, inside in (
                ("x = ±1", "|x| < 1", lambda x: x.abs() < 1),
                ("x = 1", "x < 1", lambda x: (x >= -1) & (x < 1)),
                ("x = −1", "x > −1", lambda x: (x > -1) & (x <= 1)),
            )
        ),
        Misconception(
            "The gradient passes only where x lies between 0 and 1.",
            "A negative x can change its sign as well: the condition is |x| ≤ 1.",
            lambda x, *, grad_output: (grad_output * ((x >= 0) & (x <= 1)),),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is 0 or 1, not −1 or +1.",
            "2 · (x >= 0) − 1, or torch.where with the two values.",
            lambda x: (x >= 0).to(x.dtype),
        ),
        ForwardSlip(
            "The output is clamp(x, −1, 1): that is the surrogate, not the forward.",
            "Forward gives one of two values. Only backward pretends it was the clamp.",
            lambda x: x.clamp(-1, 1),
        ),
        ForwardSlip(
            "The signs are turned round.", "+1 belongs to x ≥ 0.", lambda x: -plus_or_minus_one(x)
        ),
        ForwardSlip(
            "x = 0 gets 0, the third value of torch.sign; +1 is asked for.",
            "Binarize has two values, and 0 belongs to +1: x >= 0.",
            torch.sign,
        ),
        ForwardSlip(
            "x = 0 gets −1, as with x > 0; +1 is asked for.",
            "0 belongs to +1: x >= 0.",
            lambda x: -plus_or_minus_one(-x),
        ),
    ),
)
