"""Which numbers an operation computed one of its results from."""

import pytest
import torch

from autograder.running.operations import recorded
from autograder.running.value_flow import origin

NAN = float("nan")
X = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]], dtype=torch.float64)
Y = torch.tensor([7.0, 8.0, 9.0], dtype=torch.float64)


def written(into: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    into = into.clone()
    into[mask] = 10.0
    return into


@pytest.mark.parametrize(
    ("run", "sources"),
    [
        (lambda: X + Y, [1, 7]),
        (lambda: X / 0, [1, 0]),
        (lambda: 2**X, [2, 1]),
        (lambda: X.sum(1), [1, 5, 3]),
        (lambda: X.amax(0), [4]),
        (lambda: torch.logsumexp(X, 0), [1, 4]),
        (lambda: X.softmax(1), [1, 5, 3]),
        (lambda: X.cumsum(1), [1]),
        (lambda: X @ Y, [1, 5, 3, 7, 8, 9]),
        (lambda: torch.addmm(Y, X[:, :2], X[:, 1:].T @ X), [7, 1, 5, 13, 27]),
        (lambda: torch.where(X < 2, X, NAN), [1]),
        (lambda: torch.where(X > 2, X, NAN), [NAN]),
        (lambda: X.masked_fill(X < 2, NAN), [NAN]),
        (lambda: X.masked_fill(X > 2, NAN), [1]),
        (lambda: written(X, X < 2), [10]),
        (lambda: torch.cat([Y, X[0]]), [7]),
        (lambda: X.int(), [1]),
        (lambda: torch.full((2,), 3.0), [3]),
        (lambda: X.isnan(), [1]),
    ],
)
def test_the_first_number_of_a_result_was_computed_from_these(run, sources):
    with recorded(frozenset()) as operations:
        result = run()
    sought = origin(operations.placed(result).number(0))
    assert str([s.value for s in sought.sources]) == str([float(s) for s in sources])
