"""What saved_bytes is tried on: sizes in, a function and its arguments out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


class _KeepsThree(Function):
    """Saves an input, the output and an intermediate of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.exp(x)
        ctx.save_for_backward(x, y, x > 0)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output * ctx.saved_tensors[1]


Trial = Callable[[int, int], tuple[Callable[..., Any], tuple[Any, ...]]]


def _x(n: int, m: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.ones(n, m, dtype=dtype, requires_grad=True)


def _detached_slice(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x = torch.ones(n, m, dtype=torch.float64)[:2].detach().requires_grad_(True)
    return (lambda x: torch.sin(x) * x), (x,)


def _masked(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    mask, rows = torch.ones(n, m, dtype=torch.bool), torch.zeros(3, dtype=torch.int64)
    return lambda x: torch.where(mask, x, 0.0)[rows], (_x(n, m, torch.float32),)


def _linear(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    scale, layer = torch.nn.Parameter(torch.ones(m)), torch.nn.Linear(m, 3)
    return lambda x: torch.tanh(layer(x * scale)).sum(), (_x(n, m, torch.float32),)


def _several(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return (lambda x, factor, y: (factor * x * y, torch.sin(y))), (_x(n, m), 2.5, _x(n, m))


def _beside_data(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return (lambda x, data: torch.sin(x * data) * data), (_x(n, m), _x(n, m).detach())


def _inner_gradient(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def penalty(x: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(torch.sin(x).exp().sum(), x, create_graph=True)
        return (slope**2).sum()

    return penalty, (_x(n, m),)


ROWS = "torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:])"
TRIALS: dict[str, Trial] = {
    "torch.sin(x)": lambda n, m: (torch.sin, (_x(n, m),)),
    "x * x": lambda n, m: ((lambda x: x * x), (_x(n, m),)),
    "torch.sin(torch.exp(x))": lambda n, m: ((lambda x: torch.sin(torch.exp(x))), (_x(n, m),)),
    "x + 1": lambda n, m: ((lambda x: x + 1), (_x(n, m),)),
    "torch.sin(x[0])": lambda n, m: ((lambda x: torch.sin(x[0])), (_x(n, m),)),
    ROWS: lambda n, m: (
        lambda x: torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:]),
        (_x(n, m),),
    ),
    "the sine of an expanded row": lambda n, m: (
        lambda x: torch.sin(x[0].clone().expand(n, m)),
        (_x(n, m),),
    ),
    "torch.sin(x) * x, where x is a detached slice": _detached_slice,
    "a mask and whole numbers": _masked,
    "a scale, a linear layer and tanh": _linear,
    "two tensors, a number, two outputs": _several,
    "a Function that saves three tensors": lambda n, m: (_KeepsThree.apply, (_x(n, m),)),
    "a product with data that needs no gradient": _beside_data,
    "a function that takes a gradient inside": _inner_gradient,
}
