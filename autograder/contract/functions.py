"""The function arguments that questions name: the ``f`` of ``numerical_gradient(f, x)`` and its kin.

Questions are data, so a function travels as a ``Named``: a name here and
numbers. Each entry is a maker: it gets the numbers and returns the function. What a call of one keeps
alive is never a tensor of the function's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.observation.observation import Named

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def named(maker: Callable[..., Any]) -> Callable[..., Any]:
    """Register a maker of a function (or of a list of layers) under its own name."""
    FUNCTIONS[maker.__name__] = maker
    return maker


def resolve(value: Named) -> Any:
    """The function (or the layers) that a Named stands for; ValueError for a name that is not here."""
    if value.name not in FUNCTIONS:
        raise ValueError(f"no function is called {value.name!r}")
    return FUNCTIONS[value.name](*value.settings)


@named
def weighted_squares(weight: float) -> Callable[[Tensor], Tensor]:
    """x ↦ weight · Σ i·xᵢ² (0-d tensor); the gradient differs at every element."""

    def f(x: Tensor) -> Tensor:
        steps = torch.arange(1, x.numel() + 1, dtype=x.dtype, device=x.device).reshape(x.shape)
        return weight * (steps * x * x).sum()

    return f


@named
def column_products(weight: float) -> Callable[[Tensor], Tensor]:
    """x ↦ weight · Σⱼ Πᵢ xᵢⱼ (0-d tensor): the rows are multiplied, so the shape of x counts."""
    return lambda x: weight * x.prod(0).sum()


@named
def exp_of_sum(scale: float) -> Callable[[Tensor], Tensor]:
    """x ↦ exp(scale · Σx) (0-d tensor): elements interact."""
    return lambda x: torch.exp(scale * x.sum())


@named
def sine_as_float(scale: float) -> Callable[[Tensor], float]:
    """x ↦ Σ sin(scale · x), as a Python float."""
    return lambda x: float(torch.sin(scale * x).sum())


@named
def last_number() -> Callable[[Tensor], Tensor]:
    """x ↦ the last of its numbers (0-d tensor), as a view of x."""
    return lambda x: x.view(-1)[-1]


@named
def affine(slope: float, offset: float) -> Callable[[Tensor], Tensor]:
    """x ↦ slope · Σx + offset (0-d tensor): the second derivative is zero."""
    return lambda x: slope * x.sum() + offset


@named
def quartic_chain(coupling: float) -> Callable[[Tensor], Tensor]:
    """x ↦ Σ x⁴ / 12 + coupling · Σ sin(xᵢ xᵢ₊₁) (0-d tensor): a full, symmetric Hessian of neighbours."""

    def f(x: Tensor) -> Tensor:
        flat = x.reshape(-1)
        return (flat**4).sum() / 12 + coupling * torch.sin(flat[1:] * flat[:-1]).sum()

    return f


@named
def tanh_critic(steepness: float) -> Callable[[Tensor], Tensor]:
    """x (N, …) ↦ (N,): Σ i · tanh(steepness · xᵢ) / 4 of each sample; gradients differ by sample."""

    def critic(x: Tensor) -> Tensor:
        flat = x.flatten(1)
        steps = torch.arange(1, flat.shape[1] + 1, dtype=x.dtype, device=x.device)
        return (steps * torch.tanh(steepness * flat)).sum(1) / 4

    return critic


@named
def quadratic_critic(scale: float) -> Callable[[Tensor], Tensor]:
    """x (N, …) ↦ (N, 1): scale · Σ x² of each sample."""
    return lambda x: scale * (x.flatten(1) ** 2).sum(1, keepdim=True)


@named
def column_critic(scale: float) -> Callable[[Tensor], Tensor]:
    """x (N, …, M) ↦ (N,): Σ scale · x² + x⁴ / 4 of each sample, read in columns.

    Its gradient is not contiguous, as that of a convolution with channels last.
    """

    def critic(x: Tensor) -> Tensor:
        flat = x.transpose(1, -1).flatten(1)
        return (scale * flat**2 + flat**4 / 4).sum(1)

    return critic


# ---- for checkpointing: the fn and the layers ----------------------------------------------


@named
def wave(scale: float) -> Callable[[Tensor], Tensor]:
    """x ↦ sin(scale · x) · tanh(x), element by element."""
    return lambda x: torch.sin(scale * x) * torch.tanh(x)


@named
def wave_product(scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """x (n, m), y (m, k) ↦ tanh(sin(scale · x) @ y), shape (n, k)."""
    return lambda x, y: torch.tanh(torch.sin(scale * x) @ y)


@named
def scaled_difference(offset: float) -> Callable[..., Tensor]:
    """x, factor, y, flip ↦ factor · sin(x) · (y + offset)², negated if flip; numbers in between."""

    def f(x: Tensor, factor: float, y: Tensor, flip: bool) -> Tensor:
        result = factor * torch.sin(x) * (y + offset) ** 2
        return -result if flip else result

    return f


@named
def first_of_two(scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """x, y ↦ sin(scale · x): y is not used."""
    return lambda x, y: torch.sin(scale * x)


@named
def picked_rows(scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """x (n, m), rows (k,) whole numbers ↦ sin(scale · x[rows]), shape (k, m)."""
    return lambda x, rows: torch.sin(scale * x[rows])


def wave_layer(scale: float) -> Callable[[Tensor], Tensor]:
    """One layer without parameters; layers with different scales do not commute."""
    return lambda x: torch.sin(scale * x) + 0.5 * x


@named
def wave_layers(count: float, scale: float) -> list[Callable[[Tensor], Tensor]]:
    """A list of ``count`` different layers."""
    return [wave_layer(scale + 0.3 * i) for i in range(int(count))]


class Wave(torch.nn.Module):
    """The same layer as a module."""

    def __init__(self, scale: float):
        super().__init__()
        self.layer = wave_layer(scale)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@named
def wave_sequential(count: float, scale: float) -> Any:
    """The same layers as an nn.Sequential."""
    return torch.nn.Sequential(*(Wave(scale + 0.3 * i) for i in range(int(count))))


@named
def parameter(value: float) -> torch.nn.Parameter:
    """A module's parameter: a tensor that is one to isinstance alone."""
    return torch.nn.Parameter(torch.tensor(value))
