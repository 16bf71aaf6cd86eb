"""Lesson 04: RoundSTE, a staircase in forward and the identity in backward."""

from __future__ import annotations

import torch

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception
from autograder.exercises.ste_slips import AT_HALVES, HALVES
from autograder.exercises.ste_surrogate import (
    KEEPS_NOTHING,
    LESSON,
    elementwise_cases,
    no_bytes,
    surrogate,
    true_derivative,
)

ROUND_STE = Exercise(
    name="RoundSTE",
    lesson=LESSON,
    summary="torch.round(x), halves to the even neighbour; backward passes the gradient unchanged.",
    signature="(x)",
    reference=lambda x: surrogate(torch.round(x), x),
    gradcheck=False,
    cases=elementwise_cases(
        lambda s, *shape: 2.5 * s.normal(*shape),
        Case(
            "halves",
            lambda s: (torch.tensor([-2.5, -1.5, -0.5, 0.2, 0.5, 1.5, 2.5], dtype=torch.float64),),
            role="special",
            advice=f"backward passes the gradient at halves as everywhere: they play a part in forward alone. {HALVES}",
        ),
    ),
    budget=no_bytes,
    budget_words=KEEPS_NOTHING,
    hints=(
        "Draw round(x): a staircase. Which straight line follows it as closely as possible, and what is "
        "its slope?",
        "Forward is torch.round(x). Backward pretends that it was y = x, so it needs no saved tensor.",
        "grad_x = grad_output.",
    ),
    misconceptions=(
        true_derivative("a staircase is flat between its jumps"),
        Misconception(
            "The gradient is rounded as well.",
            "Only forward rounds. Backward hands on what it gets.",
            lambda x, *, grad_output: (torch.round(grad_output),),
            rule="upstream-nonlinear",
        ),
        Misconception(
            "The gradient is multiplied by round(x), the output.",
            "The surrogate is y = x, and its slope is 1.",
            lambda x, *, grad_output: (grad_output * torch.round(x),),
        ),
        Misconception(
            "The gradient passes only where |x| ≤ 1, as in Binarize.",
            "Rounding has no range: every x can move to the next step.",
            lambda x, *, grad_output: (grad_output * (x.abs() <= 1),),
        ),
        Misconception(
            "The gradient is multiplied by the rounding error x − round(x).",
            "The surrogate is y = x, and its slope is 1.",
            lambda x, *, grad_output: (grad_output * (x - torch.round(x)),),
        ),
        Misconception(
            "The gradient is multiplied by x.",
            "The surrogate is y = x, and its slope is 1.",
            lambda x, *, grad_output: (grad_output * x,),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is floor(x): always down.", "torch.round goes to the nearest.", torch.floor
        ),
        ForwardSlip(
            "The output is ceil(x): always up.", "torch.round goes to the nearest.", torch.ceil
        ),
        ForwardSlip(
            "The output is cut off towards zero (int() and trunc do that).",
            "torch.round goes to the nearest.",
            torch.trunc,
        ),
        ForwardSlip(
            "The output is x itself: nothing is rounded.",
            "Forward is torch.round(x). Only backward pretends.",
            lambda x: x,
        ),
        *(
            ForwardSlip(f"Halves {words}; they should go to the even neighbour.", HALVES, value)
            for words, value in AT_HALVES.items()
        ),
    ),
)
