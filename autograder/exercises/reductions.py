"""Lesson 03, reductions that treat all elements alike: ``Sum`` and ``Mean``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler
from autograder.exercises.broadcasting import LESSON
from autograder.exercises.reduction_slips import MEAN_SLOPES, MEAN_VALUES, SUM_VALUES

_EXPAND_HINT = (
    "Give grad_output the reduced dimension back with unsqueeze(dim) (unless keepdim kept it), then "
    "stretch it with expand to the shape of x."
)

# ---- Sum and Mean ----------------------------------------------------------------------------


def _reduction_cases() -> tuple[Case, ...]:
    def make(name: str, *shape: int, dim: int, keep: tuple[bool, ...] = (), **more: Any) -> Case:
        return Case(name, lambda s: (s.normal(*shape), dim, *keep), **more)

    return (
        make("a matrix, dim=0", 3, 4, dim=0, visible=True),
        make("a matrix, dim=1", 2, 5, dim=1, visible=True),
        make("a matrix, dim=1, keepdim=True", 4, 3, dim=1, keep=(True,), visible=True),
        make("a single row, dim=-2, keepdim=False", 1, 4, dim=-2, keep=(False,)),
        make("a batch of matrices, dim=1", 2, 3, 4, dim=1),
        make("a batch of matrices, dim=-1", 2, 3, 4, dim=-1),
        make("a batch of matrices, dim=-3, keepdim=True", 2, 3, 4, dim=-3, keep=(True,)),
        make("a vector, dim=0", 5, dim=0, role="batch"),
        make("a vector, dim=-1, keepdim=True", 4, dim=-1, keep=(True,), role="batch"),
        make("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        make("an empty batch of empty rows, dim=-1", 0, 0, dim=-1, keep=(True,), role="empty"),
        Case("inputs of ±1000", lambda s: (_large(s), 1), role="extreme"),
    )


def _large(s: Sampler) -> Tensor:
    ends = torch.tensor([[-1000.0, 250.0, -1000.0], [1000.0, 1000.0, 0.0]], dtype=torch.float64)
    return ends + s.uniform(2, 3)


def _widened(x: Tensor, dim: int, keepdim: bool, g: Tensor) -> Tensor:
    """grad_output with the reduced dimension, stretched to the shape of x."""
    return (g if keepdim else g.unsqueeze(dim)).expand_as(x)


def _first_only(x: Tensor, dim: int, keepdim: bool = False, *, grad_output: Tensor) -> tuple[Any]:
    gradient = torch.zeros_like(x)
    wide = grad_output if keepdim else grad_output.unsqueeze(dim)
    gradient.narrow(dim, 0, 1).copy_(wide)
    return (gradient,)


_FIRST_ONLY = Misconception(
    "Only the first element of each sum gets a gradient; the others get 0.",
    "Every element that was added has its share. " + _EXPAND_HINT,
    _first_only,
)
_TIMES_X = Misconception(
    "The gradient is multiplied by x. A sum is linear: its derivative does not depend on x.",
    "When one element grows by 1, the sum grows by 1, however large the element is.",
    lambda x, dim, keepdim=False, *, grad_output: (x * _widened(x, dim, keepdim, grad_output),),
)

SUM = Exercise(
    name="Sum",
    lesson=LESSON,
    summary="torch.sum over one dimension.",
    signature="(x, dim, keepdim=False)",
    reference=lambda x, dim, keepdim=False: torch.sum(x, dim, keepdim=keepdim),
    cases=_reduction_cases(),
    budget=lambda args, outputs: 0,
    budget_words="no tensor: a shape and two plain values will do",
    hints=(
        "Sum and broadcasting are each other's backward. How much does the sum grow when one element "
        "grows by 1? And which shape does the gradient need?",
        "Note x.shape, dim and keepdim as attributes of ctx; no tensor is needed. In backward give "
        "grad_output its lost dimension back (unsqueeze) where keepdim was False, and stretch it with "
        "expand.",
        "g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim); return "
        "g.expand(ctx.shape), None, None.",
    ),
    misconceptions=(_FIRST_ONLY, _TIMES_X),
    forward_slips=(
        ForwardSlip(
            "The output is the mean, not the sum.",
            "Do not divide.",
            lambda x, dim, keepdim=False: x.mean(dim, keepdim),
        ),
        ForwardSlip(
            "The output is the sum of the absolute values.",
            "Elements of both signs are added as they are.",
            lambda x, dim, keepdim=False: x.abs().sum(dim, keepdim),
        ),
        *SUM_VALUES,
    ),
)

MEAN = Exercise(
    name="Mean",
    lesson=LESSON,
    summary="torch.mean over one dimension.",
    signature="(x, dim, keepdim=False)",
    reference=lambda x, dim, keepdim=False: torch.mean(x, dim, keepdim=keepdim),
    cases=_reduction_cases(),
    budget=lambda args, outputs: 0,
    budget_words="no tensor: a shape and two plain values will do",
    hints=(
        "A mean is a sum divided by a number. Which number, exactly? Take Sum and change one thing.",
        "The divisor is the size of the one dimension that is reduced, ctx.shape[ctx.dim]; not the batch "
        "size and not the number of all elements.",
        "g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim); return "
        "g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None.",
    ),
    misconceptions=(
        _FIRST_ONLY,
        _TIMES_X,
        Misconception(
            "The division is missing in backward: this is the gradient of the sum.",
            "When one element grows by 1, the mean grows by 1 / x.shape[dim].",
            lambda x, dim, keepdim=False, *, grad_output: (_widened(x, dim, keepdim, grad_output),),
            rule="gradient-scale",
            divided=(
                "The division in line {line} has no effect, as if it were by 1: this is the gradient of the sum.",
                "Divide by the size that dim has in x, x.shape[dim]: grad_output has lost that dimension, or has "
                "it with size 1.",
            ),
        ),
        Misconception(
            "grad_output is divided by the number of all elements of x.",
            "Each mean is over one dimension only: divide by its size, x.shape[dim].",
            lambda x, dim, keepdim=False, *, grad_output: (
                _widened(x, dim, keepdim, grad_output) / x.numel(),
            ),
            rule="gradient-scale",
        ),
        Misconception(
            "grad_output is divided by the size of dimension 0, whatever dim is.",
            "Divide by the size of the dimension that was reduced, x.shape[dim].",
            lambda x, dim, keepdim=False, *, grad_output: (
                _widened(x, dim, keepdim, grad_output) / x.shape[0],
            ),
            rule="gradient-scale",
        ),
        Misconception(
            "grad_output is divided by the size of the last dimension, whatever dim is.",
            "Divide by the size of the dimension that was reduced, x.shape[dim].",
            lambda x, dim, keepdim=False, *, grad_output: (
                _widened(x, dim, keepdim, grad_output) / x.shape[-1],
            ),
            rule="gradient-scale",
        ),
        *MEAN_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is the sum: it is not divided by the size of dim.",
            "Divide by the size of the dimension.",
            lambda x, dim, keepdim=False: x.sum(dim, keepdim),
        ),
        ForwardSlip(
            "The sum is divided by the number of all elements.",
            "Divide by the size of the one dimension that is reduced.",
            lambda x, dim, keepdim=False: x.sum(dim, keepdim) / x.numel(),
        ),
        ForwardSlip(
            "The sum is divided by the size of dimension 0, whatever dim is.",
            "Divide by the size of the dimension that is reduced, x.shape[dim].",
            lambda x, dim, keepdim=False: x.sum(dim, keepdim) / x.shape[0],
        ),
        *MEAN_VALUES,
    ),
)
