"""LambertW of lesson 11: contract and hints. The derivative is that of the equation y·eʸ = a."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import ONE_TENSOR, cases_of, fixed, kept


class _LambertW(Function):
    """The solution y ≥ 0 of y·eʸ = a; y is kept, and the slope a function of it, so all orders are right."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        import scipy.special  # only where this exercise is checked

        y = torch.as_tensor(scipy.special.lambertw(a.detach().numpy()).real, dtype=a.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


_positive = cases_of(lambda s, *shape, high=4.0: (s.uniform(*shape, low=0.05, high=high),))

LAMBERT_W = Exercise(
    name="LambertW",
    lesson="11_outside_torch",
    summary="The solution y ≥ 0 of y·eʸ = a for a ≥ 0, computed by SciPy; twice differentiable.",
    signature="(a)",
    reference=_LambertW.apply,
    cases=(
        _positive("a vector", 5),
        _positive("a matrix", 3, 4),
        _positive("a batch of matrices", 2, 3, 4, high=50.0),
        Case(
            "a = 0",
            fixed([0.0, 0.0, 1.0]),
            role="special",
            second=True,
            advice="At a = 0 the solution is y = 0, and the slope 1. A formula that divides by a or by y gives 0 / 0 there.",
        ),
        _positive("a single number (0-d)", role="batch"),
        _positive("an empty vector", 0, role="empty"),
        _positive("an empty batch of matrices", 0, 3, 4, role="empty"),
        Case(
            "a from 0 to 1e30 in float32",
            fixed([0.0, 1e-30, 1e-6, 0.5, 2.75, 1000.0, 1e10, 1e30]),
            role="extreme",
        ),
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
    hints=(
        "You have no formula for y, but an equation that it solves: y·eʸ = a. Differentiate both sides by a.",
        "(eʸ + y·eʸ) · y′ = 1. So the slope is a function of y alone: keep the output, not the input. SciPy's lambertw gives "
        "complex numbers, of which the real part is meant.",
        "forward: y = torch.as_tensor(scipy.special.lambertw(a.detach().cpu().numpy()).real, dtype=a.dtype, "
        "device=a.device); ctx.save_for_backward(y). backward: grad_output / (torch.exp(y) * (1 + y)).",
    ),
)
