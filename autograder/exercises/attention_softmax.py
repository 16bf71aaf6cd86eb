"""Lesson 07: ``Softmax``, the one nonlinear step of attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.attention_formulas import LESSON


def _matrix(name: str, *shape: int, dim: int, **more: Any) -> Case:
    return Case(name, lambda s: (1.5 * s.normal(*shape), dim), **more)


def _masked_scores(s: Sampler) -> tuple[Tensor, int]:
    """Rows in which one or two elements are −inf, as a mask leaves them."""
    x = s.normal(3, 4)
    x[0, 1], x[1, 2], x[1, 3] = -torch.inf, -torch.inf, -torch.inf
    return x, 1


def _large(s: Sampler) -> tuple[Tensor, int]:
    rows = [[1000.0, 0.0, -1000.0], [-1000.0, -1200.0, -800.0], [2.0, 0.5, 1.0]]
    return torch.tensor(rows, dtype=torch.float64), 1


def _known(
    message: str,
    hint: str,
    formula: Callable[[Tensor, Tensor, int], Tensor],
    rule: str = "gradient-value",
) -> Misconception:
    """``formula`` takes the weights, grad_output and dim."""

    def gradients(x: Tensor, dim: int, *, grad_output: Tensor) -> tuple[Tensor, None]:
        return formula(torch.softmax(x, dim), grad_output, dim), None

    return Misconception(message, hint, gradients, rule)


def _total(t: Tensor, dim: int) -> Tensor:
    return t.sum(dim, keepdim=True)


_FORMULA = "The product with the Jacobian is y · (g − Σ g·y), with one sum along dim."

SOFTMAX = Exercise(
    name="Softmax",
    lesson=LESSON,
    summary="softmax along dim; right second derivatives.",
    signature="(x, dim)",
    reference=lambda x, dim: torch.softmax(x, dim),
    cases=(
        _matrix("a matrix, dim=1", 3, 4, dim=1, visible=True),
        _matrix("a matrix, dim=0", 5, 2, dim=0, visible=True),
        _matrix("a batch of matrices, dim=-2", 2, 3, 4, dim=-2),
        _matrix("a batch of matrices, dim=-1", 2, 4, 3, dim=-1),
        Case("rows with some −inf, as a mask leaves them", _masked_scores, role="special"),
        _matrix("a vector", 5, dim=0, role="batch", visible=True),
        _matrix("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        Case("inputs up to ±1000 in float32", _large, role="extreme", visible=True),
    ),
    budget=lambda args, outputs: bytes_of(outputs[0]),
    budget_words="the output",
    hints=(
        "Every output of a row depends on every input of it, so there is a Jacobian, one matrix a row. "
        "You do not need the matrix, only its product with grad_output. And which tensor is enough to "
        "write it: x, or the output?",
        "∂yᵢ/∂xⱼ = yᵢ·(1 if i = j else 0) − yᵢ·yⱼ. Multiply with g and sum over i: one term stays, the "
        "other becomes a sum along dim that all elements of the row share. Save y itself; shift by the "
        "maximum before exp.",
        "e = (x - x.amax(dim, keepdim=True)).exp(); y = e / e.sum(dim, keepdim=True). Backward: y "
        "* (g - (g * y).sum(dim, keepdim=True)), and None for dim.",
    ),
    misconceptions=(
        _known(
            "grad_output is passed on as it is.",
            f"A softmax is not the identity. {_FORMULA}",
            lambda y, g, dim: g,
        ),
        _known(
            "Only the diagonal of the Jacobian is there: y · (1 − y).",
            "That is the derivative of each output by its own input. Each depends on the whole row: "
            f"{_FORMULA}",
            lambda y, g, dim: g * y * (1 - y),
        ),
        _known(
            "The gradient is grad_output · y: the sum is missing.",
            _FORMULA,
            lambda y, g, dim: g * y,
        ),
        _known(
            "Σ g is subtracted; it should be Σ g·y.",
            _FORMULA,
            lambda y, g, dim: y * (g - _total(g, dim)),
        ),
        _known(
            "The plain mean of g is subtracted, not the mean weighted with y.",
            _FORMULA,
            lambda y, g, dim: y * (g - g.mean(dim, keepdim=True)),
        ),
        _known(
            "The factor y in front is missing.",
            _FORMULA,
            lambda y, g, dim: g - _total(g * y, dim),
        ),
        _known(
            "The factor y stands before the first term only: y·g − Σ g·y.",
            "Put brackets: y · (g − Σ g·y).",
            lambda y, g, dim: y * g - _total(g * y, dim),
        ),
        _known(
            "The sum is added, not subtracted.",
            _FORMULA,
            lambda y, g, dim: y * (g + _total(g * y, dim)),
        ),
        _known(
            "The sum Σ g·y runs over the whole tensor, not along dim.",
            "sum(dim, keepdim=True): one sum for each row.",
            lambda y, g, dim: y * (g - (g * y).sum()),
        ),
        _known(
            "The sum runs over the last dimension, whatever dim is.",
            "Keep dim on ctx and sum along it.",
            lambda y, g, dim: y * (g - _total(g * y, -1)),
        ),
        _known(
            "This is the gradient of log-softmax: g − y · Σ g.",
            _FORMULA,
            lambda y, g, dim: g - y * _total(g, dim),
        ),
        Misconception(
            "Backward applies softmax to the saved output once more.",
            "What comes back from ctx.saved_tensors is y already.",
            lambda x, dim, *, grad_output: (_twice(x, dim, grad_output), None),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is eˣ: it is not divided by the sum.",
            "The elements along dim must add up to 1.",
            lambda x, dim: x.exp(),
        ),
        ForwardSlip(
            "The output is e^(x − max): it is not divided by the sum.",
            "The elements along dim must add up to 1.",
            lambda x, dim: (x - x.amax(dim, keepdim=True)).exp(),
        ),
        ForwardSlip(
            "The output is normalised over the whole tensor, not along dim.",
            "sum(dim, keepdim=True).",
            lambda x, dim: torch.softmax(x.reshape(-1), 0).reshape(x.shape),
        ),
        ForwardSlip(
            "The softmax runs over the last dimension, whatever dim is.",
            "Use dim.",
            lambda x, dim: torch.softmax(x, -1),
        ),
        ForwardSlip(
            "The softmax runs over dimension 0, whatever dim is.",
            "Use dim.",
            lambda x, dim: torch.softmax(x, 0),
        ),
        ForwardSlip(
            "The output is log-softmax.",
            "Take the exponential of it.",
            lambda x, dim: torch.log_softmax(x, dim),
        ),
        ForwardSlip(
            "The output is softmax of −x.",
            "The largest element has the largest share.",
            lambda x, dim: torch.softmax(-x, dim),
        ),
        ForwardSlip(
            "The output is x divided by its sum: the exponential is missing.",
            "softmax is eˣ / Σ eˣ.",
            lambda x, dim: x / _total(x, dim),
        ),
    ),
)


def _twice(x: Tensor, dim: int, g: Tensor) -> Tensor:
    y = torch.softmax(torch.softmax(x, dim), dim)
    return y * (g - _total(g * y, dim))
