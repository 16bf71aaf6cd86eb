"""Functions and layers that questions about checkpointing name: the ``fn`` and the ``layers``.

They are made of numbers alone, so what a call keeps alive is never a tensor of the function's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.function_names import named


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
