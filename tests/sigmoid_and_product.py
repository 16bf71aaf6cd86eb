"""Small exercises and submissions of the tests' own, independent of the course's."""

from __future__ import annotations

import torch
from torch.autograd import Function

from autograder.contract.exercise import Case, Exercise, bytes_of

HINTS = ("gentle", "firmer", "formula")

SIGMOID = Exercise(
    name="ExampleSigmoid",
    lesson="",
    summary="The logistic function.",
    signature="(x)",
    reference=torch.sigmoid,
    cases=(
        Case("a vector", lambda s: (s.normal(5),)),
        Case("a matrix", lambda s: (s.normal(2, 3),)),
        Case("an empty batch", lambda s: (s.normal(0, 3),), role="empty"),
        Case("±1000", lambda s: (torch.tensor([-1000.0, 1000.0, 3.0]).double(),), role="extreme"),
    ),
    hints=HINTS,
    budget=lambda args, outputs: bytes_of(args[0]),
)

PRODUCT = Exercise(
    name="ExampleProduct",
    lesson="",
    summary="a · b with broadcasting.",
    signature="(a, b)",
    reference=torch.mul,
    cases=(
        Case("two vectors", lambda s: (s.normal(4), s.normal(4))),
        Case("a matrix and a row", lambda s: (s.normal(2, 3), s.normal(3))),
    ),
    hints=HINTS,
)


class Sigmoid(Function):
    """The right answer, in the ctx style."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


class ModernSigmoid(Function):
    """The right answer, in the setup_context style."""

    @staticmethod
    def forward(x):
        return torch.sigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


class Product(Function):
    """The right answer for PRODUCT."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = (g * b).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
        grad_b = (g * a).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


def sigmoid_with(backward, forward=Sigmoid.forward):
    """A sigmoid Function with another backward (or forward)."""
    return type(
        "ExampleSigmoid",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


def product_with(backward):
    """A product Function with another backward."""
    return type(
        "ExampleProduct",
        (Function,),
        {"forward": staticmethod(Product.forward), "backward": staticmethod(backward)},
    )
