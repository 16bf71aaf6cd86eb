"""Prod of lesson 08: contract and hints."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import along_a_dim, cases_of, fixed, kept

_NO_DIVISION = (
    "out / x is 0 / 0 where x is 0. The gradient of one factor is the product of the others: multiply those "
    "before it with those behind it, and divide by nothing."
)


def product(x: Tensor, dim: int) -> Tensor:
    """Factor by factor, so that every derivative is that of a product, at zeros too."""
    return functools.reduce(torch.mul, x.unbind(dim), torch.ones_like(x.sum(dim)))


_factors = cases_of(lambda s, *shape, dim: (s.away_from(*shape), dim))


def _zeros(s: Sampler, *places: tuple[int, int]) -> tuple[Tensor, int]:
    """A matrix of four factors a row, with 0 at these places; the other rows have none."""
    x = s.away_from(3, 4, gap=0.3)
    for place in places:
        x[place] = 0.0
    return x, 1


_with_zeros = cases_of(_zeros)


PROD = Exercise(
    name="Prod",
    lesson="08_patterns",
    summary="The product along dim; right with zeros among the factors, and twice.",
    signature="(x, dim)",
    reference=product,
    cases=(
        *along_a_dim(
            _factors,
            _factors("rows of a single factor, dim=1", 3, 1, dim=1),
            _with_zeros(
                "rows with one zero",
                (0, 1),
                (2, 3),
                role="special",
                second=True,
                advice=_NO_DIVISION,
            ),
            _with_zeros(
                "rows with two zeros, and with three",
                (0, 0),
                (0, 2),
                (1, 1),
                (1, 2),
                (1, 3),
                role="special",
                second=True,
                advice="With two zeros every gradient of the row is 0. The second derivative is not: the two zeros "
                "have one, the product of the other factors.",
            ),
        ),
        Case(
            "rows without factors, dim=1",
            lambda s: (s.normal(2, 0), 1),
            role="empty",
            advice="A product of no factors is 1, and its gradient has no elements.",
        ),
        Case(
            "inputs of ±1000",
            fixed([[1000.0, -1000.0, 500.0], [-1000.0, 1e-3, 1000.0], [0.0, -1000.0, 1000.0]], 1),
            role="extreme",
            advice=_NO_DIVISION,
        ),
    ),
    budget=kept(0, output=True),
    budget_words="x and the output",
    hints=(
        "When one factor grows a little, the product grows by that times all the others. Can you get the "
        "product of the others without a division?",
        "Read the row from the left and note, before each element, the product so far. Do the same from the "
        "right. What is between the two notes is the element itself. torch.cumprod makes all notes at once; "
        "flip turns the row round.",
        "With x of shape (…, n): ones = torch.ones_like(x[..., :1]); left = torch.cat([ones, x[..., :-1]], -1)"
        ".cumprod(-1); right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1); grad_x = "
        "grad_output.unsqueeze(-1) * left * right. For another dim, move it to the end and back (movedim).",
    ),
)
