"""SwishTwice of lesson 05: contract, hints and experiments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.exercises.sigmoid.swish import SWISH


class _ReleasedSwish(Function):
    """The Swish that the released cell holds, line by line: it saves an intermediate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: Tensor) -> Tensor:
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, beta, s = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


SWISH_TWICE = replace(
    SWISH,
    name="SwishTwice",
    lesson="05_double_backward",
    summary="x · σ(beta · x), whose second derivatives are right too; a repair.",
    released=_ReleasedSwish.apply,
    hints=(
        "All formulas are right: gradcheck says so. Look at the three saved tensors and ask of each: is "
        "it an input, the output, or neither?",
        "s = σ(beta · x) is made in forward, where autograd is off. To the second derivative it is a "
        "constant. Where could it be made instead, so that autograd sees how it depends on x and beta?",
        "Save x and beta only, and begin backward with s = torch.sigmoid(beta * x). The rest stays.",
    ),
)
