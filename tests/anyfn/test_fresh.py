"""Mechanisms that fresh Functions asked for, each in a right and a wrong one."""

from __future__ import annotations

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op, positive

W = normal(3, 6)


def said(report):
    return {f.rule: f.severity for f in report.findings}


def learned_scale(right):
    """A quantiser of eight bits, a scale for each row; if not ``right``, its gradient has the rounded numbers twice."""

    def backward(ctx, g):
        x, s = ctx.saved_tensors
        v = x / s
        inside = v.abs() <= 127
        of_scale = torch.where(inside, v.round() + (-v if right else v), v.clamp(-127, 127))
        return g * inside, (g * of_scale).sum(1, keepdim=True)

    return op("Scaled", lambda ctx, x, s: keep(ctx, (x / s).round().clamp(-127, 127) * s, x, s), backward)  # fmt: skip


@pytest.mark.parametrize("right", [True, False])
def test_fine_steps_along_a_learned_scale_are_steps(right):
    report = evaluate(learned_scale(right), inputs=(W, 0.02 * positive(3, 1)), seed=1, seconds=None)
    assert (report.passed, said(report).get("surrogate")) == (right, "note"), str(report)


@pytest.mark.parametrize("wrong", [0.0, 0.01])
def test_what_a_solver_leaves_off_is_advice(wrong):
    """x = cos(x) + w by iteration; backward by the implicit function theorem."""

    def forward(ctx, w):
        x = torch.zeros_like(w)
        while float((new := 0.5 * x.cos() + w).sub(x).abs().max()) > 1e-5:
            x = new
        return keep(ctx, x, x)

    root = op(
        "Root", forward, lambda ctx, g: g / (1 + 0.5 * ctx.saved_tensors[0].sin()) + wrong * g.sum()
    )
    report = evaluate(root, inputs=(normal(5),), seed=1, second_order=False, seconds=None)
    assert report.passed == (not wrong), str(report)
    assert wrong or said(report)["loses-precision"] == "advice", str(report)
    assert not evaluate(root, inputs=(normal(5),), seed=1, strict=True, seconds=None).passed


@pytest.mark.parametrize("partly", [True, False])
def test_a_part_of_the_second_derivative_is_an_error_and_none_is_advice(partly):
    """sin(x) · w, whose cosine was made in forward."""
    made = op(
        "SineTimes",
        lambda ctx, x, w: keep(ctx, x.sin() * w, x.sin(), x.cos(), w),
        lambda ctx, g: (g * ctx.saved_tensors[1] * ctx.saved_tensors[2], g * ctx.saved_tensors[0]),
    )
    inputs = (normal(4).requires_grad_(True), normal(4, seed=1).requires_grad_(partly))
    report = evaluate(made, inputs=inputs, seed=1, seconds=None)
    assert said(report) == {"double-backward-missing": "error" if partly else "advice"}, str(report)


@pytest.mark.parametrize("scale", [2.0, 1.0])
def test_what_is_drawn_is_the_same_whichever_argument_needs_a_gradient(scale):
    """Dropout in front of a sum."""

    def forward(ctx, x, y):
        mask = torch.rand_like(x) > 0.5
        return keep(ctx, 2.0 * mask * x + y, mask)

    made = op("Dropped", forward, lambda ctx, g: (scale * g * ctx.saved_tensors[0], g))
    report = evaluate(made, inputs=(normal(8), normal(8, seed=1)), seed=1, seconds=None)
    assert report.passed == (scale == 2.0), str(report)
