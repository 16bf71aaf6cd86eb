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


@pytest.mark.parametrize("levels", [256, 4096])
def test_few_digits_are_a_quantisers_where_no_tensor_has_a_dtype_of_as_few(levels):
    def forward(ctx, x):
        half = levels / 2
        kept = (x >= -half / 100) & (x <= (half - 1) / 100)
        return keep(ctx, (100 * x).round().clamp(-half, half - 1) / 100, kept)

    made = op("Quantise", forward, lambda ctx, g: g * ctx.saved_tensors[0])
    report = evaluate(made, inputs=(2 * normal(3, 4),), seed=1, seconds=None)
    assert [f.rule for f in report.findings] == ["surrogate"], str(report)


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_of_one_element_shows_who_clips_by_what_all_are(seed):
    def backward(ctx, g):
        return g.clamp(g.mean() - 3 * g.std(), g.mean() + 3 * g.std())

    made = op("Rounded", lambda ctx, x: x.round(), backward)
    report = evaluate(made, inputs=(3 * normal(20),), seed=seed, seconds=None)
    assert report.outcome == "failed", str(report)


@pytest.mark.parametrize(("factor", "known"), [(1.0, True), (-1.0, False)])
@pytest.mark.parametrize("solve", [lambda w: (w == w.min(-1, keepdim=True).values).double(), lambda w: w.argsort(-1).argsort(-1).double()])  # fmt: skip
def test_a_solver_may_be_interpolated(solve, factor, known):
    def backward(ctx, g):
        w, way = ctx.saved_tensors[0], ctx.way
        return factor * (solve(w + way * g) - solve(w)) / way, None

    made = op("Solver", lambda ctx, w, way: keep(ctx, solve(w), w, way=way), backward)
    report = evaluate(made, inputs=(normal(4, 5), 10.0), seed=1, seconds=None)
    assert report.passed == known, str(report)


def of_signs(added):
    """A layer whose weight is a sign, with a gradient that is ``added`` up over the rows (row, output, input)."""

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.sign(), added(g[:, :, None] * x[:, None])

    return op("Signs", lambda ctx, x, w: keep(ctx, x @ w.sign().t(), x, w), backward)


@pytest.mark.parametrize(
    ("added", "known"),
    [(lambda each: each.sum(0), True), (lambda each: each.mean(0), False), (lambda each: each[0], False),
     (lambda each: each.sum(0) / len(each) ** 0.5, True)],
)  # fmt: skip
def test_over_rows_a_surrogate_is_a_sum(added, known):
    report = evaluate(of_signs(added), inputs=(normal(4, 3), normal(5, 3, seed=1)), seed=1)
    assert report.passed == known, str(report)
    assert any(f.rule == "surrogate" for f in report.findings) == known
    assert known or report.findings[0].cause == "surrogate/rows", str(report)


@pytest.mark.parametrize(
    ("backward", "cause"),
    [(lambda ctx, g: -g * (ctx.saved_tensors[0].abs() < 1), "surrogate/turned"),
     (lambda ctx, g: g.mean(0).expand_as(g), "surrogate/rows"), (lambda ctx, g: g.t(), "surrogate/rows")],
)  # fmt: skip
def test_a_surrogate_that_leads_elsewhere_is_told_as_that(backward, cause):
    made = op("Sign", lambda ctx, x: keep(ctx, x.sign(), x), backward)
    report = evaluate(made, inputs=(normal(4, 4),), seed=1)
    assert report.findings[0].cause == cause, str(report)


def test_a_surrogate_that_clips_what_comes_from_above_is_told_what_to_clip():
    made = op("Sign", lambda ctx, x: x.sign(), lambda ctx, g: g * (g.abs() < 1))
    report = evaluate(made, inputs=(normal(4, 3),), seed=1)
    assert report.findings[0].rule == "upstream-nonlinear", str(report)
    assert "by what forward was given" in report.findings[0].hint
