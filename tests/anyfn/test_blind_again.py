"""What a count on 86 Functions of other people showed, on Functions made for it."""

from __future__ import annotations

import time

import pytest
import torch

from autograder import evaluate
from autograder.contract import ending
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


@pytest.fixture
def cube_of(monkeypatch):
    """A cube whose calls take some seconds each on a clock of its own; and when each of them was begun."""
    calls, now = [], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(ending, "_waited", lambda: 0.0)

    def made(takes, factor=3.0):
        def pause():
            calls.append(now[0])
            now[0] += takes

        def forward(ctx, x, y):
            pause()
            return keep(ctx, x**3 * y, x, y)

        def backward(ctx, g):
            pause()
            x, y = ctx.saved_tensors
            return factor * g * x**2 * y, g * x**3

        calls.clear()
        now[0] = 0.0
        return op("Slow", forward, backward), calls

    return made


GIVEN = (normal(6, 7), normal(6, 7, seed=1))


@pytest.mark.parametrize("takes", [0.01, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("factor", [3.0, 2.0])
def test_what_takes_long_for_each_call_is_judged_by_a_few_of_them(cube_of, takes, factor):
    slow, calls = cube_of(takes, factor)
    report = evaluate(slow, inputs=GIVEN, seed=1)
    late = takes >= 0.1
    right = "incomplete" if late else "passed"
    assert report.outcome == (right if factor == 3.0 else "failed"), str(report)
    assert max(calls) + takes <= 10.0
    assert any(name.startswith("second:") for name in report.unasked) == (
        right == report.outcome and late
    )
    # What was not asked is no promise that is kept.
    assert not late or all(line.key != "second" for line in report.promises if line.state == "kept")


def test_after_the_time_is_over_nothing_is_called(cube_of):
    slow, calls = cube_of(0.3)
    report = evaluate(slow, inputs=GIVEN, seed=1, seconds=3.0)
    assert (report.outcome, report.passed) == ("incomplete", False)
    assert max(calls) + 0.3 <= 3.0


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


@pytest.mark.parametrize("words", [True, False])
def test_who_frees_what_forward_kept_says_so_in_a_second_pass(words):
    def backward(ctx, g):
        x, ctx.x = ctx.x, None
        if words and x is None:
            raise ValueError("once only")
        return 2 * g * x

    made = op("Square", lambda ctx, x: (setattr(ctx, "x", x), x * x)[1], backward)
    report = evaluate(made, inputs=(normal(3),), seed=1, seconds=None)
    errors = [f.cause for f in report.findings if f.severity == "error"]
    assert errors == ([] if words else ["context/again-stops"]), str(report)


def test_a_key_that_is_no_name_is_left_out():
    def forward(ctx, x):
        ctx.cache = {("cube", b"\x80\x04\x95"): x * x}
        return x**3

    cube = op("Cube", forward, lambda ctx, g: 3 * g * ctx.cache[("cube", b"\x80\x04\x95")])
    report = evaluate(cube, inputs=(normal(3),), seed=1, seconds=None)
    assert "x80" not in str(report), str(report)
    assert "ctx.cache[…]" in str(report), str(report)
