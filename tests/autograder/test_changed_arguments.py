"""Wrong numbers that are right for other arguments, or off by one factor or term, are named so."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

IMPORTS = """\
import math
import torch
from torch.nn import functional as F


def slope(x):
    bell = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return (1 + torch.erf(x / math.sqrt(2))) / 2 + x * bell
"""


def said(exercise, forward, backward, arguments="x"):
    text = f"""{IMPORTS}
class Mine(Function):
    @staticmethod
    def forward(ctx, {arguments}):
        {forward}

    @staticmethod
    def backward(ctx, g):
        {backward}
"""
    report = evaluate(load(text, "Mine"), exercise=exercise, hidden=True, seed=1)
    return report.findings[0].message


UNARY = "x, = ctx.saved_tensors; return {}"
X, Y = (
    "y = {0}; ctx.save_for_backward(x); return y",
    "y = {0}; ctx.save_for_backward(y); return y",
)


@pytest.mark.parametrize(
    ("exercise", "forward", "backward", "words"),
    [
        (
            "LogSigmoid", Y.format("F.logsigmoid(x)"), UNARY.format("g * torch.sigmoid(-x)"),
            "the derivative at the output, where x belongs",
        ),
        (
            "MyGELU", X.format("F.gelu(x)"), UNARY.format("g * slope(-x)"),
            "the derivative at −x",
        ),
        (
            "MyGELU", X.format("F.gelu(x)"), UNARY.format("g * slope(x) * x"),
            "the right one times x: that factor is one too many",
        ),
        (
            "MyGELU", X.format("F.gelu(x)"), UNARY.format("g * slope(x) / x"),
            "the right one divided by x: a factor x is missing",
        ),
        (
            "Cube", X.format("x**3"), UNARY.format("3 * x * x * g + g * x"),
            "has a term grad_output · x too many",
        ),
        (
            "Cube", X.format("x**3"), UNARY.format("3 * x * x * g - g"),
            "lacks a term grad_output",
        ),
        (
            "Cube", X.format("x**3"), UNARY.format("3 * x * x * g + x"),
            "is added without the factor grad_output (it is x)",
        ),
    ],
)  # fmt: skip
def test_the_gradient_of_one_input(exercise, forward, backward, words):
    assert words in said(exercise, forward, backward)


CLIP = "ctx.inside = (x >= low) & (x <= high); return x.clamp(low, high)"


def test_two_bounds_in_the_wrong_order():
    message = said("Clip", CLIP, "return g * ctx.inside, None, None", "x, high, low")
    assert message.startswith("low and high are exchanged: the output is the one for each")


QUANTIZE = (
    "return (torch.clamp(torch.round(x / scale) {} zero_point, qmin, qmax) {} zero_point) * scale"
)


def test_a_sign_of_one_number():
    arguments = "x, scale, zero_point, qmin, qmax"
    message = said("FakeQuantize", QUANTIZE.format("-", "+"), "return g, *[None] * 4", arguments)
    assert "zero_point has the wrong sign" in message


def test_what_is_nearly_right_is_not_explained_by_what_changes_nothing():
    text = "y = torch.softmax(x.float(), dim).to(x.dtype); ctx.save_for_backward(y); ctx.dim = dim; return y"
    back = "y, = ctx.saved_tensors; return y * (g - (g * y).sum(ctx.dim, True)), None"
    message = said("Softmax", text, back, "x, dim")
    assert "float32" in message
    assert "dim" not in message
