"""MyReLU of lesson 01: contract, hints and experiments."""

from __future__ import annotations

import torch

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import _with_zeros, kept, large, off_zero

MY_RELU = Exercise(
    name="MyReLU",
    lesson="01_template",
    summary="max(x, 0), element by element; the gradient at x = 0 is 0, as torch.relu has it.",
    signature="(x)",
    reference=torch.relu,
    cases=(
        off_zero("a vector", 10),
        off_zero("a matrix", 3, 4),
        off_zero("a batch of matrices", 2, 3, 2),
        Case(
            "x = 0, the kink",
            lambda s: (_with_zeros(s),),
            role="special",
            advice="At x = 0 the contract asks for the gradient 0, as torch.relu has it. Choose by a comparison: it "
            "passes where x > 0, and nowhere else.",
        ),
        Case(
            "x = −inf",
            lambda s: (torch.cat([torch.full((1,), -torch.inf), s.away_from(4)]),),
            role="special",
            advice="Where x is −inf the output is 0, and so is the gradient. A product of 0 and −inf has no value: "
            "choose between values instead.",
        ),
        Case("inputs of ±1000", lambda s: (large(s),), role="extreme"),
        Case("an empty tensor", lambda s: (s.normal(0, 3),), role="empty"),
    ),
    hints=(
        "Draw max(x, 0). Its slope has only two values. Where is it which, and what tells you so "
        "in backward?",
        "Where x is positive the gradient passes unchanged, elsewhere it stops, at 0 too. Save x, "
        "the output, or a mask such as x > 0; then choose, element by element.",
        "The gradient of x is grad_output where x > 0 and 0 elsewhere: torch.where(condition, "
        "grad_output, 0), with a condition made from what you saved.",
    ),
    budget=kept(0),
    budget_words="the input, the output or a mask",
)
