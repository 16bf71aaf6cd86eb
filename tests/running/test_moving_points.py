"""How often an answer is run with inputs that are a little other, before it is known to be no quotient."""

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.contract.drawing import WAYS
from autograder.running import structure
from autograder.running.operation_runs import Results


def squared(t):
    """A square that is a convolution of one number each."""
    rows, n = t.reshape(1, -1, 1), t.numel()
    made = torch.conv1d(rows, rows.reshape(-1, 1, 1), groups=n) if n else rows
    return made.reshape(t.shape)


def square(of: str) -> type[Function]:
    source = f"""
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ({of})
"""
    space = {"torch": torch, "Function": Function, "__name__": "__main__", "squared": squared}
    exec(source, space)
    return space["Square"]


@pytest.mark.parametrize(
    ("of", "runs"),
    [
        ("2 * x", 1),  # nothing but a product with what does not move
        ("2 * x + 0 * x.sigmoid()", 3),  # numbers each of which moves by itself
        ("((x + 0.5) ** 2 - (x - 0.5) ** 2)", WAYS + 1),
        ("((x + 0.5) * (x + 0.5) - (x - 0.5) * (x - 0.5))", WAYS + 1),
        ("(squared(x + 0.5) - squared(x - 0.5))", WAYS + 1),
    ],
)
def test_who_runs_nothing_twice_is_run_a_few_times(
    of: str, runs: int, monkeypatch: pytest.MonkeyPatch
):
    looks, followed = [], structure.followed

    def noted(results: list[Results], last: bool) -> str:
        looks.append(len(results) - 1)
        return followed(results, last)

    monkeypatch.setattr(structure, "followed", noted)
    report = evaluate(square(of), seed=4, hidden=False)
    assert max(looks) == runs
    assert report.passed == (runs <= WAYS)
