"""What is given in a dtype is asked in that one too, where writes are looked for: x.float() of a float32 tensor is x."""

from __future__ import annotations

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op


def through(ctx, g):
    return g.float().mul_(ctx.saved_tensors[0].float().cos()).to(g.dtype)


def saved(ctx, g):
    (x,) = ctx.saved_tensors
    return (g.float() * x.detach().float().cos_()).to(g.dtype)


def forward_in_place(ctx, x):
    return keep(ctx, x.detach().float().sin_().to(x.dtype), x)


def sine(ctx, x):
    return keep(ctx, x.float().sin().to(x.dtype), x)


def copied(ctx, g):
    return g.float().clone().mul_(ctx.saved_tensors[0].float().cos()).to(g.dtype)


def kept_on_ctx(ctx, x):
    ctx.slope = x.detach().cos()
    return keep(ctx, x.sin(), x)


def used_up(ctx, g):
    return g * ctx.slope.float().mul_(2).to(g.dtype) / 2


@pytest.mark.parametrize(
    ("forward", "backward", "rule"),
    [
        (sine, through, "mutates-upstream"),
        (sine, saved, "mutates-saved"),
        (forward_in_place, copied, "mutates-input"),
        (kept_on_ctx, used_up, "shared-state"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_write_that_only_the_given_dtype_shows_is_found(forward, backward, rule, dtype):
    made = op("Sine", forward, backward)
    report = evaluate(made, inputs=(normal(3, 4).to(dtype),), seed=1, seconds=None)
    rules = [f.rule for f in report.findings if f.severity == "error"]
    assert (rule in rules) == (dtype == torch.float32), str(report)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_who_writes_to_nothing_passes_in_any_dtype(dtype):
    report = evaluate(op("Sine", sine, copied), inputs=(normal(3, 4).to(dtype),), seed=1)
    assert report.passed, str(report)


def test_arguments_of_several_dtypes_are_asked_in_each_of_their_own():
    def forward(ctx, x, w):
        return keep(ctx, x.float() * w, x, w)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return (g * w).to(x.dtype), g.float().mul_(x.float()).to(w.dtype)

    inputs = normal(3).bfloat16(), normal(3, seed=1).float()
    report = evaluate(op("Scale", forward, backward), inputs=inputs, seed=1, seconds=None)
    assert report.findings[0].rule == "mutates-upstream", str(report)
