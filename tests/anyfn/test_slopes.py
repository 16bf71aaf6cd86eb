"""Slopes of functions that no one step suits: what differences say is right within its error, or nobody can tell."""

from __future__ import annotations

import math
import time

import pytest
import torch

from autograder import evaluate
from autograder.contract import ending
from autograder.contract.measured import Measured
from tests.anyfn.making import keep, normal, op, positive


def waves(frequency):
    return (
        lambda x: (frequency * x).sin(),
        lambda x: frequency * (frequency * x).cos(),
        normal(16),
    )


def bell(width, at, x):
    def forward(x):
        return (-(((x - at) / width) ** 2)).exp()

    return forward, lambda x: -2 * (x - at) / width**2 * forward(x), at + width * x


# Of these each element is known, so that what is wrong is found.
KNOWN = {
    "sin 1e2 x": waves(1e2),
    "sin 3e4 x": waves(3e4),
    "sin 1e6 x": waves(1e6),
    "a wave that is as long as a round step": waves(2e5 * math.pi),
    "sin x² far out": (lambda x: (x**2).sin(), lambda x: 2 * x * (x**2).cos(), 1e2 * normal(16)),
    "sin 1/x": (lambda x: (1 / x).sin(), lambda x: -(1 / x).cos() / x**2, 1e-3 * positive(8)),
    "a bell around 0": bell(1e-5, 0.0, normal(8)),
    "a bell elsewhere": bell(1e-4, 1.0, normal(8)),
    "slow and fast": (lambda x: x**2 + 1e-3 * (1e4 * x).sin(), lambda x: 2 * x + 10 * (1e4 * x).cos(), normal(8)),
    "small and fast": (lambda x: x + 1e-6 * (1e6 * x).sin(), lambda x: 1 + (1e6 * x).cos(), normal(8)),
    "cubes of 0": (lambda x: x**3, lambda x: 3 * x**2, torch.tensor([0.0, 0.0, 0.0, 2.0]).double()),
    "logarithm near 0": (torch.log, torch.reciprocal, 1e-9 * positive(6)),
    "kinks within a step": (torch.relu, lambda x: (x > 0).double(), torch.tensor([1e-6, -1e-6, 3e-6, 1.0]).double()),
    "noise": (lambda x: x.exp() + 1e-10 * (1e12 * x).sin(), torch.exp, normal(6)),
    "float32 in a part": (lambda x: x.sin() + x.float().square().double(), lambda x: x.cos() + 2 * x, normal(6)),
}  # fmt: skip


@pytest.mark.parametrize("factor", [1.0, 1.01, -1.0])
@pytest.mark.parametrize("name", KNOWN)
def test_steps_suit_the_place_whatever_varies_how_fast(name, factor):
    forward, slope, x = KNOWN[name]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * slope(x) * torch.where(torch.arange(len(x)) == len(x) - 1, factor, 1.0)

    made = op("Fast", lambda ctx, x: keep(ctx, forward(x), x), backward)
    report = evaluate(made, inputs=(x,), seed=1, seconds=None, ignore=["fails-device"])
    assert report.passed == (factor == 1.0), str(report)
    assert factor == 1.0 or report.findings[0].rule.startswith("gradient-"), str(report)


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("frequency", [10.0**e for e in range(1, 10)])
def test_what_is_measured_is_right_within_its_error_or_nobody_knows_it(frequency, wide, summed):
    """Of frequencies that are mixed some waves are longer than a step, and some seem so."""

    def forward(x):
        made = (frequency * x**2 if wide else frequency * x).sin()
        return made.sum() if summed else made

    x = normal(60, seed=int(math.log10(frequency))).requires_grad_()
    output = Measured(forward)(x)
    (measured,) = torch.autograd.grad(output, x, torch.ones_like(output))
    error = output.grad_fn.run.errors[0]
    (right,) = torch.autograd.grad(forward(x).sum(), x)
    allowed = error + 1e-6 * right.abs() + 1e-8 * right.abs().max()
    assert bool(((measured - right).abs() <= allowed).all())
    assert frequency > 1e6 or float((error < 1e-3 * right.abs().max()).double().mean()) > 0.9


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_a_wave_shorter_than_any_step_is_not_judged(factor):
    forward, slope, x = waves(1e12)
    made = op("Fast", lambda ctx, x: keep(ctx, forward(x), x), lambda ctx, g: factor * g * slope(ctx.saved_tensors[0]))  # fmt: skip
    report = evaluate(made, inputs=(x,), seed=1, seconds=None)
    assert report.outcome == "incomplete", str(report)
    assert not [f for f in report.findings if f.rule == "surrogate"], str(report)


@pytest.mark.parametrize("takes", [0.0, 0.01])
@pytest.mark.parametrize("wrong", [[], [0], [1234, 4321], [4999]])
@pytest.mark.parametrize("count", [1, 5000])
def test_of_many_elements_the_wrong_ones_are_found_however_long_calls_take(
    monkeypatch, count, wrong, takes
):
    """On a clock of its own: of a scalar, and of as many outputs."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(ending, "_waited", lambda: 0.0)

    def forward(ctx, x):
        now[0] += takes
        return keep(ctx, x.exp().sum() if count == 1 else x.exp(), x)

    def backward(ctx, g):
        found = g * ctx.saved_tensors[0].exp()
        return found.index_fill(0, torch.tensor(wrong, dtype=torch.long), 0.0)

    report = evaluate(op("Exp", forward, backward), inputs=(normal(5000),), seed=1, second_order=False)  # fmt: skip
    assert (report.passed or report.outcome == "incomplete") == (not wrong), str(report)
    assert not wrong or report.findings[0].rule == "gradient-value", str(report)
