"""The function arguments that questions name: the ``f`` of ``numerical_gradient(f, x)`` and its kin.

Questions are data, so a function travels as a ``Named``: a name here and
numbers. Each entry is a maker: it gets the numbers and returns the function. What a call of one keeps
alive is never a tensor of the function's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.observation.observation import Named


def _counted(x: Tensor, *dims: int) -> Tensor:
    """1, 2, 3, … in this shape, so that each element counts differently."""
    return torch.arange(1, math.prod(dims) + 1, dtype=x.dtype, device=x.device).reshape(dims)


def _neighbours(x: Tensor, coupling: float) -> Tensor:
    return (x**4).sum() / 12 + coupling * torch.sin(x[1:] * x[:-1]).sum()


def _even_powers(x: Tensor, scale: float) -> Tensor:
    return (scale * x**2 + x**4 / 4).sum(1)


def _scaled_difference(offset: float, x: Tensor, factor: float, y: Tensor, flip: bool) -> Tensor:
    result = factor * torch.sin(x) * (y + offset) ** 2
    return -result if flip else result


def _wave_layer(scale: float) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.sin(scale * x) + 0.5 * x


def wave_layers(count: float, scale: float) -> list[Callable[[Tensor], Tensor]]:
    """So many layers without parameters; layers with different scales do not commute."""
    return [_wave_layer(scale + 0.3 * i) for i in range(int(count))]


class Wave(torch.nn.Module):
    """Such a layer as a module."""

    def __init__(self, layer: Callable[[Tensor], Tensor]):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


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


def _of_a_slice(x: Tensor) -> Tensor:
    part = torch.ones_like(x)[:2].detach().requires_grad_(True)
    return torch.sin(part) * part


def _in_two_dtypes(x: Tensor) -> Tensor:
    """Saves x, and x read as twice as many numbers of half the size."""
    return torch.sin(x).sum() + (x[:, :1] * x.detach().view(torch.float32)).sum()


def _scale_and_layer(x: Tensor) -> Tensor:
    scale, layer = torch.nn.Parameter(torch.ones_like(x[0])), torch.nn.Linear(x.shape[1], 3)
    return torch.tanh(layer.to(x)(x * scale)).sum()


def _gradient_inside(x: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(torch.sin(x).exp().sum(), x, create_graph=True)
    return (slope**2).sum()


# Functions of x (n, m), as a report calls them, that save all of it, once or twice, parts, intermediates, masks and
# indices.
SAVING: dict[str, Callable[..., Any]] = {
    "torch.sin(x[0][0]).sum()": lambda x: torch.sin(x[0][0]).sum(),
    "torch.sin(x)": torch.sin,
    "x * x": lambda x: x * x,
    "torch.sin(torch.exp(x))": lambda x: torch.sin(torch.exp(x)),
    "x + 1": lambda x: x + 1,
    "torch.sin(x[0])": lambda x: torch.sin(x[0]),
    "torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:])": lambda x: (
        torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:])
    ),
    "the sine of an expanded row": lambda x: torch.sin(x[0].clone().expand(x.shape)),
    "torch.sin(x) * x, where x is a detached slice": _of_a_slice,
    "torch.sin(x), and x read as float32": _in_two_dtypes,
    "a mask and whole numbers": lambda x: torch.where(x.detach() > 0, x, 0.0)[
        torch.zeros(3, dtype=torch.int64)
    ],
    "a scale, a linear layer and tanh": _scale_and_layer,
    "a Function that saves three tensors": _KeepsThree.apply,
    "a branch that the result does not use": lambda x: torch.sin(x) + torch.exp(x).detach(),
}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    # x ↦ weight · Σ i·xᵢ² (0-d tensor); the gradient differs at every element
    "weighted_squares": lambda weight: lambda x: weight * (_counted(x, *x.shape) * x * x).sum(),
    # x ↦ weight · Σⱼ Πᵢ xᵢⱼ (0-d tensor): the rows are multiplied, so the shape of x counts
    "column_products": lambda weight: lambda x: weight * x.prod(0).sum(),
    # x ↦ exp(scale · Σx) (0-d tensor): elements interact
    "exp_of_sum": lambda scale: lambda x: torch.exp(scale * x.sum()),
    # x ↦ Σ sin(scale · x), as a Python float
    "sine_as_float": lambda scale: lambda x: float(torch.sin(scale * x).sum()),
    # x ↦ the last of its numbers (0-d tensor), as a view of x
    "last_number": lambda: lambda x: x.view(-1)[-1],
    # x ↦ slope · Σx + offset (0-d tensor): the second derivative is zero
    "affine": lambda slope, offset: lambda x: slope * x.sum() + offset,
    # x ↦ Σ wᵢ · xᵢ (0-d tensor), of a weight that requires grad: a gradient that has a graph, and not of x
    "weighted": lambda *weight: (
        lambda x: (torch.tensor(weight, requires_grad=True).to(x) * x).sum()
    ),
    # x ↦ Σ x⁴ / 12 + coupling · Σ sin(xᵢ xᵢ₊₁) (0-d tensor): a full, symmetric Hessian of neighbours
    "quartic_chain": lambda coupling: lambda x: _neighbours(x.reshape(-1), coupling),
    # x (N, …) ↦ (N,): Σ i · tanh(steepness · xᵢ) / 4 of each sample; gradients differ by sample
    "tanh_critic": lambda steepness: (
        lambda x: (_counted(x, *x.shape[1:]) * torch.tanh(steepness * x)).flatten(1).sum(1) / 4
    ),
    # x (N, …) ↦ (N, 1): scale · Σ x² of each sample
    "quadratic_critic": lambda scale: lambda x: scale * (x.flatten(1) ** 2).sum(1, keepdim=True),
    # x (N, …, M) ↦ (N,): Σ scale · x² + x⁴ / 4 of each sample, read in columns: its gradient is not contiguous, as
    # that of a convolution with channels last
    "column_critic": lambda scale: lambda x: _even_powers(x.transpose(1, -1).flatten(1), scale),
    # ---- for checkpointing: the fn and the layers
    # x ↦ sin(scale · x) · tanh(x), element by element
    "wave": lambda scale: lambda x: torch.sin(scale * x) * torch.tanh(x),
    # x (n, m), y (m, k) ↦ tanh(sin(scale · x) @ y), shape (n, k)
    "wave_product": lambda scale: lambda x, y: torch.tanh(torch.sin(scale * x) @ y),
    # x, factor, y, flip ↦ factor · sin(x) · (y + offset)², negated if flip; numbers in between
    "scaled_difference": lambda offset: partial(_scaled_difference, offset),
    # x, y ↦ sin(scale · x): y is not used
    "first_of_two": lambda scale: lambda x, y: torch.sin(scale * x),
    # x (n, m), rows (k,) whole numbers ↦ sin(scale · x[rows]), shape (k, m)
    "picked_rows": lambda scale: lambda x, rows: torch.sin(scale * x[rows]),
    # a list of so many different layers, and the same ones as an nn.Sequential
    "wave_layers": wave_layers,
    "wave_sequential": lambda count, scale: torch.nn.Sequential(
        *map(Wave, wave_layers(count, scale))
    ),
    # ---- for saved_bytes
    # (no partial: a box asks each function for its module)
    **{words: lambda f=f: f for words, f in SAVING.items()},
    "gradient inside": lambda: _gradient_inside,
    "product and sine": lambda: lambda x, c, y: (c * x * y, torch.sin(y)),
    "product with data": lambda: lambda x, d: torch.sin(x * d) * d,
    # a module's parameter: a tensor that is one to isinstance alone
    "parameter": lambda value: torch.nn.Parameter(torch.tensor(value)),
}


def resolve(value: Named) -> Any:
    """The function (or the layers) that a Named stands for; ValueError for a name that is not here."""
    if value.name not in FUNCTIONS:
        raise ValueError(f"no function is called {value.name!r}")
    return FUNCTIONS[value.name](*value.settings)
