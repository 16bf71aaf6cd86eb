"""Tensors that nobody can look into element by element, so that nothing else has to know of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Unseen:
    """A sparse, quantised, nested, mkldnn or meta tensor: handed on as a fresh copy, never moved or differentiated.

    wanted  it requires grad, and its gradient is not judged
    """

    tensor: Tensor
    wanted: bool

    @property
    def copy(self) -> Tensor:
        return self.tensor.clone()

    def to(self, dtype: torch.dtype) -> Unseen:
        """The same in a floating-point dtype; as it is where its layout or its numbers have none."""
        if not self.tensor.is_floating_point():  # whole numbers, complex and quantised ones
            return self
        try:
            return replace(self, tensor=self.tensor.to(dtype))
        except (RuntimeError, NotImplementedError):
            return self

    def __str__(self) -> str:
        return f"a {_kind(self.tensor)} tensor"

    __repr__ = __str__


def boxed(value: Any) -> Any:
    """Unseen for a tensor that cannot be looked into; other values as they are."""
    return Unseen(value.detach(), value.requires_grad) if is_unseen(value) else value


def opened(value: Any) -> Any:
    """What a submission is given in the place of a box."""
    return value.copy if isinstance(value, Unseen) else value


def is_unseen(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(_kind(value))


def dense(value: Any) -> Any:
    """A tensor that one can look into, with the same numbers; other values as they are."""
    if not is_unseen(value):
        return value
    if value.is_quantized:
        return value.dequantize()
    return value.to_padded_tensor(0.0) if value.is_nested else value.to_dense()


def _kind(tensor: Tensor) -> str:
    """What keeps one from looking into a tensor; "" where one can."""
    if tensor.is_nested:
        return "nested"
    if tensor.is_meta:
        return "meta"
    if tensor.is_quantized:
        return "quantised"
    if tensor.layout != torch.strided:
        return str(tensor.layout).removeprefix("torch.").lstrip("_")
    return ""
