"""Elementwise operations, reductions and counters on meta tensors, quickly.

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
    _aten.pow.Tensor_Scalar, _aten.abs.default, _aten.logaddexp.default,
])  # fmt: skip
_COMPARES = frozenset(
    getattr(getattr(_aten, name), overload)
    for name in ("gt", "ge", "lt", "le", "eq", "ne")
    for overload in ("Tensor", "Scalar")
) | {_aten.isinf.default, _aten.isnan.default}
_LIKE = (_aten.zeros_like.default, _aten.ones_like.default, _aten.full_like.default)
_SELECTS = (_aten.masked_fill.Scalar, _aten.where.self)


class QuickMeta(PlainMode):
    """While it is active, these operations on meta tensors take microseconds."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # One look into a table: an operation is hashed in Python, which takes as long as the answer.
        quick = (_MADE if kwargs else _BY_SHAPE).get(func)
        made = None if quick is None else quick(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if made is None else made


def _made_like(like: Tensor, *values: Any, **more: Any) -> Tensor | None:
    """zeros_like(x) and the like, without a dtype or device of their own."""
    if not like.is_meta or any(more.values()) or not like.is_contiguous():
        return None
    return torch.empty(like.shape, dtype=like.dtype, device="meta")


def _made_new(like: Tensor, size: Any, *values: Any, **more: Any) -> Tensor | None:
    """x.new_zeros(size) and the like, without a dtype or device of their own."""
    if not like.is_meta or any(more.values()) or any(type(n) is not int or n < 0 for n in size):
        return None
    return torch.empty(size, dtype=like.dtype, device="meta")


def _counted(*ends: Any, device: Any = None, **more: Any) -> Tensor | None:
    """arange of whole numbers, in their own dtype."""
    if not ends or any(type(end) is not int for end in ends) or any(more.values()):
        return None
    size = ends[-1] - (ends[0] if len(ends) > 1 else 0)
    on_meta = size >= 0 and torch.device(device or "cpu").type == "meta"
    return torch.empty(size, dtype=torch.int64, device="meta") if on_meta else None


def _same(*args: Any) -> Tensor | None:
    """An operation element by element whose result has the one floating dtype of its arguments."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    return _elementwise(args, tensors, tensors, None)


def _compared(*args: Any) -> Tensor | None:
    """A comparison: of tensors of one dtype, or of a floating one with a number."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    return _elementwise(args, tensors, tensors, torch.bool)


def _limited(x: Tensor, *limits: Any) -> Tensor | None:
    """x between two limits, of which one may be None."""
    given = [limit for limit in limits if limit is not None]
    return _same(x, *given) if given else None


def _selected(*args: Any) -> Tensor | None:
    """An operation that takes the one or the other where a mask says so."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    return _elementwise(args, tensors, [t for t in tensors if t.dtype != torch.bool], None)


def _elementwise(
    args: tuple[Any, ...],
    tensors: list[Tensor],
    of_values: list[Tensor],
    result: torch.dtype | None,
) -> Tensor | None:
    """What comes of these arguments, or None where torch has to say. ``result``: None for theirs."""
    if not of_values:
        return None
    dtype = of_values[0].dtype
    for tensor in tensors:
        if not tensor.is_meta:
            return None
    for tensor in of_values:
        if tensor.dtype != dtype:
            return None
    if not dtype.is_floating_point and (result is None or len(tensors) < 2):
        return None
    # Python numbers of these types never change the dtype of a floating tensor.
    for value in args:
        if not isinstance(value, Tensor) and type(value) not in (int, float, bool):
            return None
    shape = _broadcast([t.shape for t in tensors])
    return None if shape is None else torch.empty(shape, dtype=result or dtype, device="meta")


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
    fits = mask.is_meta and mask.dtype == torch.bool and mask.is_contiguous()
    return torch.empty(mask.shape, dtype=torch.bool, device="meta") if fits else None


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


# What each operation comes to: a function of its arguments, or None where torch has to say.
_BY_SHAPE: dict[Any, Callable[..., Tensor | None]] = {
    **dict.fromkeys(_SAME_DTYPE, _same),
    **dict.fromkeys(_COMPARES, _compared),
    **dict.fromkeys(_SELECTS, _selected),
    _aten.clamp.default: _limited,
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
# The same for calls with keywords.
_MADE: dict[Any, Callable[..., Tensor | None]] = {
    **dict.fromkeys(_LIKE, _made_like),
    **dict.fromkeys(
        (_aten.new_zeros.default, _aten.new_ones.default, _aten.new_full.default), _made_new
    ),
    **dict.fromkeys((_aten.arange.default, _aten.arange.start), _counted),
}
