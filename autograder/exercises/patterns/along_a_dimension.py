"""Prod, Norm and Amax of lesson 08."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import (
    along_a_dim,
    cases_of,
    distinct_along,
    empty,
    extreme,
    float64,
    kept,
    put,
    some,
    special,
    told,
    unknown,
)

_NO_DIVISION = (
    "out / x is 0 / 0 where x is 0. The gradient of one factor is the product of the others: multiply those "
    "before it with those behind it, and divide by nothing."
)


def product(x: Tensor, dim: int) -> Tensor:
    """Factor by factor, so that every derivative is that of a product, at zeros too."""
    one = 1 + x.narrow(dim, 0, 0).sum(dim)  # of x, so that no factors have a gradient, too
    return functools.reduce(torch.mul, x.unbind(dim), one)


_factors = cases_of(lambda s, *shape, dim: (s.away_from(*shape), dim))


def _four_factors(s: Sampler) -> Tensor:
    """A matrix of four factors a row, none of them 0."""
    return s.away_from(3, 4, gap=0.3)


PROD = Exercise(
    **told("Prod"),
    reference=product,
    cases=(
        *along_a_dim(
            _factors,
            _factors("rows of a single factor, dim=1", 3, 1, dim=1),
            special(
                "rows with one zero",
                put(_four_factors, 0.0, (0, 1), (2, 3)),
                1,
                second=True,
                advice=_NO_DIVISION,
            ),
            special(
                "rows with two zeros, and with three",
                put(_four_factors, 0.0, (0, 0), (0, 2), (1, 1), (1, 2), (1, 3)),
                1,
                second=True,
                advice="With two zeros every gradient of the row is 0. The second derivative is not: the two zeros "
                "have one, the product of the other factors.",
            ),
        ),
        empty(
            "rows without factors, dim=1",
            some(2, 0),
            1,
            advice="A product of no factors is 1, and its gradient has no elements.",
        ),
        extreme(
            "inputs of ±1000",
            [[1000.0, -1000.0, 500.0], [-1000.0, 1e-3, 1000.0], [0.0, -1000.0, 1000.0]],
            1,
            advice=_NO_DIVISION,
        ),
    ),
    budget=kept(0, output=True),
)


def norm(x: Tensor, dim: int) -> Tensor:
    """√Σx² along dim in float64; a row of zeros has the value 0 and the gradient 0, one with ±inf is NaN."""
    zero, x = (x == 0).all(dim, keepdim=True), x + unknown(x.isinf())
    value = torch.where(zero, 1.0, x).square().sum(dim).sqrt()
    return torch.where(zero.squeeze(dim), 0.0, value)


# Away from 0: no row is short.
_rows = cases_of(lambda s, *shape, dim: (s.away_from(*shape, gap=0.3), dim))


def _far(s: Sampler) -> Arguments:
    rows = [[1e30, -2e30, 3e30], [1000.0, 0.0, -1000.0], [1e30, 1.0, 0.0], [0.0, 0.0, 0.0]]
    return float64(rows) * s.uniform(4, 1, low=0.5, high=1.5), 1


NORM = Exercise(
    **told("Norm"),
    reference=norm,
    cases=(
        *along_a_dim(
            _rows,
            _rows("rows of a single number, dim=1", 3, 1, dim=1),
            special(
                "rows of zeros",
                put(lambda s: s.away_from(4, 3), 0.0, 0, 2),
                1,
                advice="In a row of zeros x / out is 0 / 0, which is nan. Put 1 in place of a norm of 0 with "
                "torch.where before you divide; no small number has to be added.",
            ),
            special(
                "zeros in rows that are not zero",
                put(lambda s: s.away_from(3, 4), 0.0, (0, slice(1, None)), (1, 2)),
                1,
                second=True,
                advice="A row is zero when all of its elements are, which is where its norm is 0.",
            ),
            special(
                "short rows: a norm of 1e-30",
                lambda s: s.away_from(2, 3) * 1e-30,
                1,
                advice="The gradient of a short row has length 1, too: put another number in place of a norm of 0 alone.",
            ),
        ),
        extreme(
            "inputs up to 1e30 in float32",
            _far,
            advice="The square of 1e30 is more than float32 can hold. Divide each row by its largest size before "
            "you square, and multiply afterwards; a row of zeros is divided by 1. In backward, "
            "divide x by the norm first.",
        ),
    ),
    budget=kept(0, output=True),
)


_SHARE = (
    "The elements that equal the maximum share the gradient of their row: count them, and divide. "
    "The others get nothing."
)


def _ties(s: Sampler) -> Tensor:
    """Two, three and four of a row are the largest, and a row without ties."""
    rows = [
        [2.0, 5.0, 5.0, 1.0],
        [3.0, 3.0, 0.5, 3.0],
        [7.0, 7.0, 7.0, 7.0],
        [0.0, 4.0, -1.0, -1.0],
    ]
    return float64(rows) + s.uniform(4, 1)


def _almost(s: Sampler) -> Arguments:
    """The second largest differs in its last digit."""
    top = s.uniform(3, 1, low=0.1, high=0.2)
    return torch.cat([torch.nextafter(top, top - 1.0), top, top - 1.0], 1), 1


AMAX = Exercise(
    **told("Amax"),
    reference=lambda x, dim: torch.amax(x, dim),
    cases=(
        *along_a_dim(
            distinct_along,
            distinct_along("rows of a single number, dim=1", 3, 1, dim=1),
            special("ties along dim=1", _ties, 1, second="mixed", advice=_SHARE),
            special("ties along dim=0", lambda s: _ties(s).t().contiguous(), 0, advice=_SHARE),
            special(
                "almost a tie: another last digit",
                _almost,
                advice="A little less is less: ask for equality, without a tolerance.",
            ),
            special(
                "300 that tie",
                lambda s: s.uniform(1, 1).expand(2, 300).clone(),
                1,
                advice="Count those that share in a dtype that has room for all of them; uint8 ends at 255.",
            ),
        ),
        extreme(
            "inputs of ±1000",
            [[-1000.0, 1000.0, 999.0], [-1000.0, -1001.0, -1000.0], [1000.0, 1000.0, 1000.0]],
            1,
            advice=_SHARE,
        ),
    ),
    budget=kept(0, output=True),
)
