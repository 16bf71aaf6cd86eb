"""Formulas that learners write for GELU and Swish in the place of the right ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception


def _below(x: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def _density(x: Tensor) -> Tensor:
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# ---- MyGELU --------------------------------------------------------------------------------

_TWO_TERMS = "The slope is Φ(x) + x · φ(x), with φ(x) = e^(−x²/2) / √(2π)."


def _gelu(message: str, slope: Callable[[Tensor], Tensor], hint: str = _TWO_TERMS) -> Misconception:
    return Misconception(message, hint, lambda x, *, grad_output: (grad_output * slope(x),))


def _sigmoid_gelu_slope(x: Tensor, inner: float) -> Tensor:
    s = torch.sigmoid(1.702 * x)
    return s + inner * x * s * (1 - s)


_EXACT = "The exact slope has erf and the normal density; each forward has a backward of its own."

GELU_SLOPES: tuple[Misconception, ...] = (
    _gelu(
        "The slope is that of the approximation x · σ(1.702 x); forward is the exact GELU.",
        lambda x: _sigmoid_gelu_slope(x, 1.702),
        _EXACT,
    ),
    _gelu(
        "The slope is made for the approximation x · σ(1.702 x), without its inner factor 1.702; forward is the "
        "exact GELU.",
        lambda x: _sigmoid_gelu_slope(x, 1.0),
        _EXACT,
    ),
    _gelu(
        "In Φ(x) the √2 is missing in backward: erf(x) stands there for erf(x/√2).",
        lambda x: 0.5 * (1 + torch.erf(x)) + x * _density(x),
        "Φ(x) = (1 + erf(x/√2)) / 2, in backward as in forward.",
    ),
    _gelu(
        "The first term is 1 + erf(x/√2): its factor ½ is missing.",
        lambda x: 2 * _below(x) + x * _density(x),
        "Φ(x) = (1 + erf(x/√2)) / 2, in backward as in forward.",
    ),
    _gelu(
        "The density has the factor 1/√π in place of 1/√(2π).",
        lambda x: _below(x) + math.sqrt(2) * x * _density(x),
    ),
    _gelu(
        "The density has the factor 1/(2π): the root is missing.",
        lambda x: _below(x) + x * _density(x) / math.sqrt(2 * math.pi),
    ),
    _gelu(
        "In the density the exponent is +x²/2: the minus is missing.",
        lambda x: _below(x) + x * torch.exp(0.5 * x * x) / math.sqrt(2 * math.pi),
    ),
    _gelu(
        "The second term has the logarithm of the density in place of the density.",
        lambda x: _below(x) + x * torch.log(_density(x)),
    ),
    _gelu("The second term has x² in place of x.", lambda x: _below(x) + x * x * _density(x)),
    _gelu(
        "The second term is half of what it should be.", lambda x: _below(x) + 0.5 * x * _density(x)
    ),
    _gelu("The second term is twice what it should be.", lambda x: _below(x) + 2 * x * _density(x)),
    _gelu(
        "The second term has the output y in place of x.",
        lambda x: _below(x) + x * _below(x) * _density(x),
    ),
    _gelu(
        "The second term is −x² · φ(x): that is x times the slope of the density; the density itself belongs "
        "there.",
        lambda x: _below(x) - x * x * _density(x),
    ),
)

GELU_VALUES: tuple[ForwardSlip, ...] = (
    ForwardSlip(
        "The output is that of erf(x/2): x is divided by 2, not by √2.",
        "Φ(x) = (1 + erf(x/√2)) / 2.",
        lambda x: x * 0.5 * (1 + torch.erf(x / 2)),
    ),
    ForwardSlip(
        "The output is that of erf(√2 · x): x is multiplied by √2 where it should be divided.",
        "Φ(x) = (1 + erf(x/√2)) / 2.",
        lambda x: x * 0.5 * (1 + torch.erf(x * math.sqrt(2))),
    ),
    ForwardSlip(
        "The output is x · (½ + erf(x/√2)): the ½ belongs to both terms.",
        "0.5 * (1 + erf(…)): the brackets are missing.",
        lambda x: x * (0.5 + torch.erf(x / math.sqrt(2))),
    ),
    ForwardSlip(
        "The output is x · (1 + tanh x) / 2, a rough approximation of GELU.",
        "The exact one, with torch.erf, is asked for.",
        lambda x: 0.5 * x * (1 + torch.tanh(x)),
    ),
)

# ---- Swish ---------------------------------------------------------------------------------

_BY_X = "With s = σ(beta · x) the slope by x is s + beta · x · s · (1 − s)."
_BY_BETA = (
    "With s = σ(beta · x) the slope by beta is x² · s · (1 − s): differentiate σ(beta · x) by beta."
)
_Slope = Callable[[Tensor, Tensor, Tensor], Tensor]


def _swish(
    message: str, by_x: _Slope | None = None, by_beta: _Slope | None = None
) -> Misconception:
    """``by_x`` and ``by_beta`` are wrong slopes as functions of (x, beta, s), before any sum."""

    def gradients(x: Tensor, beta: Tensor, *, grad_output: Tensor) -> tuple[Any, ...]:
        s = torch.sigmoid(beta * x)
        return (
            grad_output * by_x(x, beta, s) if by_x else None,
            (grad_output * by_beta(x, beta, s)).sum_to_size(beta.shape) if by_beta else None,
        )

    return Misconception(message, _BY_X if by_x else _BY_BETA, gradients)


def _without_beta(x: Tensor, beta: Tensor, s: Tensor) -> Tensor:
    return torch.sigmoid(x) * torch.sigmoid(-x)


SWISH_SLOPES: tuple[Misconception, ...] = (
    _swish(
        "The whole gradient for x is multiplied by beta; beta belongs to the second term alone.",
        lambda x, b, s: b * (s + x * s * (1 - s)),
    ),
    _swish(
        "The whole gradient for x is multiplied by beta, its second term twice; beta belongs to the second term "
        "alone, once.",
        lambda x, b, s: b * (s + b * x * s * (1 - s)),
    ),
    _swish("In the gradient for x the factor 1 − s is missing.", lambda x, b, s: s + b * x * s),
    _swish(
        "In the gradient for x the second term has the wrong sign.",
        lambda x, b, s: s - b * x * s * (1 - s),
    ),
    _swish(
        "In the gradient for x a sign is wrong: 1 + s stands where 1 − s belongs.",
        lambda x, b, s: s + b * x * s * (1 + s),
    ),
    _swish(
        "The gradient for x is the second term of the product rule alone: σ(beta · x) is missing.",
        lambda x, b, s: b * x * s * (1 - s),
    ),
    _swish(
        "In the gradient for x beta is there twice in the second term.",
        lambda x, b, s: s + b * b * x * s * (1 - s),
    ),
    _swish(
        "The gradient for x is beta · y + s · (1 − y): beta is missing before the second y.",
        lambda x, b, s: b * x * s + s * (1 - x * s),
    ),
    _swish(
        "The gradient for x is y + s · (1 − beta · y): beta is missing before the first y.",
        lambda x, b, s: x * s + s * (1 - b * x * s),
    ),
    _swish(
        "backward computes σ(x), without beta, where forward has σ(beta · x).",
        lambda x, b, s: torch.sigmoid(x) + b * x * _without_beta(x, b, s),
        lambda x, b, s: x * x * _without_beta(x, b, s),
    ),
    _swish(
        "beta is missing in the whole gradient for x: it is that of x · σ(x).",
        lambda x, b, s: torch.sigmoid(x) + x * _without_beta(x, b, s),
    ),
    _swish("In the gradient for beta the factor 1 − s is missing.", None, lambda x, b, s: x * x * s),
    _swish("In the gradient for beta the factor x² is missing.", None, lambda x, b, s: s * (1 - s)),
    _swish("In the gradient for beta stands x³ where x² belongs.", None, lambda x, b, s: x**3 * s * (1 - s)),
    _swish(
        "In the gradient for beta stands y · (1 − y), where x² · s · (1 − s) belongs.", None,
        lambda x, b, s: x * s * (1 - x * s),
    ),
    _swish(
        "The gradient for beta is the one for x, summed.", None, lambda x, b, s: s + b * x * s * (1 - s)
    ),
    *(
        Misconception(
            "In the gradient for beta grad_output is summed before it is multiplied; the sum belongs after it.",
            "Every element that beta multiplies has its own upstream gradient: multiply first, then sum the products "
            "down to the shape of beta.",
            lambda x, beta, *, grad_output, last=last: (
                None,
                (
                    grad_output.sum_to_size(beta.shape)
                    * (x * x * torch.sigmoid(beta * x) * torch.sigmoid(-beta * x)).sum_to_size(
                        beta.shape if last else x.shape
                    )
                ).sum_to_size(beta.shape),
            ),
        )
        for last in (True, False)
    ),
    Misconception(
        "The gradient for beta is a mean over what was broadcast; the sum belongs there.",
        "Every element that beta multiplies adds its own part: nothing is divided.",
        lambda x, beta, *, grad_output: (
            None,
            (grad_output * x * x * torch.sigmoid(beta * x) * torch.sigmoid(-beta * x)).sum_to_size(beta.shape)
            * max(beta.numel(), 1) / max(x.numel(), 1),
        ),
        rule="gradient-scale",
    ),
)  # fmt: skip

SWISH_VALUES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, "Swish is x · σ(beta · x).", value)
    for message, value in (
        ("The output is x · σ(x / beta): beta divides.", lambda x, b: x * torch.sigmoid(x / b)),
        ("The output is x · σ(beta + x): beta is added.", lambda x, b: x * torch.sigmoid(b + x)),
        ("The output is x · σ(−beta · x): a sign is wrong.", lambda x, b: x * torch.sigmoid(-b * x)),
        ("The output is x · tanh(beta · x).", lambda x, b: x * torch.tanh(b * x)),
        ("The output is x + σ(beta · x): x is added.", lambda x, b: x + torch.sigmoid(b * x)),
        ("The output is x · softplus(beta · x).", lambda x, b: x * torch.nn.functional.softplus(b * x)),
    )
)  # fmt: skip
