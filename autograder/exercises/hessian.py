"""hvp of lesson 05: the Hessian of a function times a vector, through two backward passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Named, Scenario
from autograder.exercises import hessian_experiments as experiments

LESSON = "05_double_backward"


def _gradient(f: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """(a leaf with the values of x, the gradient of f there, in the graph)."""
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    return x, gradient


def product(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """The Hessian of f at x times v; has the shape of x."""
    x, gradient = _gradient(f, x)
    if not gradient.requires_grad:
        return torch.zeros_like(x)
    (result,) = torch.autograd.grad(gradient, x, v, allow_unused=True, materialize_grads=True)
    return result.detach()


def _diagonal(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The diagonal of the Hessian, in the shape of x."""
    columns = torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
    entries = [(product(f, x, column) * column).sum() for column in columns]
    return torch.stack(entries).reshape(x.shape)


def _with_matrix_product(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """The derivative of Σ g · vᵀ, a product of matrices; for vectors it is the right one."""
    return product(f, x, v if v.dim() < 2 else v.sum(0).expand_as(v))


_WEIGHT = "v is the weight: differentiate Σ g · v at x."
# What is computed in the place of the product at x: (message, hint, what).
_ELSEWHERE: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (
    (
        "This is the Hessian times x: the gradient is multiplied by x, not by v.",
        _WEIGHT,
        lambda f, x, v: product(f, x, x),
    ),
    (
        "This is the derivative of Σ g · x: the gradient is multiplied by x, not by v.",
        _WEIGHT,
        lambda f, x, v: product(f, x, x) + _gradient(f, x)[1].detach(),
    ),
    (
        "The Hessian at v is multiplied by x: the two are exchanged.",
        "f is differentiated at x, and v is the weight of the gradient.",
        lambda f, x, v: product(f, v, x),
    ),
    (
        "The Hessian is the one at v, not the one at x.",
        "f is differentiated at x, and v is the weight of the gradient.",
        lambda f, x, v: product(f, v, v),
    ),
    (
        "The Hessian is the one at x + v, not the one at x.",
        "v is a direction; f is differentiated at x alone.",
        lambda f, x, v: product(f, x + v, v),
    ),
    (
        "This is the derivative of Σ g²: the gradient is multiplied by itself, not by v.",
        _WEIGHT,
        lambda f, x, v: 2 * product(f, x, _gradient(f, x)[1].detach()),
    ),
    (
        "This is the Hessian times the gradient: v plays no part in it.",
        _WEIGHT,
        lambda f, x, v: product(f, x, _gradient(f, x)[1].detach()),
    ),
    (
        "The mean of the products g · v is differentiated, not their sum.",
        "(g * v).sum(): the product with the Hessian is not divided by the number of elements.",
        lambda f, x, v: product(f, x, v) / x.numel(),
    ),
    (
        "This is the gradient plus the product with the Hessian.",
        "Where .backward() runs twice, x.grad adds up what both passes give. torch.autograd.grad gives each "
        "alone.",
        lambda f, x, v: _gradient(f, x)[1].detach() + product(f, x, v),
    ),
    (
        "v is divided by its length before the product is taken.",
        "The product belongs to v as it is passed, whatever its length.",
        lambda f, x, v: product(f, x, v / v.norm()),
    ),
)


def _hvp_case(name: str, f: Named, *shape: int, **more: Any) -> Case:
    return Case(
        name, lambda s: (f, s.uniform(*shape, low=-1.0, high=1.2), s.normal(*shape)), **more
    )


HVP = Exercise(
    name="hvp",
    lesson=LESSON,
    summary="the Hessian of the scalar-valued f at x, times v: a tensor of x's shape.",
    signature="(f, x, v)",
    reference=product,
    cases=(
        _hvp_case("a vector, all elements interact", Named("exp_of_sum", (0.7,)), 4, visible=True),
        _hvp_case("a vector, neighbours interact", Named("quartic_chain", (0.8,)), 5, visible=True),
        _hvp_case("a matrix", Named("quartic_chain", (-0.6,)), 2, 3, visible=True),
        _hvp_case("a quadratic f", Named("weighted_squares", (1.5,)), 3),
        _hvp_case("a tensor of three dimensions", Named("exp_of_sum", (0.4,)), 2, 3, 2),
        _hvp_case("a single number (0-d)", Named("exp_of_sum", (0.9,)), role="special"),
        Case(
            "x = 0",
            lambda s: (Named("quartic_chain", (0.8,)), 0 * s.normal(4), s.normal(4)),
            role="special",
        ),
    ),
    hints=(
        "The Hessian is the derivative of the gradient. What do you differentiate, if you do not want "
        "all of it but only its product with the constant v?",
        "First pass: the gradient g of f(x) with create_graph=True, so that it can be "
        "differentiated. Second pass: the gradient of (g * v).sum(). Start from "
        "x.detach().requires_grad_(True).",
        "(g,) = torch.autograd.grad(f(x), x, create_graph=True); then torch.autograd.grad(g, x, v) with "
        "materialize_grads=True. When g does not require grad, f is linear and the answer is zeros.",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    float32=False,
    half=False,
    meta=False,
    forward_slips=(
        ForwardSlip(
            "This is the gradient of f; v plays no part in it.",
            "A second pass is missing: differentiate the gradient, weighted with v.",
            lambda f, x, v: _gradient(f, x)[1].detach(),
        ),
        ForwardSlip(
            "This is the gradient times v, element by element.",
            "That is what has to be differentiated once more.",
            lambda f, x, v: _gradient(f, x)[1].detach() * v,
        ),
        ForwardSlip(
            "This is the Hessian times a vector of ones: v plays no part in it.",
            "Weight the gradient with v before you differentiate it: Σ g · v.",
            lambda f, x, v: product(f, x, torch.ones_like(x)),
        ),
        ForwardSlip(
            "This is the Hessian times a vector of ones, and v is multiplied in afterwards.",
            "v belongs inside: differentiate Σ g · v.",
            lambda f, x, v: product(f, x, torch.ones_like(x)) * v,
        ),
        ForwardSlip(
            "f(x) is multiplied by v; it is the gradient that v belongs to.",
            "Differentiate f(x) alone, then Σ g · v with the gradient g.",
            lambda f, x, v: product(f, x, torch.ones_like(x)) * v.sum(),
        ),
        ForwardSlip(
            "This is vᵀHv, a single number: the product with the Hessian is multiplied by v once more and "
            "summed.",
            "v is used once, as the weight of the gradient. What the second pass gives is the answer.",
            lambda f, x, v: (product(f, x, v) * v).sum(),
        ),
        ForwardSlip(
            "For a matrix x, g and v are multiplied as matrices; the sum of the products g · v is meant.",
            "(g * v).sum() adds up the products of all elements, whatever the shape.",
            _with_matrix_product,
        ),
        ForwardSlip(
            "This is the diagonal of the Hessian times v: how the elements interact is lost.",
            "Differentiate one number, Σ g · v, with respect to all of x.",
            lambda f, x, v: _diagonal(f, x) * v,
        ),
        *(ForwardSlip(*each) for each in _ELSEWHERE),
        ForwardSlip(
            "This is x itself: a Function that passes x through has the name, but not the product.",
            "Two calls of torch.autograd.grad do it; no Function is needed.",
            lambda f, x, v: x.detach(),
        ),
        ForwardSlip(
            "This is v itself.",
            "The product with the Hessian is the derivative of the gradient along v.",
            lambda f, x, v: v,
        ),
    ),
    scenarios=(
        Scenario(
            "the zero product of a linear f",
            "value",
            experiments.run_linear,
            experiments.judge_linear,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "the product is not a ready-made one",
            "uses-builtin",
            experiments.run_hvp,
            experiments.judge_ready_made,
            needs=("output_value",),
        ),
        Scenario(
            "the derivative is exact, not a difference",
            "finite-differences",
            experiments.run_hvp,
            experiments.judge_exact,
            needs=("output_value",),
        ),
        Scenario(
            "two backward passes are enough",
            "too-many-passes",
            experiments.run_hvp,
            experiments.judge_passes,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "no Hessian is formed",
            "temporary-too-large",
            experiments.run_hvp,
            experiments.judge_size,
            needs=("output_value", "scenario two backward passes are enough"),
        ),
        Scenario(
            "no .grad is left behind",
            "mutates-input",
            experiments.run_tidy_hvp,
            experiments.judge_tidy,
            needs=("output_value",),
        ),
    ),
)
