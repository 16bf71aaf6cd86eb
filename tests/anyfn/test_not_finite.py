"""One nan or infinity, given or made, leaves open what hangs on it alone: all other numbers are judged as ever."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op

M = normal(4, 5, seed=3)
MASKED = torch.where(M > 1, -inf, M)
ROW = torch.cat([M[:2], torch.full((1, 5), nan, dtype=torch.float64)])
MANY = torch.cat([normal(39), torch.tensor([inf], dtype=torch.float64)])


def t(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def of_input(function):
    return lambda ctx, x, *more: keep(ctx, function(x, *more), x, *more)


def of_output(function):
    def forward(ctx, x):
        return keep(ctx, y := function(x), y)

    return forward


def times(slope):
    return lambda ctx, g: g * slope(*ctx.saved_tensors)


def row_wise(ctx, g):
    (p,) = ctx.saved_tensors
    return p * (g - (g * p).sum(-1, keepdim=True))


def of_product(ctx, g):
    x, w = ctx.saved_tensors
    return g @ w.t(), x.t() @ g


def identity(y):
    return y


exp, softmax, both = of_output(torch.exp), of_output(lambda x: x.softmax(-1)), (torch.cat([M, ROW]), normal(5, 2))  # fmt: skip
# The inputs, forward, a right backward, a wrong one.
JUDGED = {
    "given inf": (t(1, inf, 0.3), exp, times(identity), times(torch.ones_like)),
    "given nan": (t(1, nan, 0.3), exp, times(identity), times(torch.ones_like)),
    "made": (t(1, 800, 0.3), exp, times(identity), times(torch.ones_like)),
    "log of 0 and less": (t(1, 0, -1, 0.3), of_input(torch.log), times(torch.reciprocal), times(lambda x: 2 / x)),
    "finite at infinity": (t(1, inf, -inf, 0.3), of_output(torch.tanh), times(lambda y: 1 - y**2), times(lambda y: 1 - y)),
    "a mask": (MASKED, softmax, row_wise, times(identity)),
    "a row": (ROW, softmax, row_wise, times(identity)),
    "no nan from 0 · inf for others": (t(1, inf, 0.3), exp, times(identity), lambda ctx, g: g * ctx.saved_tensors[0] + 0 * ctx.saved_tensors[0].sum()),
    "no nan from a mask": (MASKED, of_input(lambda x: x.softmax(-1)), None, lambda ctx, g: 0 * g * ctx.saved_tensors[0].sum()),
    "no nan where the slope is 0": (t(1, 0, -0.4), of_input(lambda x: x * x), times(lambda x: 2 * x), times(lambda x: 2 * x * x / x)),
    "an end of its domain": (t(1, 0, 0.3), of_input(torch.sqrt), times(lambda x: 0.5 / x.sqrt()), times(lambda x: 1 / x.sqrt())),
    "a factor": ((t(1, 2, 3), t(1, inf, 2)), of_input(torch.mul), lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]), lambda ctx, g: (g * ctx.saved_tensors[1], g)),
    "sums before it": (t(1, 3, inf, 0.3), lambda ctx, x: x.cumsum(0), lambda ctx, g: g.flip(0).cumsum(0).flip(0), lambda ctx, g: g.cumsum(0)),
    "among many": (MANY, exp, times(identity), times(lambda y: y * (1 + 0.1 * (y > 1)))),
    "complex": (torch.tensor([1 + 2j, complex(nan, 0), 0.3j]), of_input(lambda x: x * x), times(lambda x: 2 * x.conj()), times(lambda x: 2 * x)),
    "steps": (t(1.2, nan, 0.3, inf, -3.3), of_input(torch.round), times(torch.ones_like), times(lambda x: -torch.ones_like(x))),
    "handed on": (t(1.2, nan, 0.3, inf, -3.3), of_input(torch.clone), times(lambda x: -torch.ones_like(x)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_all_other_numbers_are_judged(name):
    inputs, forward, right, wrong = JUDGED[name]
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    for backward in (right, wrong):
        if backward is not None:
            report = evaluate(op("Op", forward, backward), inputs=inputs, seed=1, seconds=None)
            assert report.outcome == ("passed" if backward is right else "failed"), str(report)


@pytest.mark.parametrize("inputs", [(t(nan, nan),), (t(1, inf),)])
def test_where_all_hangs_on_it_nobody_can_tell(inputs):
    for factor in (1, 2):
        total = op(
            "Sum", lambda ctx, x: x.sum(), lambda ctx, g, factor=factor: factor * g.expand(2)
        )
        report = evaluate(total, inputs=inputs, seed=1, seconds=None)
        assert report.outcome == "incomplete", str(report)


def test_an_argument_of_which_nobody_can_tell_hides_no_other():
    twice = lambda ctx, g: (2 * of_product(ctx, g)[0], of_product(ctx, g)[1])  # noqa: E731
    outcomes = [
        evaluate(op("Product", of_input(torch.matmul), backward), inputs=both, seed=1, seconds=None)
        for backward in (of_product, twice)
    ]
    assert [r.outcome for r in outcomes] == ["incomplete", "failed"], str(outcomes[1])
    assert outcomes[1].findings[0].position == 0
