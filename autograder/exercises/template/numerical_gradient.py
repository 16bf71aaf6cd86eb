"""numerical_gradient of lesson 01: contract, hints and experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise
from autograder.observation.observation import Named


def central_differences(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
    """Central difference quotients of f at x, one element at a time; has the shape and dtype of x."""
    x = x.detach()
    flat = x.reshape(-1)
    gradient = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        rise = float(f(up.reshape(x.shape))) - float(f(down.reshape(x.shape)))
        gradient[i] = rise / (2 * eps)
    return gradient.reshape(x.shape)


NUMERICAL_GRADIENT = Exercise(
    name="numerical_gradient",
    summary="the central-difference gradient of the scalar-valued f at x, a tensor of x's shape.",
    signature="(f, x, eps=1e-6)",
    reference=central_differences,
    cases=(
        Case(
            "a vector",
            lambda s: (Named("weighted_squares", (0.5,)), s.away_from(4)),
        ),
        Case(
            "a function that gives a Python float",
            lambda s: (Named("sine_as_float", (1.3,)), s.normal(3)),
        ),
        Case(
            "a step of 0.01",
            lambda s: (Named("exp_of_sum", (0.7,)), s.uniform(2, 3, low=-0.5, high=0.5), 1e-2),
        ),
        Case(
            "a matrix",
            lambda s: (Named("column_products", (-1.5,)), s.away_from(3, 4)),
        ),
        Case("a linear function", lambda s: (Named("affine", (2.5, 1.0)), s.normal(2, 2, 2))),
        Case(
            "a single number (no dimensions)",
            lambda s: (Named("exp_of_sum", (0.4,)), s.uniform()),
        ),
        Case(
            "an empty tensor",
            lambda s: (Named("affine", (2.0, 0.5)), s.normal(0, 3)),
            role="empty",
        ),
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
