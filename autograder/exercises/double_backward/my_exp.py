"""MyExp: eˣ, whose derivatives of every order are right."""

from __future__ import annotations

import torch

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import ONE_TENSOR, elementwise_cases, fixed, kept
from autograder.exercises.double_backward.derivatives import SENTENCES, derivatives_up_to

# Not +1000: e¹⁰⁰⁰ is infinite, value and slope alike.
_FAR = Case(
    "very small and very large inputs in float32",
    fixed([-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 80.0]),
    role="extreme",
    digits=True,
)

MY_EXP = Exercise(
    name="MyExp",
    lesson="05_double_backward",
    summary="eˣ, element by element; derivatives of any order are right.",
    signature="(x)",
    reference=torch.exp,
    cases=(*(case for case in elementwise_cases() if case.role != "extreme"), _FAR),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "Which function has itself as its derivative? Then what is the only tensor that backward needs, "
        "and has forward made it anyway?",
        "Save the output, exactly the tensor that forward returns. When the second derivative is "
        "wanted, torch knows that this tensor came out of MyExp.",
        "y = torch.exp(x); ctx.save_for_backward(y); return y. In backward: return grad_output * "
        "y.",
    ),
    scenarios=(
        derivatives_up_to(5, torch.exp, "the third, fourth and fifth derivatives are right"),
    ),
    sentences=SENTENCES,
)
