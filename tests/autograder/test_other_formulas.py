"""Another function, a term or a mask in the place of the right one is named, and nothing is named by chance."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load


def said(exercise, forward, slope, arguments="x", more=""):
    text = f"""import math
import torch
from torch.nn import functional as F


class Mine(Function):
    @staticmethod
    def forward(ctx, {arguments}):
        ctx.save_for_backward(x)
        ctx.rest = ({arguments},)[1:]
        return {forward}

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        {more or "pass"}
        return ({slope},) + (None,) * len(ctx.rest)
"""
    report = evaluate(load(text, "Mine"), exercise=exercise, hidden=True, seed=1)
    return report.findings[0].message


@pytest.mark.parametrize(
    ("exercise", "forward", "slope", "words"),
    [
        ("MyTanh", "torch.sinh(x)", "g", "The output is sinh x"),
        ("MyTanh", "torch.tanh(x)", "g * (1 - torch.tanh(x)) ** 2", "by (1 − y)², where y is the output"),
        ("MyTanh", "2 * torch.sigmoid(2 * x) + 1", "g", "too large by 2 everywhere"),
        ("MySigmoid", "torch.sigmoid(x)", "g * x.sigmoid() - x.sigmoid() ** 2", "(it is −y²"),
        ("Binarize", "torch.where(x >= 0, 1.0, -1.0).to(x)", "g * (x.abs() <= 2)", "the mask |x| ≤ 2"),
        ("MyReLU", "torch.where(x > 0, x, 0.37 * x)", "g", "is negative: there it is 0.37 · x"),
        ("SignSTE", "0 * x", "g", "The output is 0 everywhere"),
        ("RoundSTE", "torch.round(x, decimals=1)", "g", "x rounded to one decimal"),
        ("RoundSTE", "torch.round(x + 0.01 * torch.randn_like(x)) + torch.rand_like(x)", "g",
         "Two calls with the same arguments give two outputs: line 11 draws random numbers"),
        ("MyGELU", "x * (1 + torch.erf(0.7 * x)) / 2", "g", "0.7 in line 11 is 1/√2 with few digits only"),
    ],
)  # fmt: skip
def test_the_formula_that_stands_there_is_named(exercise, forward, slope, words):
    assert words in said(exercise, forward, slope)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("low, high = ctx.rest; m = (x >= low) | (x <= high)", "the two comparisons are joined"),
        ("low, high = ctx.rest; y = x.clamp(low, high)\n        m = (y >= low) & (y <= high)",
         "compares y, which line 16 has brought into the range already"),
        ("m = x == x", "The gradient passes everywhere, outside the bounds too"),
    ],
)  # fmt: skip
def test_a_mask_that_stops_nothing_says_why(more, words):
    assert words in said("Clip", "x.clamp(low, high)", "g * m", "x, low, high", more)


def test_of_several_outputs_the_wrong_one_is_named():
    text = """import torch


class Mine(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = x.max(dim)
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices + 7

    @staticmethod
    def backward(ctx, g, _):
        return None, None
"""
    report = evaluate(load(text, "Mine"), exercise="Max", hidden=True, seed=1)
    assert report.findings[0].message.startswith("The second output")


def test_a_formula_of_no_known_kind_is_not_given_a_name():
    message = said("MyTanh", "torch.tanh(x)", "g * (0.3 + 0.11 * x + 0.07 * x.abs())")
    assert "is not the derivative of forward" in message
