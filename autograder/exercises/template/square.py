"""Square of lesson 01: contract, hints and experiments."""

from __future__ import annotations

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import _with_zeros, kept, large, off_zero

SQUARE = Exercise(
    name="Square",
    lesson="01_template",
    summary="x², element by element.",
    signature="(x)",
    reference=lambda x: x * x,
    cases=(
        off_zero("a vector", 5),
        off_zero("a matrix", 3, 4),
        Case("a single number (no dimensions)", lambda s: (s.uniform(low=0.5, high=2.0),)),
        Case(
            "zeros among the inputs",
            lambda s: (_with_zeros(s),),
            role="special",
            second=True,
            advice="The slope at 0 is 0.",
        ),
        Case("inputs of ±1000", lambda s: (large(s),), role="extreme"),
        Case("an empty tensor", lambda s: (s.normal(0, 3),), role="empty"),
    ),
    hints=(
        "What is the derivative of x² on paper? Which quantity appears in it? That one has to be "
        "there in backward, so forward must save it.",
        "Forward saves x with ctx.save_for_backward(x) and returns its square. Backward unpacks "
        "the tuple: (x,) = ctx.saved_tensors. Then it multiplies two things: the local derivative "
        "and what arrived from upstream.",
        "dy/dx = 2x, so the gradient of x is 2 * x * grad_output.",
    ),
    budget=kept(0),
    budget_words="the input",
)
