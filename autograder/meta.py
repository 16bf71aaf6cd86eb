"""Elementwise operations on meta tensors, quickly.

A meta tensor has a shape and no data: running on it shows which tensors a Function makes on a fixed
device. torch's meta kernels of elementwise operations are written in Python and take a hundred times
as long as the operation itself on a small tensor. Here they are answered from shapes alone, where
nothing can go wrong: all tensors meta, of one floating dtype. Everything else is left to torch, with
its own errors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
_SAME_DTYPE = frozenset([
    _aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten.rsub.Scalar,
    _aten.add.Scalar, _aten.sub.Scalar, _aten.mul.Scalar, _aten.div.Scalar, _aten.maximum.default,
    _aten.minimum.default, _aten.neg.default, _aten.exp.default, _aten.log.default,
    _aten.sigmoid.default, _aten.tanh.default, _aten.sqrt.default, _aten.reciprocal.default,
    _aten.pow.Tensor_Scalar, _aten.abs.default,
])  # fmt: skip
_COMPARES = frozenset(
    getattr(getattr(_aten, name), overload)
    for name in ("gt", "ge", "lt", "le", "eq", "ne")
    for overload in ("Tensor", "Scalar")
)
_SELECTS = frozenset([_aten.masked_fill.Scalar, _aten.where.self])


class QuickMeta(TorchDispatchMode):
    """While it is active, elementwise operations on meta tensors take microseconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would wrap every operation to keep torch.compile out; nothing compiles here

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = None if kwargs else _from_shapes(func, args)
        return func(*args, **(kwargs or {})) if made is None else made


def _from_shapes(func: Any, args: tuple[Any, ...]) -> Tensor | None:
    """The result of an elementwise operation, or None where torch has to say."""
    selects = func in _SELECTS
    if not selects and func not in _SAME_DTYPE and func not in _COMPARES:
        return None
    tensors = [a for a in args if isinstance(a, Tensor)]
    floating = [t for t in tensors if not (selects and t.dtype == torch.bool)]
    if not floating or not all(t.is_meta for t in tensors):
        return None
    dtype = floating[0].dtype
    if not dtype.is_floating_point or any(t.dtype != dtype for t in floating):
        return None
    # Python numbers of these types never change the dtype of a floating tensor.
    if any(type(a) not in (int, float, bool) for a in args if not isinstance(a, Tensor)):
        return None
    shape = tensors[0].shape
    if any(t.shape != shape for t in tensors):
        try:
            shape = torch.broadcast_shapes(*(t.shape for t in tensors))
        except RuntimeError:
            return None
    return torch.empty(shape, dtype=torch.bool if func in _COMPARES else dtype, device="meta")
