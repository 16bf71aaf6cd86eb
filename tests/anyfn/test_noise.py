"""Backwards that draw random numbers: right on average, or wrong."""

from __future__ import annotations

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op


def noisy(g):
    return g + 0.1 * torch.randn_like(g)


def sine(slope):
    return op(
        "Sine",
        lambda ctx, x: keep(ctx, x.sin(), x),
        lambda ctx, g: slope(g * ctx.saved_tensors[0].cos()),
    )


def dropped(g):
    return 2 * g * (torch.rand_like(g) > 0.5)


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (sine(noisy), "surrogate/noise"),
        (sine(dropped), "surrogate/noise"),
        (op("Same", lambda ctx, x: x.clone(), lambda ctx, g: noisy(g)), "surrogate/noise"),
        (op("Same", lambda ctx, x: x.clone(), lambda ctx, g: -noisy(g)), "surrogate/identity"),
        (op("Rounded", lambda ctx, x: x.round(), lambda ctx, g: (8 * g + torch.rand_like(g)).floor() / 8), "surrogate/steps"),
        (sine(lambda g: 2 * noisy(g)), None),
        (sine(lambda g: noisy(g) + 0.1), None),
        (sine(lambda g: g * (torch.rand_like(g) > 0.5)), None),
    ],
)  # fmt: skip
def test_what_backward_draws_is_no_mistake_where_it_is_right_on_average(made, cause):
    report = evaluate(made, inputs=(3 * normal(8),), seed=1, seconds=None)
    assert report.passed == (cause is not None), str(report)
    assert cause is None or [f.cause for f in report.findings] == [cause], str(report)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_what_forward_draws_is_no_noise_in_backward(factor):
    def forward(ctx, x):
        mask = torch.rand_like(x) > 0.5
        return keep(ctx, 2 * x * mask, mask)

    dropout = op("Dropout", forward, lambda ctx, g: 2 * factor * g * ctx.saved_tensors[0])
    report = evaluate(dropout, inputs=(normal(8),), seed=1, seconds=None)
    assert report.passed == (factor == 1.0), str(report)


def score(ctx, g):
    """The gradient of a coin's expected loss, by its score."""
    p, coin = ctx.saved_tensors
    return (coin - p) * (g * coin).sum()


def straight(ctx, g):
    p, _ = ctx.saved_tensors
    return g * p * (1 - p)


@pytest.mark.parametrize(
    ("backward", "known"),
    [(score, True), (straight, True), (lambda ctx, g: -score(ctx, g), False), (lambda ctx, g: -straight(ctx, g), False)],
)  # fmt: skip
@pytest.mark.parametrize("count", [2, 5])
def test_steps_that_chance_makes_lead_somewhere_on_average(backward, known, count):
    def forward(ctx, x):
        p = x.sigmoid()
        coin = torch.bernoulli(p)
        return keep(ctx, coin, p, coin)

    report = evaluate(op("Coin", forward, backward), inputs=(normal(count),), seed=1, seconds=None)
    assert report.passed == known, str(report)
    assert any(f.rule == "surrogate" for f in report.findings) == known, str(report)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_few_digits_in_bfloat16_are_rounding_and_hide_no_factor(factor):
    made = op(
        "Rounds", lambda ctx, x: 1 + (3 * x.bfloat16()).double(), lambda ctx, g: 3 * factor * g
    )
    report = evaluate(made, inputs=(normal(3, 4),), seed=1, seconds=None)
    assert report.passed == (factor == 1.0), str(report)
    assert not any(f.rule == "surrogate" for f in report.findings), str(report)
