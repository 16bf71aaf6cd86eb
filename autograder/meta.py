"""Elementwise operations and reductions on meta tensors, quickly.

A meta tensor has a shape and no data: running on it shows which tensors a Function makes on a fixed
device. torch's meta kernels of these operations are written in Python and take a hundred times as
long as the operation itself on a small tensor. Here they are answered from shapes alone, where
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
_REDUCES = frozenset([
    _aten.sum.dim_IntList, _aten.mean.dim, _aten.amax.default, _aten.amin.default,
    _aten.logsumexp.default,
])  # fmt: skip


class QuickMeta(TorchDispatchMode):
    """While it is active, these operations on meta tensors take microseconds."""

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
    """The result of one of these operations, or None where torch has to say."""
    if func in _REDUCES:
        return _reduced(*args)
    selects = func in _SELECTS
    if not selects and func not in _SAME_DTYPE and func not in _COMPARES:
        return None
    tensors = [a for a in args if isinstance(a, Tensor)]
    floating = [t for t in tensors if not (selects and t.dtype == torch.bool)]
    if not floating or not all(t.is_meta for t in tensors):
        return None
    dtype = floating[0].dtype
    if any(t.dtype != dtype for t in floating):
        return None
    if not dtype.is_floating_point and (func not in _COMPARES or len(tensors) < 2):
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


def _reduced(x: Tensor, dims: Any = (), keepdim: bool = False) -> Tensor | None:
    """x with the dimensions ``dims`` reduced to 1 or, without ``keepdim``, removed."""
    dims = [dims] if isinstance(dims, int) else list(dims or ())
    places = {d % x.dim() for d in dims if -x.dim() <= d < x.dim()}
    if not x.is_meta or not x.dtype.is_floating_point or 0 in x.shape:
        return None
    if not dims or len(places) != len(dims):
        return None
    kept = [1 if i in places else size for i, size in enumerate(x.shape)]
    shape = kept if keepdim else [size for i, size in enumerate(x.shape) if i not in places]
    return torch.empty(shape, dtype=x.dtype, device="meta")
