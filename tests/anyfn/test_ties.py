"""Parameters that are given beside the module that reads them."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from tests.anyfn.making import normal

LAYER = torch.nn.Linear(3, 3).double()


class Steps(Function):
    """Some steps of an equation, run again in backward."""

    factor = 1.0

    @staticmethod
    def run(f, y):
        for _ in range(4):
            y = y + f(y) / 4
        return y

    @classmethod
    def forward(cls, ctx, f, y, *parameters):
        ctx.f = f
        ctx.save_for_backward(y, *parameters)
        with torch.no_grad():
            return cls.run(f, y)

    @classmethod
    def backward(cls, ctx, g):
        y, *parameters = ctx.saved_tensors
        with torch.enable_grad():
            y = y.detach().requires_grad_()
            wanted = [y, *(p for p in parameters if p.requires_grad)]
            found = iter(torch.autograd.grad(cls.run(ctx.f, y), wanted, g))
        return (
            None,
            next(found),
            *(cls.factor * next(found) if p.requires_grad else None for p in parameters),
        )


class Twice(Steps):
    factor = 2.0


@pytest.mark.parametrize("function", [Steps, Twice])
@pytest.mark.parametrize(
    "reads", [LAYER, torch.nn.Sequential(LAYER, torch.nn.Tanh()), lambda y: LAYER(y).sin()]
)
def test_a_gradient_for_what_a_module_computes_with_is_judged(function, reads):
    before = [*LAYER.parameters()]
    report = evaluate(function, inputs=(reads, normal(2, 3).requires_grad_(), *before), seed=1)
    assert report.outcome == ("passed" if function is Steps else "failed"), str(report)
    assert all(now is then for now, then in zip(LAYER.parameters(), before, strict=True))
    assert function is Steps or report.findings[0].rule == "gradient-scale"
