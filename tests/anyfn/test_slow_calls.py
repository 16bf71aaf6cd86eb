"""Calls that take long: few are made, and what nobody could tell in them is not taken for told elsewhere."""

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.contract import around, measured
from autograder.learner import asking_in_time

PHASES = torch.linspace(0.3, 2.0, 40, dtype=torch.float64)


def wave(frequency, factor):
    class Wave(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(frequency * x)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return factor * frequency * grad_output * torch.cos(frequency * x)

    return Wave


@pytest.mark.parametrize(
    ("frequency", "factor", "outcome"),
    [
        (1e2, 1.0, "passed"),
        (1e2, 1.3, "failed"),
        (1e7, 1.0, "incomplete"),
        (1e7, 1.3, "incomplete"),
    ],
)
def test_what_nobody_could_tell_is_not_told_where_backward_is_believed(
    monkeypatch, frequency, factor, outcome
):
    for module in (around, measured, asking_in_time):
        monkeypatch.setattr(module, "slow", lambda: True)
    x = PHASES.clone().requires_grad_()
    report = evaluate(wave(frequency, factor), inputs=(x,), seed=1, seconds=1000)
    assert report.outcome == outcome
    if outcome == "failed":  # what is believed elsewhere is no evidence
        assert report.findings[0].facts.get("ratio", 1.3) == pytest.approx(1.3, abs=1e-3)
        assert "another in each case" not in str(report)
