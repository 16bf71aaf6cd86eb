"""Lesson 01: Square and MyReLU, Functions of one tensor."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler
from autograder.exercises.elementwise import bytes_of_x

LESSON = "01_template"


def large(s: Sampler) -> Tensor:
    """Two values near ±1000, where exp would overflow in float32."""
    return torch.tensor([-1000.0, 1000.0], dtype=torch.float64) + s.uniform(2)


def _with_zeros(s: Sampler) -> Tensor:
    """0, −0 and two ordinary numbers of both signs."""
    ordinary = s.away_from(2)
    return torch.cat([torch.tensor([0.0, -0.0], dtype=torch.float64), ordinary])


# ---- Square ----------------------------------------------------------------------------------

SQUARE = Exercise(
    name="Square",
    lesson=LESSON,
    summary="x², element by element.",
    signature="(x)",
    reference=lambda x: x * x,
    cases=(
        Case("a vector", lambda s: (s.away_from(5),), visible=True),
        Case("a matrix", lambda s: (s.away_from(3, 4),)),
        Case("a single number (no dimensions)", lambda s: (s.uniform(low=0.5, high=2.0),)),
        Case(
            "zeros among the inputs",
            lambda s: (_with_zeros(s),),
            role="special",
            second=True,
            advice="The slope at 0 is 0. Whatever is divided by x is nan there: 2 * x needs no division.",
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
    budget=bytes_of_x,
    budget_words="the input",
    misconceptions=(
        Misconception(
            "The gradient is 2 · grad_output: x is missing from it.",
            "The derivative of x² is not a constant. Save x in forward and use it here.",
            lambda x, grad_output: (2 * grad_output,),
        ),
        Misconception(
            "The gradient is 2 · x² · grad_output: the output stands where the input belongs.",
            "Look at what you saved: the derivative needs x, not its square.",
            lambda x, grad_output: (2 * x * x * grad_output,),
        ),
        Misconception(
            "The gradient is x² · grad_output: that is the value, not the derivative.",
            "How fast does x² change when x does? Differentiate first, then multiply.",
            lambda x, grad_output: (x * x * grad_output,),
        ),
        Misconception(
            "The gradient is 2 · x + grad_output: the chain rule multiplies, it does not add.",
            "Upstream × local.",
            lambda x, grad_output: (2 * x + grad_output,),
        ),
        Misconception(
            "The gradient is 2 · |x| · grad_output: the sign of x is lost.",
            "A square root of the output does not give x back. Save the input.",
            lambda x, grad_output: (2 * x.abs() * grad_output,),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is 2x: that is the derivative, not the value.",
            "forward computes x², backward uses the derivative.",
            lambda x: 2 * x,
        ),
        ForwardSlip(
            "The output is x³.",
            "x * x and x ** 2 give the square.",
            lambda x: x**3,
        ),
    ),
)

# ---- MyReLU ----------------------------------------------------------------------------------

MY_RELU = Exercise(
    name="MyReLU",
    lesson=LESSON,
    tensors_on_ctx="refused",
    summary="max(x, 0), element by element; the gradient at x = 0 is 0, as torch.relu has it.",
    signature="(x)",
    reference=torch.relu,
    cases=(
        Case("a vector", lambda s: (s.away_from(10),), visible=True),
        Case("a matrix", lambda s: (s.away_from(3, 4),)),
        Case("a batch of matrices", lambda s: (s.away_from(2, 3, 2),)),
        Case(
            "x = 0, the kink",
            lambda s: (_with_zeros(s),),
            role="special",
            visible=True,
            advice="At x = 0 the contract asks for the gradient 0, as torch.relu has it. Choose by a comparison: it "
            "passes where x > 0, and nowhere else.",
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
    budget=bytes_of_x,
    budget_words="the input, the output or a mask",
    misconceptions=(
        Misconception(
            "The gradient passes where x is negative: the mask is the wrong way round.",
            "Where x is positive the output follows it; there the gradient passes.",
            lambda x, grad_output: (grad_output * (x < 0),),
        ),
        Misconception(
            "The gradient passes everywhere, where x is negative too.",
            "For a negative x the output is 0 whatever x does: its slope there is 0.",
            lambda x, grad_output: (grad_output,),
        ),
        Misconception(
            "The gradient is multiplied by the output max(x, 0), not by the slope.",
            "Where x is positive the slope is 1, not x.",
            lambda x, grad_output: (grad_output * x.clamp(min=0),),
        ),
        Misconception(
            "The gradient is multiplied by x.",
            "The slope is 1 or 0. Only the sign of x matters, not its size.",
            lambda x, grad_output: (grad_output * x,),
        ),
        Misconception(
            "The gradient is multiplied by sign(x): −1 where x is negative.",
            "That is the slope of |x|. For max(x, 0) it is 0 on the left.",
            lambda x, grad_output: (grad_output * x.sign(),),
        ),
        Misconception(
            "grad_output itself is put through the ReLU; x plays no part.",
            "The mask asks for the sign of x, not for the sign of grad_output.",
            lambda x, grad_output: (grad_output.clamp(min=0),),
            rule="upstream-nonlinear",
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is |x|.",
            "A negative x gives 0.",
            torch.abs,
        ),
        ForwardSlip(
            "The output is min(x, 0): the wrong half is cut off.",
            "clamp(max=0) bounds from above, clamp(min=0) from below.",
            lambda x: x.clamp(max=0),
        ),
        ForwardSlip(
            "The output is the mask, 1 where x is positive, and not x itself.",
            "Where x is positive the output is x.",
            lambda x: (x > 0).to(x.dtype),
        ),
    ),
)
