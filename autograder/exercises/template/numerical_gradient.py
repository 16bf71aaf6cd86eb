"""numerical_gradient of lesson 01: contract, hints and experiments."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Exercise, Solution
from autograder.exercises.common_cases import cases_of
from autograder.observation.observation import Named


def central_differences(f: Solution, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Central difference quotients of f at x, one element at a time; has the shape and dtype of x."""
    steps = (eps * torch.eye(x.numel(), dtype=x.dtype)).reshape(x.numel(), *x.shape)
    rises = [float(f(x.detach() + step)) - float(f(x.detach() - step)) for step in steps]
    return x.new_tensor(rises).reshape(x.shape) / (2 * eps)


# x of either sign and of the size of 1: sums of them have exponentials that are no larger than their digits.
_case = cases_of(lambda s, f, *shape, step=(): (f, 0.5 * s.away_from(*shape), *step))

NUMERICAL_GRADIENT = Exercise(
    name="numerical_gradient",
    summary="the central-difference gradient of the scalar-valued f at x, a tensor of x's shape.",
    signature="(f, x, eps=1e-6)",
    reference=central_differences,
    cases=(
        _case("a vector", Named("weighted_squares", (0.5,)), 4),
        _case("a function that gives a Python float", Named("sine_as_float", (1.3,)), 3),
        _case("a step of 0.01", Named("exp_of_sum", (0.7,)), 2, 3, step=(1e-2,)),
        _case("a matrix", Named("column_products", (-1.5,)), 3, 4),
        _case("a linear function", Named("affine", (2.5, 1.0)), 2, 2, 2),
        _case("a single number (no dimensions)", Named("exp_of_sum", (0.4,))),
        _case("an empty tensor", Named("affine", (2.0, 0.5)), 0, 3, role="empty"),
    ),
    hints=(
        "The derivative with respect to one element asks: how far does f move when only this "
        "element moves? So there is a loop over the elements, and two calls of f in it.",
        "Make a zero tensor like x for the result and go through all indices with "
        "np.ndindex(*x.shape). For each, build a new tensor that is eps at this index and 0 "
        "elsewhere; add it to x, subtract it from x, and call f on both.",
        "gradient[index] = (f(x + nudge) - f(x - nudge)) / (2 * eps).",
    ),
    is_function=True,
)
