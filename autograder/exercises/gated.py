"""Lesson 02, the functions that need their input: x times a gate (GELU and Swish)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.elementwise import (
    ONE_TENSOR,
    bytes_of_x,
    elementwise_cases,
    extreme_values,
)
from autograder.exercises.gated_slips import GELU_SLOPES, GELU_VALUES, SWISH_SLOPES, SWISH_VALUES

LESSON = "02_sigmoid"

# ---- MyGELU --------------------------------------------------------------------------------


def _below(x: Tensor) -> Tensor:
    """Φ(x), the standard normal distribution function."""
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def _density(x: Tensor) -> Tensor:
    """φ(x), the standard normal density."""
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _slope_of_tanh_gelu(x: Tensor) -> Tensor:
    k = math.sqrt(2 / math.pi)
    t = torch.tanh(k * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x)


def _gelu_misconception(
    message: str, hint: str, slope: Callable[[Tensor], Tensor]
) -> Misconception:
    return Misconception(message, hint, lambda x, *, grad_output: (grad_output * slope(x),))


MY_GELU = Exercise(
    name="MyGELU",
    lesson=LESSON,
    summary="The exact GELU x · Φ(x), with Φ(x) = (1 + erf(x/√2)) / 2, element by element.",
    signature="(x)",
    reference=F.gelu,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    hints=(
        "In the picture of slope over output GELU folds back: one output, two slopes. So which tensor "
        "has to be saved? And x · Φ(x) is a product.",
        "Product rule: the slope is Φ(x) + x · Φ′(x), and Φ′ is the density of the normal distribution. "
        "Save x alone and compute both again; torch.erf and torch.exp do it.",
        "grad_x = grad_output * (0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x**2 / "
        "2) / math.sqrt(2 * math.pi)).",
    ),
    misconceptions=(
        _gelu_misconception(
            "The gradient is grad_output · Φ(x): half of the product rule is missing.",
            "(x · Φ)′ has two terms. Φ depends on x as well.",
            _below,
        ),
        _gelu_misconception(
            "The gradient is grad_output · x · φ(x): half of the product rule is missing.",
            "(x · Φ)′ has two terms. x has the derivative 1.",
            lambda x: x * _density(x),
        ),
        _gelu_misconception(
            "The gradient is that of Φ(x) + φ(x): a factor x is missing in the second term.",
            "The second term of the product rule is x · Φ′(x).",
            lambda x: _below(x) + _density(x),
        ),
        _gelu_misconception(
            "The gradient is that of Φ(x) − x · φ(x): a sign is wrong.",
            "The derivative of Φ is the density itself, which is positive.",
            lambda x: _below(x) - x * _density(x),
        ),
        _gelu_misconception(
            "The slope is that of the tanh approximation, forward is the exact GELU.",
            "The exact slope has erf and the normal density; the approximation is off by nearly a thousandth.",
            _slope_of_tanh_gelu,
        ),
        _gelu_misconception(
            "In the density the exponent is −x² instead of −x²/2.",
            "φ(x) = e^(−x²/2) / √(2π).",
            lambda x: _below(x) + x * torch.exp(-x * x) / math.sqrt(2 * math.pi),
        ),
        _gelu_misconception(
            "In the density the factor 1/√(2π) is missing.",
            "φ(x) = e^(−x²/2) / √(2π), so that its integral is 1.",
            lambda x: _below(x) + x * torch.exp(-0.5 * x * x),
        ),
        *GELU_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is the tanh approximation of GELU, which is off by up to 0.0005.",
            "The exact one, with torch.erf, is asked for: F.gelu without approximate.",
            lambda x: F.gelu(x, approximate="tanh"),
        ),
        ForwardSlip(
            "The output is x · σ(1.702 x), an approximation of GELU.",
            "The exact one, with torch.erf, is asked for.",
            lambda x: x * torch.sigmoid(1.702 * x),
        ),
        ForwardSlip(
            "The output is that of erf(x): the √2 inside is missing.",
            "Φ(x) = (1 + erf(x/√2)) / 2.",
            lambda x: x * 0.5 * (1 + torch.erf(x)),
        ),
        *GELU_VALUES,
    ),
)

# ---- Swish ---------------------------------------------------------------------------------


def _swish(x: Tensor, beta: Tensor) -> Tensor:
    return x * torch.sigmoid(beta * x)


def _swish_case(name: str, x: tuple[int, ...], beta: tuple[int, ...], **more: Any) -> Case:
    """x normal, beta between 0.4 and 1.8 in size, of either sign."""

    def make(s: Sampler) -> tuple[Any, ...]:
        size = s.uniform(*beta, low=0.4, high=1.8)
        return 1.5 * s.normal(*x), torch.where(s.normal(*beta) > -0.5, size, -size)

    return Case(name, make, **more)


def _swish_misconception(
    message: str,
    hint: str,
    by_x: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
    by_beta: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Misconception:
    """``by_x`` and ``by_beta`` are wrong slopes as functions of (x, beta, s), before any sum."""

    def gradients(x: Tensor, beta: Tensor, *, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        s = torch.sigmoid(beta * x)
        grad_x = grad_output * by_x(x, beta, s) if by_x else None
        grad_beta = (grad_output * by_beta(x, beta, s)).sum_to_size(beta.shape) if by_beta else None
        return grad_x, grad_beta

    return Misconception(message, hint, gradients)


SWISH = Exercise(
    name="Swish",
    lesson=LESSON,
    summary="x · σ(beta · x); beta is a tensor that broadcasts to the shape of x.",
    signature="(x, beta)",
    reference=_swish,
    cases=(
        _swish_case("one beta per channel", (3, 4), (4,), visible=True),
        _swish_case("a single beta (0-d)", (5,), (), visible=True),
        _swish_case("one beta a row", (3, 4), (3, 1)),
        _swish_case("a beta of the shape of x", (2, 3), (2, 3)),
        _swish_case("a beta of shape (1,)", (4, 2), (1,)),
        _swish_case("a batch of matrices, one beta a row", (2, 3, 4), (3, 1)),
        Case(
            "beta = 0",
            lambda s: (1.5 * s.normal(3, 2), torch.zeros(2, dtype=torch.float64)),
            role="special",
            second=True,
        ),
        Case(
            "x = 0",
            lambda s: (torch.zeros(3, dtype=torch.float64), s.uniform(3, low=0.5, high=1.5)),
            role="special",
            second=True,
        ),
        _swish_case("x and beta 0-d", (), (), role="batch"),
        _swish_case("an empty batch", (0, 4), (4,), role="empty"),
        _swish_case("an empty vector, a single beta", (0,), (), role="empty"),
        Case(
            "inputs up to ±1000 in float32",
            lambda s: (
                extreme_values(),
                torch.linspace(0.5, 1.5, len(extreme_values()), dtype=torch.float64),
            ),
            role="extreme",
        ),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]),
    budget_words="x and beta",
    hints=(
        "Swish cannot be undone, so the output is not enough: save the two inputs. There are two "
        "gradients to return, and beta's has the shape of beta, not of x.",
        "With s = σ(beta · x) you have s′ = s · (1 − s), times the inner derivative. Differentiate x · s "
        "once by x (a product!) and once by beta; what beta gets is summed with sum_to_size.",
        "With s = torch.sigmoid(beta * x): grad_x = grad_output * (s + beta * x * s * (1 - s)); "
        "grad_beta = (grad_output * x**2 * s * (1 - s)).sum_to_size(beta.shape). Compute each "
        "only if ctx.needs_input_grad says so.",
    ),
    misconceptions=(
        _swish_misconception(
            "In the gradient for x the inner derivative is missing: d(beta · x)/dx = beta.",
            "The chain rule gives a factor beta in the second term.",
            by_x=lambda x, beta, s: s + x * s * (1 - s),
        ),
        _swish_misconception(
            "In the gradient for x the second term lacks its factor x.",
            "(x · s)′ = s + x · s′, by the product rule.",
            by_x=lambda x, beta, s: s + beta * s * (1 - s),
        ),
        _swish_misconception(
            "The gradient for x is grad_output · σ(beta · x): half of the product rule is missing.",
            "σ(beta · x) depends on x as well.",
            by_x=lambda x, beta, s: s,
        ),
        _swish_misconception(
            "In the gradient for beta a factor x is missing: x stands outside σ and inside.",
            "d(x · σ(beta · x))/d beta = x · σ′ · x.",
            by_beta=lambda x, beta, s: x * s * (1 - s),
        ),
        _swish_misconception(
            "The gradient for beta has a factor beta where a factor x belongs.",
            "The inner derivative of beta · x by beta is x.",
            by_beta=lambda x, beta, s: beta * x * s * (1 - s),
        ),
        *SWISH_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is beta · x · σ(x): beta belongs inside σ.",
            "Swish is x · σ(beta · x).",
            lambda x, beta: beta * x * torch.sigmoid(x),
        ),
        ForwardSlip(
            "The output is x · σ(x), without beta.",
            "Swish is x · σ(beta · x).",
            lambda x, beta: x * torch.sigmoid(x),
        ),
        ForwardSlip(
            "The output is σ(beta · x): the factor x is missing.",
            "Swish is x · σ(beta · x).",
            lambda x, beta: torch.sigmoid(beta * x),
        ),
        *SWISH_VALUES,
    ),
)
