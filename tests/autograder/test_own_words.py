"""A misconception of an exercise that carries a general rule speaks instead of that rule."""

import torch
from torch.autograd import Function

from autograder import evaluate


class Zeros(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


class Cosine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


def test_the_exercise_words_a_zero_gradient_and_keeps_the_rule():
    finding = evaluate(Zeros, exercise="SignSTE", seed=1).findings[0]
    assert finding.rule == "gradient-zero"
    assert "true derivative" in finding.message


def test_a_wrong_surrogate_is_not_called_a_wrong_derivative():
    finding = evaluate(Cosine, exercise="SignSTE", seed=1).findings[0]
    assert finding.rule == "gradient-value"
    assert "the contract states" in finding.message
    assert "derivative of forward" not in finding.message
