"""Answers that are right to a few digits only are told so, with every seed."""

import pytest
import torch
import torch.nn.functional as F

from autograder import evaluate
from autograder.compare import close, single_inside
from autograder.exercise import Sampler
from tests.autograder.examples import SIGMOID, Sigmoid, sigmoid_with


def in_single(ctx, x):
    y = torch.sigmoid(x.float()).to(x.dtype)
    ctx.save_for_backward(y)
    return y


def backward_in_single(ctx, grad_output):
    y, g = ctx.saved_tensors[0].float(), grad_output.float()
    return (g * y * (1 - y)).to(grad_output.dtype)


def with_an_eps(ctx, grad_output):
    (y,) = ctx.saved_tensors
    return grad_output * y * (1 - y + 3e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_headline_says_how_many_digits_are_right(seed):
    for answer, rule, words in (
        (sigmoid_with(Sigmoid.backward, in_single), "forward-value", "The output has the precision of float32"),
        (sigmoid_with(backward_in_single), "gradient-value", "The gradient for x has the precision of float32"),
        (sigmoid_with(with_an_eps), "gradient-value", "The gradient for x is right to about"),
    ):  # fmt: skip
        report = evaluate(answer, exercise=SIGMOID, seed=seed)
        assert report.findings[0].rule == rule, report
        assert words in report.headline, report


class ShortE(Sigmoid):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + 2.7183 ** (-x))
        ctx.save_for_backward(y)
        return y


class SmallNumber(Sigmoid):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(-x) + 2e-5)
        ctx.save_for_backward(y)
        return y


class InSingle(Sigmoid):
    @staticmethod
    def forward(ctx, x):
        return in_single(ctx, x.float().double())


def test_the_number_that_is_not_exact_is_named():
    for answer, words in (
        (ShortE, "2.7183 in line 44 is e to a few digits only."),
        (SmallNumber, "line 52 has the small number 2e-05 in it."),
        (InSingle, "float64: `x.float()` in line 60."),
    ):
        report = evaluate(answer, exercise=SIGMOID, seed=1)
        assert words in report.headline, report


def test_numbers_that_float32_has_by_right_are_no_float32():
    x = Sampler(0).normal(3, 4)
    signs, hard = x.sign(), F.one_hot(x.argmax(1), 4).double()
    straight_through = torch.nextafter(hard, x)  # hard - soft + soft, up to float64's rounding
    assert not single_inside(signs, signs)
    assert not torch.equal(straight_through, hard)
    assert not single_inside(hard, straight_through)
    assert not single_inside(x.float(), x)  # the dtype says so itself
    assert single_inside(x.float().double(), x)
    assert close(x.float().double(), x)
