"""Lesson 05, gradients of gradients: Functions that can be differentiated again, or say they cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Scenario
from autograder.exercises import second_order as experiments
from autograder.exercises.elementwise import ONE_TENSOR, bytes_of_x, elementwise_cases
from autograder.exercises.gated import SWISH
from autograder.exercises.hessian import HVP
from autograder.exercises.penalty import GRADIENT_PENALTY

LESSON = "05_double_backward"
_RIGHT = ("output_value", "gradients_agree")


def _with_extremes(*values: float) -> tuple[Case, ...]:
    """The usual cases of an elementwise function, with other values far out."""
    far = Case(
        "very small and very large inputs in float32",
        lambda s: (torch.tensor(values, dtype=torch.float64),),
        role="extreme",
        visible=True,
    )
    return (*(case for case in elementwise_cases() if case.role != "extreme"), far)


def _slope(
    message: str, hint: str, slope: Callable[[Tensor], Tensor], rule: str = "gradient-value"
) -> Misconception:
    """A wrong local derivative of a function of x alone."""
    return Misconception(message, hint, lambda x, *, grad_output: (grad_output * slope(x),), rule)


# ---- Cube ----------------------------------------------------------------------------------

CUBE = Exercise(
    name="Cube",
    lesson=LESSON,
    summary="x³, element by element; the first, second and third derivatives are right.",
    signature="(x)",
    reference=lambda x: x**3,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    visible_second=True,
    hints=(
        "Write backward for the first derivative as always. For the second one torch differentiates "
        "the lines of your backward: which tensors in them does it have to know the history of?",
        "Save x itself and nothing made from it. 3x² is then computed in backward, where autograd can "
        "watch it when a further derivative is wanted.",
        "ctx.save_for_backward(x) in forward; in backward: x, = ctx.saved_tensors and return "
        "grad_output * 3 * x**2.",
    ),
    misconceptions=(
        _slope(
            "The gradient is that of 2x: this is the slope of x².",
            "The exponent is 3: (xⁿ)′ = n · xⁿ⁻¹.",
            lambda x: 2 * x,
        ),
        _slope(
            "The gradient is that of 3x: the square is missing.", "(x³)′ = 3 · x².", lambda x: 3 * x
        ),
        _slope(
            "The gradient is that of x²: the factor 3 is missing.",
            "(xⁿ)′ = n · xⁿ⁻¹: the exponent becomes a factor.",
            lambda x: x**2,
            "gradient-scale",
        ),
        _slope(
            "The gradient is that of 6x: this is the second derivative already.",
            "backward gives the first derivative times grad_output. The second one comes by itself, when "
            "torch differentiates your backward.",
            lambda x: 6 * x,
        ),
        _slope(
            "The gradient is that of 3x³: the exponent does not go down.",
            "(xⁿ)′ = n · xⁿ⁻¹.",
            lambda x: 3 * x**3,
        ),
    ),
    forward_slips=(
        ForwardSlip("The output is x², not x³.", "Cube means three factors x.", lambda x: x**2),
        ForwardSlip("The output is 3x, not x³.", "x³ = x · x · x.", lambda x: 3 * x),
    ),
    scenarios=(
        Scenario(
            "the third derivative is right",
            "higher-derivative",
            experiments.run_orders(3),
            experiments.judge_orders(lambda x: x**3),
            visible=True,
            needs=(*_RIGHT, "second_derivatives"),
        ),
    ),
)

# ---- MyExp ---------------------------------------------------------------------------------

MY_EXP = Exercise(
    name="MyExp",
    lesson=LESSON,
    summary="eˣ, element by element; derivatives of any order are right.",
    signature="(x)",
    reference=torch.exp,
    # Not +1000: e¹⁰⁰⁰ is infinite, value and slope alike.
    cases=_with_extremes(-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 80.0),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    visible_second=True,
    hints=(
        "Which function has itself as its derivative? Then what is the only tensor that backward needs, "
        "and has forward made it anyway?",
        "Save the output, exactly the tensor that forward returns. When the second derivative is "
        "wanted, torch knows that this tensor came out of MyExp.",
        "y = torch.exp(x); ctx.save_for_backward(y); return y. In backward: return grad_output * "
        "y.",
    ),
    misconceptions=(
        _slope(
            "The gradient is grad_output · x: what was saved is the input, not the output.",
            "The slope of eˣ is eˣ itself. Save y, or compute torch.exp(x) again.",
            lambda x: x,
        ),
        _slope(
            "exp is applied twice: what was saved is y already.",
            "ctx.saved_tensors gives back what forward saved. If that is the output, use it as it is.",
            lambda x: torch.exp(torch.exp(x)),
        ),
        _slope(
            "The gradient is that of x · eˣ⁻¹: the rule for xⁿ, applied to an exponential.",
            "In eˣ the variable is the exponent: its derivative is eˣ.",
            lambda x: x * torch.exp(x - 1),
        ),
        _slope(
            "The gradient is that of x · eˣ: there is a factor x too many.",
            "The inner derivative of x is 1.",
            lambda x: x * torch.exp(x),
        ),
        _slope(
            "The gradient is that of 1/x: this is the slope of the logarithm.",
            "The derivative of eˣ is eˣ.",
            lambda x: 1 / x,
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is e⁻ˣ: the sign of the exponent is wrong.",
            "eˣ grows with x.",
            lambda x: torch.exp(-x),
        ),
        ForwardSlip("The output is eˣ − 1.", "torch.exp, not torch.expm1.", torch.expm1),
        ForwardSlip("The output is 2ˣ.", "torch.exp, not torch.exp2.", torch.exp2),
    ),
    scenarios=(
        Scenario(
            "the third, fourth and fifth derivatives are right",
            "higher-derivative",
            experiments.run_orders(5),
            experiments.judge_orders(torch.exp),
            visible=True,
            needs=(*_RIGHT, "second_derivatives"),
        ),
    ),
)

# ---- SwishTwice ----------------------------------------------------------------------------


class _ReleasedSwish(Function):
    """The Swish that the released cell holds, line by line: it saves an intermediate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: Tensor) -> Tensor:
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, beta, s = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


SWISH_TWICE = replace(
    SWISH,
    name="SwishTwice",
    lesson=LESSON,
    summary="x · σ(beta · x), whose second derivatives are right too; a repair.",
    visible_second=True,
    repair=True,
    released=_ReleasedSwish.apply,
    hints=(
        "All formulas are right: gradcheck says so. Look at the three saved tensors and ask of each: is "
        "it an input, the output, or neither?",
        "s = σ(beta · x) is made in forward, where autograd is off. To the second derivative it is a "
        "constant. Where could it be made instead, so that autograd sees how it depends on x and beta?",
        "Save x and beta only, and begin backward with s = torch.sigmoid(beta * x). The rest stays.",
    ),
)

# ---- FirstOrderOnly ------------------------------------------------------------------------

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

FIRST_ORDER_ONLY = Exercise(
    name="FirstOrderOnly",
    lesson=LESSON,
    summary="erf(x) computed by SciPy; every attempt at a second derivative raises RuntimeError.",
    signature="(x)",
    reference=torch.erf,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    second_order="refused",
    visible_second=True,
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
    hints=(
        "Two jobs. The way out of torch and back for the value; and one line in backward that notices "
        "that somebody wants to differentiate backward itself. What is different at that moment?",
        "Out and back: x.detach().cpu().numpy(), then torch.as_tensor(…, dtype=x.dtype, "
        "device=x.device). With create_graph=True grad mode is on while backward runs; else it is off.",
        "The first line of backward: if torch.is_grad_enabled(): raise RuntimeError('first order "
        "only'). Then grad_output * 2 / math.sqrt(math.pi) * torch.exp(-x**2).",
    ),
    misconceptions=(
        _slope(
            "The gradient lacks the factor 2/√π.",
            "erf(x) = 2/√π · ∫ e^(−t²) dt: the factor stays in front of the derivative.",
            lambda x: torch.exp(-x * x),
            "gradient-scale",
        ),
        _slope(
            "The gradient has the exponent −x²/2: that one belongs to the normal density.",
            "In erf the exponent is −x².",
            lambda x: _TWO_OVER_ROOT_PI * torch.exp(-x * x / 2),
        ),
        _slope(
            "The gradient has the exponent −x: the square is missing.",
            "The slope of erf is the same at x and −x.",
            lambda x: _TWO_OVER_ROOT_PI * torch.exp(-x),
        ),
        _slope(
            "The gradient has the exponent +x²: the minus is missing.",
            "erf is flat far out: its slope goes to 0 there.",
            lambda x: _TWO_OVER_ROOT_PI * torch.exp(x * x),
        ),
        _slope(
            "The gradient has the factor 1/√π in place of 2/√π.",
            "erf goes from −1 to 1, so the area under its slope is 2.",
            lambda x: torch.exp(-x * x) / math.sqrt(math.pi),
            "gradient-scale",
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is erfc(x) = 1 − erf(x).", "scipy.special.erf, without c.", torch.erfc
        ),
        ForwardSlip(
            "The output is Φ(x), the normal distribution.",
            "scipy.special.erf(x) itself is asked for.",
            lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))),
        ),
    ),
    scenarios=(
        Scenario(
            "the value comes from SciPy",
            "uses-builtin",
            experiments.run_operations,
            experiments.judge_scipy,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "every attempt at a second derivative raises RuntimeError",
            "double-backward-value",
            experiments.run_attempts,
            experiments.judge_attempts,
            visible=True,
            needs=(*_RIGHT, "second_derivatives"),
        ),
    ),
)

EXERCISES = (CUBE, MY_EXP, SWISH_TWICE, FIRST_ORDER_ONLY, HVP, GRADIENT_PENALTY)
