"""A sentence says what was measured, and no more: of a Function behind other code its own text is not at hand."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from tests.anyfn.making import normal

X = normal(3, 3)


class Square(Function):
    """Keeps its argument on ctx, and reads it."""

    @staticmethod
    def forward(ctx, x):
        ctx.kept = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.kept


class ReadElsewhere(Square):
    @staticmethod
    def backward(ctx, g):
        return read(ctx) * g


class NeverRead(Square):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def read(ctx):
    return 2 * ctx.kept


@pytest.mark.parametrize(
    ("asked", "unread"),
    [
        (Square, False), (lambda x: Square.apply(x), False), (ReadElsewhere, False),
        (NeverRead, True), (lambda x: NeverRead.apply(x), False),
    ],
)  # fmt: skip
def test_backward_never_reads_what_its_own_text_does_not(asked, unread):
    report = evaluate(asked, inputs=(X,), seed=1)
    (advice,) = (f.message for f in report.findings if f.rule == "saves-on-ctx")
    assert ("never reads" in advice) == unread, advice


@pytest.mark.parametrize(
    ("around", "summed"),
    [(lambda x: x.reshape(1, 9, 1), False), (lambda x: x.expand(2, 3, 3), True), (lambda x: x.t(), False)],
)  # fmt: skip
def test_torch_sums_what_arrives_as_a_sum(around, summed):
    report = evaluate(lambda x: Square.apply(around(x)), inputs=(X,), seed=1)
    assert any("torch sums" in f.message for f in report.findings) == summed, str(report)


# Eigenvalues and the sizes of eigenvectors, whose gradient is half of what it should be; no line of it is at hand.
EIGEN = """
class Eigen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        values, vectors = torch.linalg.eigh(a + a.mT)
        ctx.save_for_backward(values, vectors)
        return values, vectors.abs()

    @staticmethod
    def backward(ctx, of_values, of_sizes):
        values, vectors = ctx.saved_tensors
        apart = (values[None] - values[:, None]).fill_diagonal_(torch.inf)
        turned = vectors.mT @ (of_sizes * vectors.sign()) / apart / 2
        made = vectors @ (torch.diag(of_values) + turned) @ vectors.mT
        return made + made.mT
"""


def test_cases_of_the_same_arguments_are_told_apart_by_what_comes_from_above():
    exec(EIGEN, space := {"torch": torch})
    headline = evaluate(space["Eigen"], inputs=(X,), seed=1).headline
    assert "output 1 alone), but wrong for your inputs (grad_output of output 2 alone)" in headline
