"""BesselJ0 and LambertW of lesson 11: SciPy computes them; torch knows no derivative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.exercise import Case, Exercise
from autograder.exercises.common_cases import (
    ONE_TENSOR,
    elementwise_cases,
    extreme,
    kept,
    of_every_shape,
    special,
)


class _Bessel(Function):
    """J of an integer order, with derivatives of every order: Jₙ′ = (Jₙ₋₁ − Jₙ₊₁) / 2 (DLMF 10.6.1)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: int) -> Tensor:
        import scipy.special  # only where this exercise is checked

        ctx.save_for_backward(x)
        ctx.order = order
        return torch.as_tensor(scipy.special.jv(order, x.detach().numpy()), dtype=x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        below, above = (_Bessel.apply(x, ctx.order + step) for step in (-1, 1))
        return grad_output * (below - above) / 2, None


BESSEL_J0 = Exercise(
    name="BesselJ0",
    summary="J₀(x), the Bessel function of order 0, computed by SciPy; twice differentiable.",
    signature="(x)",
    reference=lambda x: _Bessel.apply(x, 0),
    cases=(
        *elementwise_cases(),
        Case("a vector of numbers up to ±30", lambda s: (s.uniform(6, low=-30.0, high=30.0),)),
        # Where the value that torch has is off most, from the seventh digit on.
        special("numbers a little above 5", lambda s: s.uniform(6, low=5.001, high=5.1), wants=()),
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
    hints=(
        "Two jobs. The way out of torch and back, for the value; and a slope, −J1(x), which is a function that torch "
        "cannot differentiate either. What does the second derivative need from it?",
        "The way out and back: x.detach().cpu().numpy(), then torch.as_tensor(…, dtype=x.dtype, device=x.device). Put "
        "J1 into a second Function, with a backward of its own, and call that in the backward of J0.",
        "backward of BesselJ0: -grad_output * J1.apply(x). J1 is computed by scipy.special.j1, and its slope is (J0 − J2) / 2, "
        "with J2 = scipy.special.jv(2, …). (J0 − J1 / x is the same, but 0 / 0 at x = 0.)",
    ),
)


class _LambertW(Function):
    """The solution y ≥ 0 of y·eʸ = a; y is kept, and the slope a function of it, so all orders are right."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        import scipy.special  # only where this exercise is checked

        y = torch.as_tensor(scipy.special.lambertw(a.detach().numpy()).real, dtype=a.dtype)
        y = torch.where(a >= 0, y, torch.nan)  # below 0 nothing is promised
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


LAMBERT_W = Exercise(
    name="LambertW",
    summary="The solution y ≥ 0 of y·eʸ = a for a ≥ 0, computed by SciPy; twice differentiable.",
    signature="(a)",
    reference=_LambertW.apply,
    cases=of_every_shape(
        lambda s, *shape: s.uniform(*shape, low=0.05, high=50.0),
        special(
            "a = 0",
            [0.0, 0.0, 1.0],
            second=True,
            advice="At a = 0 the solution is y = 0, and the slope 1. A formula that divides by a or by y gives 0 / 0 there.",
        ),
        extreme("a from 0 to 1e30 in float32", [0.0, 1e-30, 1e-6, 0.5, 2.75, 1000.0, 1e10, 1e30]),
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
