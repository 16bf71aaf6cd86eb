"""Tensors as they were at one moment, what a tensor is to the call it belongs to, and those one cannot look into."""

from __future__ import annotations

import contextlib
import gc
import re
import types
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
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


_functorch = torch._C._functorch
_NOTHING: AbstractContextManager[Any] = contextlib.nullcontext()


@dataclass
class Moment:
    """What it takes to see whether a tensor is written to later.

    values  a detached copy of all or some of its values, or None if not kept
    """

    version: int
    values: Tensor | None


def unwrapped(tensor: Tensor) -> Tensor:
    """The plain tensor inside torch.func's wrappers (GradTrackingTensor, BatchedTensor)."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def storage_of(tensor: Tensor) -> tuple[int, int]:
    """(identity of the storage, its bytes); (0, 0) for tensors without one."""
    try:
        storage = unwrapped(tensor).untyped_storage()
        return storage._cdata, storage.nbytes()
    except Exception:
        return 0, 0


def moment(value: Any, keep: int | None = None) -> Any:
    """A Moment of a tensor with at most ``keep`` values (None: all of them); other values as text."""
    if not isinstance(value, Tensor):
        known = value is None or isinstance(value, bool | int | float | str)
        return value if known else in_words(value)
    plain = unwrapped(value).detach()
    values = None
    if plain.layout == torch.strided and not plain.is_meta:
        with _without_transforms():
            values = (plain if keep is None else plain.reshape(-1)[:keep]).clone()
    return Moment(_version(plain), values)


def in_words(value: Any) -> str:
    """A value that is no tensor: a function by its name, anything else as Python writes it.

    Without addresses in memory, which differ from run to run.
    """
    if isinstance(value, types.FunctionType):
        return value.__name__
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:80]


def who_is(tensor: Tensor, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> str:
    """input[i] or output[i] by identity, else "view of …" by storage, else "intermediate"."""
    named = [(f"input[{i}]", t) for i, t in enumerate(inputs)]
    named += [(f"output[{i}]", t) for i, t in enumerate(outputs)]
    for name, other in named:
        if other is tensor:
            return name
    storage = storage_of(tensor)
    for name, other in named:
        if isinstance(other, Tensor) and storage[1] and storage_of(other) == storage:
            return f"view of {name}"
    return "intermediate"


def tensors_within(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """(path, tensor) for every tensor that a value holds, in whatever way: what Python's collector sees of it."""
    if isinstance(value, Tensor):
        yield path, value
    elif depth < 6:
        if isinstance(value, dict):
            # A key that is no name, as that of a cache, says nothing to anybody.
            keys = [f"[{k!r}]" if isinstance(k, int) or str(k).isidentifier() else "[…]" for k in value]  # fmt: skip
            items = [(path + k, v) for k, v in zip(keys, value.values(), strict=True)]
        elif isinstance(value, list | tuple | set | frozenset):
            items = [(f"{path}[{i}]", v) for i, v in enumerate(value)]
        elif isinstance(value, types.FunctionType):
            cells = [c.cell_contents for c in value.__closure__ or () if c != type(c)()]
            items = [(f"{path} (closure)", v) for v in (*cells, *(value.__defaults__ or ()))]
        elif _is_global(value):
            items = []
        else:
            items = [(path, held) for held in gc.get_referents(value) if not _is_global(held)]
        for name, inner in items:
            yield from tensors_within(inner, name, depth + 1)


def _is_global(held: Any) -> bool:
    """Whether it is there without anybody holding it: a class, a module, a layer, the names of a module."""
    there = isinstance(held, type | types.ModuleType | torch.nn.Module)
    return there or (isinstance(held, dict) and "__name__" in held)


def changed(before: Sequence[Any], now: Sequence[Any], by_value: bool = False) -> list[int]:
    """Which tensors were written to since their moments: by version, or (past .data, or where that is asked) by value."""
    return [
        i
        for i, (then, tensor) in enumerate(zip(before, now, strict=False))
        if isinstance(then, Moment)
        and isinstance(tensor, Tensor)
        and (
            differs(then, tensor) or (not by_value and _version(unwrapped(tensor)) != then.version)
        )
    ]


def differs(before: Moment, now: Tensor) -> bool:
    """Whether a tensor has other values than at that moment."""
    plain = unwrapped(now)
    if before.values is None or plain.layout != torch.strided or plain.is_meta:
        return False
    with _without_transforms():
        if before.values.shape != plain.shape:
            plain = plain.detach().reshape(-1)[: before.values.numel()]
        if torch.equal(before.values, plain):
            return False
        plain = plain.detach()
        # Not equal, or nan in both: nan is not equal to itself.
        return not torch.equal(before.values.nan_to_num(nan=0.123), plain.nan_to_num(nan=0.123))


def _without_transforms() -> AbstractContextManager[Any]:
    """Inside a torch.func transform every operation would wrap its result again."""
    return _NOTHING if _functorch.peek_interpreter_stack() is None else torch._C._DisableFuncTorch()


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors do not track versions
        return 0
