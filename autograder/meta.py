"""Elementwise operations and reductions on meta tensors, quickly.

A meta tensor has a shape and no data: running on it shows which tensors a Function makes on a fixed
device. torch's meta kernels of these operations are written in Python and take a hundred times as
long as the operation itself on a small tensor. Here they are answered from shapes alone, where
nothing can go wrong: all tensors meta, of one floating dtype. Everything else is left to torch, with
its own errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from autograder.modes import PlainMode

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
_LIKE = frozenset([_aten.zeros_like.default, _aten.ones_like.default, _aten.full_like.default])
_SELECTS = frozenset([_aten.masked_fill.Scalar, _aten.where.self])


class QuickMeta(PlainMode):
    """While it is active, these operations on meta tensors take microseconds."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = _made_like(func, args, kwargs) if kwargs else _from_shapes(func, args)
        return func(*args, **(kwargs or {})) if made is None else made


def _made_like(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """zeros_like(x) and the like, without a dtype or device of their own."""
    if func not in _LIKE or not args[0].is_meta or any(kwargs.values()):
        return None
    return torch.empty_like(args[0])


def _from_shapes(func: Any, args: tuple[Any, ...]) -> Tensor | None:
    """The result of one of these operations, or None where torch has to say."""
    if special := _BY_HAND.get(func):
        return special(*args)
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
    shape = _broadcast([t.shape for t in tensors])
    if shape is None:
        return None
    return torch.empty(shape, dtype=torch.bool if func in _COMPARES else dtype, device="meta")


def _broadcast(shapes: list[torch.Size]) -> Sequence[int] | None:
    """The common shape, or None where there is none; torch.broadcast_shapes takes ten times as long."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    made = []
    for sizes in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            return None
        made.append(others.pop() if others else 1)
    return made[::-1]


def _flipped(mask: Tensor) -> Tensor | None:
    """~mask."""
    return torch.empty_like(mask) if mask.is_meta and mask.dtype == torch.bool else None


def _multiplied(a: Tensor, b: Tensor) -> Tensor | None:
    """a @ b for two matrices, or two batches of them."""
    fits = a.is_meta and b.is_meta and a.dtype == b.dtype and a.dim() == b.dim() > 1
    if not fits or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        return None
    return torch.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype, device="meta")


def _added_to(x: Tensor, other: Any) -> Tensor | None:
    """x.add_(other) for tensors of one floating dtype: x itself, which has no values."""
    fits = isinstance(other, Tensor) and x.is_meta and other.is_meta and x.dtype == other.dtype
    fits = fits and x.dtype.is_floating_point and not x.requires_grad
    return x if fits and x.shape == other.shape else None


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


_BY_HAND: dict[Any, Callable[..., Tensor | None]] = {
    **dict.fromkeys(
        (
            _aten.sum.dim_IntList, _aten.mean.dim, _aten.amax.default, _aten.amin.default,
            _aten.logsumexp.default,
        ),
        _reduced,
    ),
    _aten.bitwise_not.default: _flipped,
    _aten.mm.default: _multiplied,
    _aten.bmm.default: _multiplied,
    _aten.add_.Tensor: _added_to,
}  # fmt: skip
