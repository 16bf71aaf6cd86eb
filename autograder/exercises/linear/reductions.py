"""Sum, Mean, Max and LogSumExp of lesson 03: what leaves one number of each row."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Case,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
    bytes_of,
)
from autograder.exercises.common_cases import (
    along,
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


def _large(s: Sampler) -> Tensor:
    ends = float64([[-1000.0, 250.0, -1000.0], [1000.0, 1000.0, 0.0]])
    return ends + s.uniform(2, 3)


# Their sum is 0; a mean of no numbers is none, and nobody is asked for it.
EMPTY_ROWS = empty("an empty batch of empty rows, dim=-1", some(0, 0), -1, True)


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
        extreme("inputs of ±1000", _large, 1),
    )


SUM = Exercise(
    **told("Sum"),
    reference=lambda x, dim, keepdim=False: torch.sum(x, dim, keepdim=keepdim),
    cases=(*_reduction_cases(), EMPTY_ROWS),
    budget=kept(),
)


MEAN = Exercise(
    **told("Mean"),
    reference=lambda x, dim, keepdim=False: torch.mean(x, dim, keepdim=keepdim),
    cases=_reduction_cases(),
    budget=kept(),
)


def _far_down(s: Sampler) -> Arguments:
    """The largest element of each column at an odd index above 256: bytes and bfloat16 have none."""
    x = s.uniform(2, 300, 2, low=-3.0, high=3.0)
    for column in range(4):
        x[column // 2, 2 * s.integer(128, 149) + 1, column % 2] = 4.0 + column
    return x, -2


def _ties(s: Sampler) -> Arguments:
    """Rows in which the largest value stands twice or three times."""
    rows = [[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 0.5], [0.0, -1.0, 0.0, -2.0]]
    return float64(rows) + s.uniform(3, 1), 1


MAX = Exercise(
    **told("Max"),
    reference=lambda x, dim: tuple(torch.max(x, dim)),
    cases=(
        distinct_along("a matrix, dim=1", 3, 4, dim=1),
        distinct_along("a matrix, dim=0", 5, 2, dim=0),
        Case(
            "a batch of tall matrices, dim=-2",
            _far_down,
            advice="Indices are whole numbers of any size: a byte ends at 255, and beyond 256 bfloat16 has every "
            "second one only. Keep them as torch.max gives them.",
        ),
        distinct_along("a batch of matrices, dim=-1", 3, 2, 4, dim=-1),
        distinct_along("a batch of matrices, dim=0", 3, 4, 2, dim=0),
        special(
            "ties: the first of equal elements is chosen",
            _ties,
            advice="Of equal elements one gets the whole gradient, the one that forward's indices name. "
            "x == values marks them all: save the indices and scatter.",
        ),
        distinct_along("a vector", 5, dim=0, role="batch"),
        distinct_along("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
        extreme("inputs of ±1000", lambda s: 1000.0 * s.distinct(2, 3, spacing=0.4), 1),
    ),
    budget=lambda args, outputs: bytes_of(outputs[1]),
)


def log_sum_exp(x: Tensor, dim: int) -> Tensor:
    """torch.logsumexp, with gradient 0 (not NaN) for a row that is −inf everywhere; NaN for one with inf."""
    empty, x = (x == -torch.inf).all(dim, keepdim=True), x + unknown(x == torch.inf)
    value = torch.logsumexp(torch.where(empty, 0.0, x), dim)
    return torch.where(empty.squeeze(dim), -torch.inf, value)


def _nan_upstream(log_sum_exp: Solution, s: Sampler) -> Data:
    """Which rows of the gradient are NaN when the gradient that arrives for row 1 of 3 is."""
    x = s.normal(3, 4).requires_grad_(True)
    upstream = s.normal(3)
    upstream[1] = torch.nan
    (gradient,) = torch.autograd.grad(log_sum_exp(x, 1), x, upstream)
    return {"rows": gradient.isnan().all(1).tolist()}


def _stays(seen: Data, right: Data) -> Cause | None:
    return None if seen == right else Cause("nan/swallowed", at=("nan_to_num", "nansum"))


LOG_SUM_EXP = Exercise(
    **told("LogSumExp"),
    reference=log_sum_exp,
    cases=(
        *along_a_dim(
            along,
            along("a single row, dim=1", 1, 3, dim=1),
            special(
                "rows with −inf",
                put(some(3, 4), -torch.inf, 0, (1, 2)),
                1,
                second=True,
                advice="In a row of −inf the output is −inf too, and −inf − (−inf) is nan. Put 0 in place of an "
                "infinite maximum or output before you subtract it, with torch.where.",
            ),
        ),
        extreme(
            "inputs up to ±1000 in float32",
            [[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -999.0], [-1000.0, 1000.0, 0.0]],
            1,
        ),
    ),
    budget=kept(0, output=True),
    scenarios=(
        Scenario(
            "a NaN from upstream stays a NaN",
            "upstream-nonlinear",
            _nan_upstream,
            _stays,
            needs=("gradients_agree",),
        ),
    ),
)
