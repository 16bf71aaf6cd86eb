"""RoundSTE and SignSTE of lesson 04: staircases, whose backward passes the gradient on."""

from __future__ import annotations

import torch

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import fixed, kept
from autograder.exercises.ste.surrogates import (
    HALVES,
    KEEPS_NOTHING,
    NEAR_ZERO,
    elementwise_cases,
    surrogate,
)

ROUND_STE = Exercise(
    name="RoundSTE",
    lesson="04_ste",
    summary="torch.round(x), halves to the even neighbour; backward passes the gradient unchanged.",
    signature="(x)",
    reference=lambda x: surrogate(torch.round(x), x),
    gradcheck=False,
    cases=elementwise_cases(
        lambda s, *shape: 2.5 * s.normal(*shape),
        Case(
            "halves",
            fixed([-2.5, -1.5, -0.5, 0.2, 0.5, 1.5, 2.5]),
            role="special",
            advice=f"backward passes the gradient at halves as everywhere: they play a part in forward alone. {HALVES}",
        ),
    ),
    budget=kept(),
    budget_words=KEEPS_NOTHING,
    hints=(
        "Draw round(x): a staircase. Which straight line follows it as closely as possible, and what is "
        "its slope?",
        "Forward is torch.round(x). Backward pretends that it was y = x, so it needs no saved tensor.",
        "grad_x = grad_output.",
    ),
)


SIGN_STE = Exercise(
    name="SignSTE",
    lesson="04_ste",
    summary="torch.sign(x); backward passes the upstream gradient on unchanged.",
    signature="(x)",
    reference=lambda x: surrogate(torch.sign(x), x),
    gradcheck=False,
    cases=elementwise_cases(
        lambda s, *shape: 1.5 * s.normal(*shape),
        Case(
            "x = 0, where sign is 0",
            fixed(NEAR_ZERO),
            role="special",
            advice="torch.sign(0) is 0, neither 1 nor -1, and x / |x| is nan there. The gradient passes at 0 "
            "as everywhere.",
        ),
    ),
    budget=kept(),
    budget_words=KEEPS_NOTHING,
    hints=(
        "Pretend in backward that forward had been y = x. What does the identity do with the gradient "
        "that arrives?",
        "Forward is torch.sign(x). Backward needs neither x nor the output, so nothing has to be saved.",
        "grad_x = grad_output.",
    ),
)
