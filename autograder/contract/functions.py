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
    # a module's parameter: a tensor that is one to isinstance alone
    "parameter": lambda value: torch.nn.Parameter(torch.tensor(value)),
}


def resolve(value: Named) -> Any:
    """The function (or the layers) that a Named stands for; ValueError for a name that is not here."""
    if value.name not in FUNCTIONS:
        raise ValueError(f"no function is called {value.name!r}")
    return FUNCTIONS[value.name](*value.settings)
