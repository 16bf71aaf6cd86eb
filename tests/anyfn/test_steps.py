"""Forwards that move in steps: what is meant there, what is not, and that no luck decides it."""

from __future__ import annotations

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op


def heaviside(u):
    return (u > 0).to(u.dtype)


def bell(u):
    return 1 / (1 + 25 * u**2)


def _between(ctx, x):
    """Zeros become what lies between their neighbours; backward forgets what these get of that."""
    left, right = torch.cat([x[1:2], x[:-1]]), torch.cat([x[1:], x[-2:-1]])
    return keep(ctx, torch.where(x == 0, (left + right) / 2, x), x)


@pytest.mark.parametrize("seed", [1, 17182, 45340])
def test_one_upstream_gradient_that_leads_somewhere_by_chance_excuses_nothing(seed):
    """With two of these seeds one of three does."""
    between = op("Between", _between, lambda ctx, g: g * (ctx.saved_tensors[0] != 0))
    x = torch.tensor([0.0, 1.0, 2.0, 0.0, 4.0, 0.0], dtype=torch.float64)
    report = evaluate(between, inputs=(x,), seed=seed, seconds=None)
    assert report.findings[0].rule == "gradient-value", str(report)
    assert not [f for f in report.findings if f.rule == "surrogate"]


def neuron(reset, decay=0.9, gain=1.0, through=False):
    """A spike, and the potential after it; ``decay`` and ``gain`` are what backward takes 0.9 and 1 for.

    through  the reset hands a surrogate's gradient on as well
    """

    def forward(ctx, v, x):
        u = 0.9 * v + x
        spike = heaviside(u - 1)
        left = {"soft": u - spike, "hard": u * (1 - spike), "none": u, "late": u - heaviside(v - 1)}
        return keep(ctx, (spike, left[reset]), u, spike)

    def backward(ctx, g_spike, g_left):
        u, spike = ctx.saved_tensors
        kept = 1 - spike if reset == "hard" else torch.ones_like(u)
        if through:
            kept = kept - (u if reset == "hard" else 1) * bell(u - 1)
        g = g_spike * bell(u - 1) + g_left * kept
        return decay * g, gain * g

    return op("Neuron", forward, backward)


NEURON = (normal(6), 2 * normal(6, seed=1))


@pytest.mark.parametrize(
    ("reset", "through"),
    [("soft", False), ("hard", False), ("none", False), ("late", False), ("soft", True), ("hard", True)],
)  # fmt: skip
def test_a_neuron_with_the_gradient_that_is_meant_is_known(reset, through):
    report = evaluate(neuron(reset, through=through), inputs=NEURON, seed=1, seconds=None)
    assert report.passed, str(report)
    assert [f.rule for f in report.findings] == ["surrogate"]


@pytest.mark.parametrize("wrong", [{"decay": 1.0}, {"decay": 0.5}, {"gain": 0.5}])
@pytest.mark.parametrize("reset", ["soft", "hard", "none", "late"])
def test_beside_a_spike_the_potential_is_differentiated(reset, wrong):
    report = evaluate(neuron(reset, **wrong), inputs=NEURON, seed=1, seconds=None)
    assert report.findings[0].rule.startswith("gradient-"), str(report)
    assert report.findings[0].position == (0 if "decay" in wrong else 1)
    assert "torch itself differentiates" not in report.headline  # nobody asked for that
