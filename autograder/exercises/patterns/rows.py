"""Embedding and SoftRank of lesson 08."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import (
    beside_number,
    cases_of,
    empty,
    extreme,
    float64,
    kept,
    of_every_shape,
    some,
    special,
    told,
)

_ADD_UP = (
    "A row that is used several times gets the sum of all gradients that arrive for it. Writing keeps the "
    "last one; index_add adds."
)


def _words(s: Sampler, shape: tuple[int, ...], rows: int, present: int | None = None) -> Tensor:
    """Indices below ``rows``; the first and the last are the same, and ``present`` is among them."""
    found = (s.uniform(*shape) * rows).long()
    flat = found.view(-1)
    if flat.numel() > 1:
        flat[-1] = flat[0]
    if present is not None and flat.numel() > 2:
        flat[1] = flat[flat.numel() // 2] = present
    return found


def _drawn(
    s: Sampler, *shape: int, weight: tuple[int, int], padding: tuple[int | None, ...] = ()
) -> Arguments:
    """``padding`` is () where the argument is left out."""
    present = padding[0] if padding else None
    return (_words(s, shape, weight[0], present), s.normal(*weight), *padding)


_case = cases_of(_drawn)


EMBEDDING = Exercise(
    **told("Embedding"),
    reference=F.embedding,
    constants=frozenset({0}),
    cases=(
        _case("seven indices", 7, weight=(4, 3)),
        _case("a matrix of indices, padding_idx=1", 3, 4, weight=(5, 2), padding=(1,)),
        _case("a batch of sentences, padding_idx=None", 2, 3, 2, weight=(6, 3), padding=(None,)),
        _case(
            "padding_idx=0",
            2,
            4,
            weight=(3, 2),
            padding=(0,),
            role="special",
            second="mixed",
            advice="0 is an index like any other: ask whether padding_idx is None.",
        ),
        special(
            "one index, again and again",
            torch.full((6,), 2),
            some(4, 3),
            advice=_ADD_UP,
        ),
        special(
            "nothing but padding",
            torch.full((2, 3), 3),
            some(5, 2),
            3,
            second="mixed",
            advice="All rows of the gradient are 0 then, and it still has the shape of weight.",
        ),
        _case("a single index (0-d)", weight=(4, 3), role="batch"),
        _case("no indices", 0, weight=(4, 3), role="empty"),
        _case("an empty batch, padding_idx=2", 0, 5, weight=(4, 3), padding=(2,), role="empty"),
        extreme(
            "rows of ±1000", lambda s: (_words(s, (5,), 4), 1000.0 * s.away_from(4, 2, gap=0.5))
        ),
    ),
    budget=kept(0),
)


def soft_rank(x: Tensor, temperature: float) -> Tensor:
    """1 + Σ_{j≠i} σ((x_i − x_j) / temperature); the term j = i would be ½."""
    differences = x.unsqueeze(-1) - x.unsqueeze(-2)
    return 0.5 + torch.sigmoid(differences / temperature).sum(-1)


SOFT_RANK = Exercise(
    **told("SoftRank"),
    reference=soft_rank,
    cases=of_every_shape(
        beside_number(0.4, 1.6),
        special(
            "ties, and a row of equal numbers",
            lambda s: float64([[1.0, 2.0, 1.0], [3.0, 3.0, 3.0]]) + s.uniform(2, 1),
            0.5,
            second=True,
            advice="Equal numbers share their rank: σ(0) is ½. Only the pair of an element with itself is left out.",
        ),
        special(
            "a single number in a row has rank 1",
            some(3, 1),
            0.5,
            second="mixed",
            advice="Without others the sum is empty: the rank is 1 and the gradient 0.",
        ),
        empty("rows without numbers", some(2, 0), 0.5),
        extreme(
            "inputs of ±1000",
            [[-1000.0, 0.0, 1000.0], [1000.0, 999.5, 1000.0], [-1000.0, 300.0, 299.0]],
            0.5,
            second=True,
        ),
        least=1,
    ),
    budget=kept(0),
)
