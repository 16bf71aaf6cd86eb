"""Lesson 01: numerical_gradient, the independent witness of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Named
from autograder.exercises.first_functions import LESSON
from autograder.exercises.quotients import QUOTIENTS


def central_differences(
    f: Callable[[Tensor], Any],
    x: Tensor,
    eps: float = 1e-6,
    ahead: float = 1.0,
    behind: float = 1.0,
) -> Tensor:
    """Difference quotients of f at x, one element at a time; has the shape and dtype of x.

    ``ahead`` and ``behind`` are the two steps in units of eps: 1 and 1 give the central difference.
    """
    x = x.detach()
    flat = x.reshape(-1)
    gradient = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += ahead * eps
        down[i] -= behind * eps
        rise = float(f(up.reshape(x.shape))) - float(f(down.reshape(x.shape)))
        gradient[i] = rise / ((ahead + behind) * eps)
    return gradient.reshape(x.shape)


def _all_at_once(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
    """The mistake of nudging every element together."""
    x = x.detach()
    return torch.full_like(x, (float(f(x + eps)) - float(f(x - eps))) / (2 * eps))


def _nudges_pile_up(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
    """The mistake of one nudge for all elements, in which earlier ones stay moved."""
    x = x.detach()
    nudge = torch.zeros(x.numel(), dtype=x.dtype)
    gradient = torch.zeros_like(nudge)
    for i in range(x.numel()):
        nudge[i] = eps
        moved = nudge.reshape(x.shape)
        gradient[i] = (float(f(x + moved)) - float(f(x - moved))) / (2 * eps)
    return gradient.reshape(x.shape)


def _by_rows(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
    """The mistake of one nudge for a whole row: each element gets the sum over its row."""
    x = x.detach()
    gradient = torch.zeros_like(x)
    for i in range(len(x)):
        nudge = torch.zeros_like(x)
        nudge[i] = eps
        gradient[i] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient


NUMERICAL_GRADIENT = Exercise(
    name="numerical_gradient",
    lesson=LESSON,
    summary="the central-difference gradient of the scalar-valued f at x, a tensor of x's shape.",
    signature="(f, x, eps=1e-6)",
    reference=central_differences,
    cases=(
        Case(
            "a vector",
            lambda s: (Named("weighted_squares", (0.5,)), s.away_from(4)),
            visible=True,
        ),
        Case(
            "a function that gives a Python float",
            lambda s: (Named("sine_as_float", (1.3,)), s.normal(3)),
            visible=True,
        ),
        Case(
            "a step of 0.01",
            lambda s: (Named("exp_of_sum", (0.7,)), s.uniform(2, 3, low=-0.5, high=0.5), 1e-2),
            visible=True,
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
    second_order="not-judged",
    gradcheck=False,
    float32=False,
    half=False,
    meta=False,
    forward_slips=(
        ForwardSlip(
            "Whole rows are nudged: every element of a row gets the same number, the sum over the row.",
            "len(x), x[i] and `for row in x` go through dimension 0 only. Go through all elements: "
            "np.ndindex(*x.shape), or a flattened copy.",
            _by_rows,
        ),
        ForwardSlip(
            "This is a one-sided difference: f(x + ε) against f(x).",
            "The central difference compares f(x + ε) with f(x − ε), which are 2ε apart. Its error "
            "is far smaller.",
            lambda f, x, eps=1e-6: central_differences(f, x, eps, ahead=1.0, behind=0.0),
        ),
        ForwardSlip(
            "This is a one-sided difference: f(x) against f(x − ε).",
            "The central difference compares f(x + ε) with f(x − ε), which are 2ε apart. Its error "
            "is far smaller.",
            lambda f, x, eps=1e-6: central_differences(f, x, eps, ahead=0.0, behind=1.0),
        ),
        ForwardSlip(
            "The result is zero everywhere: f gives the same number on both sides.",
            "Look whether f really sees two different tensors. up = x makes a second name, not a copy.",
            lambda f, x, eps=1e-6: torch.zeros_like(x),
        ),
        ForwardSlip(
            "This is half of f(x + ε) − f(x), over ε: the second point was x itself.",
            "old = x[i] is a view: it moves when x[i] does, so old − ε is x again, and putting it back does "
            "nothing. Keep a copy: old = x[i].clone() or x[i].item().",
            lambda f, x, eps=1e-6: central_differences(f, x, eps, ahead=1.0, behind=0.0) / 2,
        ),
        ForwardSlip(
            "The difference is divided by 2 and then multiplied by eps.",
            "a / 2 * eps is (a / 2) · eps. Put brackets around 2 * eps.",
            lambda f, x, eps=1e-6: central_differences(f, x, eps) * eps**2,
        ),
        ForwardSlip(
            "The elements moved earlier are still moved: the nudge is never taken back.",
            "Make a new nudge for each element, or set the last one to 0 again.",
            _nudges_pile_up,
        ),
        ForwardSlip(
            "f is given x flattened; it takes a tensor of x's shape.",
            "Change elements in a flat copy if you like, and give f that copy in the shape of x: "
            "flat.reshape(x.shape).",
            lambda f, x, eps=1e-6: central_differences(f, x.reshape(-1), eps).reshape(x.shape),
        ),
        ForwardSlip(
            "All elements are moved at once, so every entry is the sum of all derivatives.",
            "Move one element at a time: the nudge is eps at one index and 0 at all others.",
            _all_at_once,
        ),
        *QUOTIENTS,
        ForwardSlip(
            "The result is more exact than a central difference with the step eps: eps is ignored (a small step "
            "always), or this is another formula.",
            "Use eps, in the nudge and in the divisor: (f(x + ε) − f(x − ε)) / 2ε.",
            lambda f, x, eps=1e-6: central_differences(f, x, 1e-6),
        ),
    ),
)
