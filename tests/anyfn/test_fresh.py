"""Mechanisms that fresh Functions asked for, each in a right and a wrong one."""

from __future__ import annotations

import pytest
import torch
from torch.autograd.function import once_differentiable

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


@pytest.mark.parametrize(("stop", "wrong"), [(1e-4, 0.0), (1e-6, 0.0), (1e-4, 0.02), (0.0, 1e-3)])
def test_a_fixed_point_may_be_off_by_the_steps_that_it_leaves_off(stop, wrong):
    """z = tanh(Wz + x), where the equation of backward is iterated as far; without ``stop``, for 200 steps."""

    def solved(step, z):
        for _ in range(200):
            new = step(z)
            left, z = float((new - z).abs().max()), new
            if left < stop:
                break
        return z

    def forward(ctx, weight, x):
        z = solved(lambda z: torch.tanh(weight @ z + x), torch.zeros_like(x))
        return keep(ctx, z, weight, z)

    def backward(ctx, g):
        weight, z = ctx.saved_tensors
        slope = 1 - z**2
        u = slope * solved(lambda v: g + weight.T @ (slope * v), g)
        return torch.outer(u, z) + wrong * u.sum(), u

    point = op("Point", forward, once_differentiable(backward))
    report = evaluate(point, inputs=(0.3 * normal(4, 4), normal(4, seed=1)), seed=1, seconds=None)
    assert report.passed == (not wrong), str(report)


SPREAD = normal(4, 4)
SYMMETRIC = SPREAD @ SPREAD.T + 4 * torch.eye(4, dtype=torch.float64)


def made_symmetric(gradient):
    return (gradient + gradient.mT) / 2


def of_matrix(value, gradient):
    """A function of a matrix whose gradient is ``gradient`` times the upstream one; torch says what that is."""

    def backward(ctx, g):
        at = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad():
            (slopes,) = torch.autograd.grad(value(at), at, g)
        return gradient(slopes)

    return op("OfMatrix", lambda ctx, a: keep(ctx, value(a), a), once_differentiable(backward))


def one_triangle(a):
    """The lower one is read."""
    return (torch.linalg.eigvalsh(a.tril() + a.tril(-1).mT)).log().sum()


@pytest.mark.parametrize(
    ("value", "gradient", "at", "right"),
    {
        "cholesky, symmetric": (torch.linalg.cholesky, made_symmetric, SYMMETRIC, True),
        "cholesky, of a batch": (torch.linalg.cholesky, made_symmetric, torch.stack([SYMMETRIC, 2 * SYMMETRIC]), True),
        "the triangle that is read": (one_triangle, lambda g: g, SYMMETRIC, True),
        "both triangles": (one_triangle, made_symmetric, SYMMETRIC, True),
        "both, each in full": (one_triangle, lambda g: g + g.tril(-1).mT, SYMMETRIC, False),
        "a factor": (one_triangle, lambda g: 1.01 * made_symmetric(g), SYMMETRIC, False),
        "the other triangle": (one_triangle, lambda g: g.mT, SYMMETRIC, True),
        "no symmetric matrix": (one_triangle, made_symmetric, SYMMETRIC + SPREAD, False),
        "all of it is read": (lambda a: torch.linalg.inv(a)[0], made_symmetric, SYMMETRIC, True),
        "all of it is read, and transposed": (lambda a: torch.linalg.inv(a)[0], lambda g: g.mT, SYMMETRIC, False),
        "a diagonal is read": (lambda a: a.diagonal().exp(), lambda g: g + 0.1 * g.sum() * (g == 0), SYMMETRIC, False),
    }.values(),
)  # fmt: skip
def test_of_a_symmetric_matrix_a_gradient_may_be_a_symmetric_one(value, gradient, at, right):
    report = evaluate(of_matrix(value, gradient), inputs=(at,), seed=1, seconds=None)
    assert report.passed == right, str(report)


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


def test_what_is_drawn_from_a_seed_of_its_own_is_other_in_another_layout():
    class Dropped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept = torch.rand_like(x) > 0.4
            ctx.save_for_backward(kept)
            return x * kept / 0.6

        @staticmethod
        def backward(ctx, g):
            (kept,) = ctx.saved_tensors
            return g * kept / 0.6

    def seeded(x):
        torch.manual_seed(0)
        return Dropped.apply(x)

    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    report = evaluate(seeded, inputs=(x,), seed=1)
    assert report.passed, str(report)


class WithALoss(torch.autograd.Function):
    """x as it is; the second argument gets a gradient of its own."""

    @staticmethod
    def forward(ctx, x, other):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g, torch.ones_like(g)


class Stitched(WithALoss):
    @staticmethod
    def backward(ctx, g):
        return -g, g


def test_beside_an_identity_only_what_comes_from_above_may_be_handed_on():
    x, other = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert evaluate(Stitched, inputs=(x, other), seed=1).passed
    report = evaluate(WithALoss, inputs=(x, other), seed=1)
    assert [f.rule for f in report.findings][:1] == ["upstream-ignored"], str(report)


@pytest.mark.parametrize("how", ["a function", "a number", "an index", "an array", "a branch"])
def test_what_is_native_never_gets_a_number_that_the_code_as_it_stands_does_not(how):
    """Where a cause is looked for, tensors and expressions are tried that are other."""
    seen = set()

    def native(*numbers):
        seen.add(numbers)  # it would write there
        return 1.0

    def leads(x):
        y = torch.tanh(x) * 3
        if how == "a number":
            native(int(y[0]))
        elif how == "an index":
            native(*(4 * y).long().reshape(-1).tolist())
        elif how == "an array":
            native(*y.detach().numpy().astype(int).tolist())
        elif how == "a branch" and bool((y > 0).all()):
            native(len(y))
        return y * native(2) if how == "a function" else y

    class Leads(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * leads(x)

    x = torch.tensor([-0.3, 0.5, 1.2], dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.reporting.verdict._explained", lambda found, ev: found)
        assert not evaluate(Leads, inputs=(x,), seed=1).passed
    known = {*seen}
    assert not evaluate(Leads, inputs=(x,), seed=1).passed
    assert seen == known
