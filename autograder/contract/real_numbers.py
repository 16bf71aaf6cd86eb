"""Tensors as rows of real numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def flat_of(tensor: Tensor) -> Tensor:
    """The real numbers of a tensor in a row, float64: those of a complex one are its parts."""
    plain = tensor.detach().resolve_conj()
    plain = torch.view_as_real(plain) if plain.is_complex() else plain
    return plain.reshape(-1).to(torch.float64)


def all_flat(values: Iterable[Any]) -> Tensor:
    """All real numbers of some tensors in a row; what is not differentiable has none."""
    rows = [flat_of(value) for value in values if is_differentiable(value)]
    return torch.cat(rows) if rows else torch.zeros(0, dtype=torch.float64)


def is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def unflat(flat: Tensor, like: Tensor) -> Tensor:
    if like.is_complex():
        return torch.view_as_complex(flat.reshape(*like.shape, 2).contiguous()).to(like.dtype)
    return flat.reshape(like.shape).to(like.dtype)


def errors_like(errors: Tensor, like: Tensor) -> Tensor:
    """Errors of real numbers in the shape of a tensor: of a complex one the larger of both parts."""
    return (
        errors.reshape(*like.shape, 2).amax(-1) if like.is_complex() else errors.reshape(like.shape)
    )
