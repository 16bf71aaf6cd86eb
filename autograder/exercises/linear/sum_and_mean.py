"""Sum and Mean of lesson 03, and the cases that they share."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import cases_of, float64, kept


def _large(s: Sampler) -> Tensor:
    ends = float64([[-1000.0, 250.0, -1000.0], [1000.0, 1000.0, 0.0]])
    return ends + s.uniform(2, 3)


# Their sum is 0; a mean of no numbers is none, and nobody is asked for it.
EMPTY_ROWS = Case(
    "an empty batch of empty rows, dim=-1", lambda s: (s.normal(0, 0), -1, True), role="empty"
)


def _reduction_cases() -> tuple[Case, ...]:
    make = cases_of(lambda s, *shape, dim, keep=(): (s.normal(*shape), dim, *keep))
    return (
        make("a matrix, dim=0", 3, 4, dim=0),
        make("a matrix, dim=1", 2, 5, dim=1),
        make("a matrix, dim=1, keepdim=True", 4, 3, dim=1, keep=(True,)),
        make("a single row, dim=-2, keepdim=False", 1, 4, dim=-2, keep=(False,)),
        make("a batch of matrices, dim=1", 2, 3, 4, dim=1),
        make("a batch of matrices, dim=-1", 2, 3, 4, dim=-1),
        make("a batch of matrices, dim=-3, keepdim=True", 2, 3, 4, dim=-3, keep=(True,)),
        make("a vector, dim=0", 5, dim=0, role="batch"),
        make("a vector, dim=-1, keepdim=True", 4, dim=-1, keep=(True,), role="batch"),
        make("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        Case("inputs of ±1000", lambda s: (_large(s), 1), role="extreme"),
    )


SUM = Exercise(
    name="Sum",
    lesson="03_linear",
    summary="torch.sum over one dimension.",
    signature="(x, dim, keepdim=False)",
    reference=lambda x, dim, keepdim=False: torch.sum(x, dim, keepdim=keepdim),
    cases=(*_reduction_cases(), EMPTY_ROWS),
    budget=kept(),
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
)


MEAN = Exercise(
    name="Mean",
    lesson="03_linear",
    summary="torch.mean over one dimension.",
    signature="(x, dim, keepdim=False)",
    reference=lambda x, dim, keepdim=False: torch.mean(x, dim, keepdim=keepdim),
    cases=_reduction_cases(),
    budget=kept(),
    budget_words="no tensor: a shape and two plain values will do",
    hints=(
        "A mean is a sum divided by a number. Which number, exactly? Take Sum and change one thing.",
        "The divisor is the size of the one dimension that is reduced, ctx.shape[ctx.dim]; not the batch "
        "size and not the number of all elements.",
        "g = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim); return "
        "g.expand(ctx.shape) / ctx.shape[ctx.dim], None, None.",
    ),
)
