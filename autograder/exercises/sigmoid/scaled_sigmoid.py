"""ScaledSigmoid of lesson 02: contract, hints and experiments."""

from __future__ import annotations

import torch

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import EXTREME, ONE_TENSOR, case_with_number, fixed, kept

SCALED_SIGMOID = Exercise(
    name="ScaledSigmoid",
    lesson="02_sigmoid",
    summary="scale · σ(x), element by element; scale is a Python float, 0 included.",
    signature="(x, scale)",
    reference=lambda x, scale: scale * torch.sigmoid(x),
    cases=(
        case_with_number("a vector, scale above 0", 5, low=1.3, high=2.5),
        case_with_number("a matrix, scale below 0", 3, 4, low=-2.5, high=-0.5),
        case_with_number("a batch of matrices, scale below 1", 2, 3, 4, low=0.2, high=0.8),
        Case(
            "scale = 0",
            lambda s: (1.5 * s.normal(2, 3), 0.0),
            role="special",
            second="mixed",  # a gradient of zeros that depends on nothing is right, too
            advice="0 is a scale like any other: the gradient is 0 there.",
        ),
        Case(
            "x = 0",
            fixed([0.0, 0.0, 0.0], 1.7),
            role="special",
            second=True,
        ),
        Case("a whole number as scale", lambda s: (1.5 * s.normal(4), 3), role="special"),
        Case(
            "a scale of 0.00001",
            lambda s: (1.5 * s.normal(4), 1e-5),
            role="special",
        ),
        case_with_number("a single number (0-d)", low=0.5, high=2.5, role="batch"),
        case_with_number("an empty batch", 0, 3, low=0.5, high=2.5, role="empty"),
        Case(
            "inputs up to ±1000 in float32",
            fixed(EXTREME, 1.5),
            role="extreme",
        ),
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "What does the output still know about x when scale is 0? Choose what to save so that backward "
        "never divides by scale. And how many values does backward return?",
        "Save x with save_for_backward and put the float on ctx (ctx.scale = scale). Backward computes "
        "σ(x) again; a σ(x) saved in forward would be an intermediate.",
        "With s = torch.sigmoid(x): return grad_output * ctx.scale * s * (1 - s), None.",
    ),
)
