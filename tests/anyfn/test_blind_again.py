"""What a count on 86 Functions of other people showed, on Functions made for it."""

from __future__ import annotations

import time

import pytest
import torch

from autograder import evaluate
from autograder.learner import other_functions
from tests.anyfn.making import keep, normal, op


@pytest.mark.parametrize("factor", [1.0, 1.5])
@pytest.mark.parametrize("scaled", [False, True])
def test_an_apply_of_its_own_is_judged_by_what_it_computes(factor, scaled):
    cube = op("Cube", lambda ctx, x: keep(ctx, x**3, x), lambda ctx, g: factor * 3 * g * ctx.saved_tensors[0] ** 2)  # fmt: skip

    class Applied(cube):
        @classmethod
        def apply(cls, x):
            return 2 * super().apply(x) if scaled else super().apply(x)

    for one in (Applied, Applied.apply):
        report = evaluate(one, inputs=(normal(3),), seed=1, seconds=None)
        assert report.passed == (factor == 1.0), str(report)
        assert factor == 1.0 or report.findings[0].rule == "gradient-scale", str(report)


def test_an_apply_that_reaches_no_function_is_told():
    class Around(op("Same", lambda ctx, x: x.clone(), lambda ctx, g: g)):
        @staticmethod
        def apply(x):
            return torch.sigmoid(x)

    report = evaluate(Around, inputs=(normal(3),), seed=1, seconds=None)
    assert report.findings[0].rule == "not-a-function", str(report)


def weighted_mean(inside, factor):
    """softmax(x) @ v, whose sums of exponentials are kept in another dtype; ``factor`` times the gradient of x."""

    def forward(ctx, x, v):
        e = x.exp()
        p = e / e.sum(-1, keepdim=True, dtype=inside)
        return keep(ctx, p @ v, p, v)

    def backward(ctx, g):
        p, v = ctx.saved_tensors
        d = g @ v.mT
        return factor * p * (d - (d * p).sum(-1, keepdim=True)), p.mT @ g

    return op("WeightedMean", forward, backward)


@pytest.mark.parametrize("factor", [1.0, 1.01])
@pytest.mark.parametrize("seed", range(3))
def test_sums_in_float32_among_numbers_in_float64_are_measured_with_a_longer_step(factor, seed):
    inputs = normal(4, 5, seed=seed), normal(5, 3, seed=seed + 9)
    terms = {"seed": seed, "seconds": None, "second_order": False}  # a part of it is missing
    right = evaluate(weighted_mean(torch.float64, 1.0), inputs=inputs, **terms)
    assert (right.passed, right.undecided) == (True, []), str(right)
    report = evaluate(weighted_mean(torch.float32, factor), inputs=inputs, **terms)
    errors = [f.rule for f in report.findings if f.severity == "error"]
    assert set(errors) <= {"gradient-scale", "gradient-value"}, str(report)
    assert bool(errors) == (factor != 1.0), str(report)
    assert not report.undecided, str(report)


@pytest.mark.parametrize("wrong", [0.0, 1e-3])
def test_where_gradients_cancel_a_backward_in_float32_is_off_by_its_rounding(wrong):
    def backward(ctx, g):
        # Planted: another number for an upstream gradient that sum() expands.
        planted = wrong * (0 in g.stride())
        p, g = ctx.saved_tensors[0].float(), g.float()
        return p * (g - (g * p).sum(-1, keepdim=True)) + planted

    softmax = op("Softmax", lambda ctx, x: keep(ctx, p := x.softmax(-1), p), backward)
    for seed in range(3):
        report = evaluate(softmax, inputs=(normal(3, 4),), seed=seed, seconds=None)
        errors = [f.rule for f in report.findings if f.severity == "error"]
        assert errors == ["fails-expanded-upstream"][: bool(wrong)], str(report)


def test_after_the_time_is_over_no_slope_is_measured(monkeypatch):
    """Between two calls of forward it is looked whether there is time left, also for second derivatives."""
    calls, now = [], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(other_functions, "_waited", lambda: 0.0)

    def forward(ctx, x):
        calls.append(now[0])
        now[0] += 0.1
        return keep(ctx, x**3, x)

    slow = op("Slow", forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2)
    for seconds in (5.0, 8.0, 12.0):
        calls.clear()
        now[0] = 0.0
        report = evaluate(slow, inputs=(normal(6, 7),), seed=1, seconds=seconds)
        assert (report.outcome, report.passed) == ("incomplete", False)
        late = sum(at > seconds for at in calls)
        assert late <= 3, (seconds, late)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_second_pass_through_the_same_graph_gives_the_same(leaves):
    def backward(ctx, g):
        x, scale = (t if leaves else t.detach() for t in ctx.saved_tensors)
        with torch.enable_grad():
            x, scale = x.detach().requires_grad_(), scale.requires_grad_()
            (x * scale).backward(g)
        return x.grad, scale.grad

    scaled = op("Scaled", lambda ctx, x, s: keep(ctx, x * s, x, s.detach()), backward)
    report = evaluate(scaled, inputs=(normal(3), normal(3, seed=1)), seed=1, seconds=None)
    errors = [f.cause for f in report.findings if f.severity == "error"]
    assert errors == ["context/again"][: int(leaves)], str(report)


def test_who_frees_what_forward_kept_is_asked_for_one_pass():
    def backward(ctx, g):
        x, ctx.x = ctx.x, None
        return 2 * g * x

    made = op("Square", lambda ctx, x: (setattr(ctx, "x", x), x * x)[1], backward)
    report = evaluate(made, inputs=(normal(3),), seed=1, seconds=None)
    assert not [f for f in report.findings if f.severity == "error"], str(report)


def test_a_key_that_is_no_name_is_left_out():
    def forward(ctx, x):
        ctx.cache = {("cube", b"\x80\x04\x95"): x * x}
        return x**3

    cube = op("Cube", forward, lambda ctx, g: 3 * g * ctx.cache[("cube", b"\x80\x04\x95")])
    report = evaluate(cube, inputs=(normal(3),), seed=1, seconds=None)
    assert "x80" not in str(report), str(report)
    assert "ctx.cache[…]" in str(report), str(report)
