"""Every operation of one run with its numbers, and which of them each number was computed from.

Only for a run that has already failed: each tensor is copied before and after each operation.
A number is found again by where it lies in memory, which views of it share.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.modes import PlainMode

LARGEST = 4096  # elements of a tensor; larger ones are not followed
MOST = 2000  # operations

Array = np.ndarray[Any, Any]
_REDUCTIONS = frozenset({
    "sum", "mean", "amax", "amin", "max", "min", "logsumexp", "prod", "norm", "linalg_vector_norm",
    "var", "std",
})  # fmt: skip
_ALONG = frozenset({"_softmax", "_log_softmax", "cumsum"})
_PRODUCTS = {
    "mm": ("self", "mat2"), "bmm": ("self", "mat2"), "addmm": ("mat1", "mat2"),
    "baddbmm": ("batch1", "batch2"), "mv": ("self", "vec"), "dot": ("self", "tensor"),
}  # fmt: skip
_PICKS = {"where": "condition", "masked_fill": "mask"}


@dataclass
class Place:
    """Where a tensor's numbers lay: the storage, and the offset of each in it; with their values."""

    storage: int
    offsets: Array
    values: Array


@dataclass(eq=False)
class Operation:
    """One operation as it ran. ``given`` holds tensors as Places and numbers, by argument name.

    line   the learner's line that called it, or whose derivative it is part of; None: nobody knows
    again  it is part of the derivative of that line, and not called by it
    """

    order: int
    name: str
    given: dict[str, Any]
    made: list[Place] = field(default_factory=list)
    line: int | None = None
    again: bool = False

    @property
    def tensors(self) -> list[Place]:
        """What it was given that is a tensor."""
        return [value for value in self.given.values() if isinstance(value, Place)]

    def result(self, which: int, flat: int) -> float:
        """One element of one of its results."""
        return float(self.made[which].values.reshape(-1)[flat])


@dataclass(frozen=True)
class Number:
    """One number on its way: its value, where it lay, and before which operation it was read."""

    value: float
    storage: int = 0
    offset: int = -1
    before: int = 0


class Operations(PlainMode):
    """Records the operations that run while it is on.

    files  the files of the learner's code
    """

    def __init__(self, files: frozenset[str]) -> None:
        super().__init__()
        self.files = files
        self.all: list[Operation] = []
        self._writers: dict[int, list[tuple[Operation, int]]] = {}
        self._outside: FrameType | None = None
        self._alive: list[Any] = []  # so that no storage gets the address of an earlier one

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if len(self.all) >= MOST:
            return func(*args, **kwargs)
        schema = func._schema
        names = [argument.name for argument in schema.arguments]
        bound = {**dict(zip(names, args, strict=False)), **kwargs}
        given: dict[str, Any] = {}
        for name, value in bound.items():
            for i, leaf in enumerate(value if isinstance(value, list | tuple) else [value]):
                # Dimensions stay together; of a list of tensors each is an argument of its own.
                if isinstance(leaf, Tensor):
                    given[f"{name}[{i}]" if isinstance(value, list | tuple) else name] = leaf
            given.setdefault(name, value)
        known = {
            leaf.untyped_storage()._cdata for leaf in given.values() if isinstance(leaf, Tensor)
        }
        given = {name: placed(leaf) for name, leaf in given.items()}
        result = func(*args, **kwargs)
        operation = Operation(len(self.all) + 1, schema.name.partition("::")[2], given)
        operation.line, operation.again = self._line()
        self.all.append(operation)
        self._alive.append((args, kwargs, result))
        for leaf in tree_leaves(result):
            place = placed(leaf)
            if not isinstance(place, Place):
                continue
            operation.made.append(place)
            if schema.is_mutable or place.storage not in known:  # not merely another view
                written = self._writers.setdefault(place.storage, [])
                written.append((operation, len(operation.made) - 1))
        operation.name = operation.name.removesuffix("_") or operation.name
        return result

    def __enter__(self) -> Any:
        self._outside = sys._getframe(1)  # whoever asks may stand in the learner's file as well
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self._outside = None
        super().__exit__(*error)

    def _line(self) -> tuple[int | None, bool]:
        frame: Any = sys._getframe(2)
        while frame is not None and frame is not self._outside:
            if frame.f_code.co_filename in self.files:
                return frame.f_lineno, False
            frame = frame.f_back
        node: Any = torch._C._current_autograd_node()
        said = "".join((node.metadata if node is not None else {}).get("traceback_") or ())
        for file, line in reversed(re.findall(r'File "([^"]+)", line (\d+)', said)):
            if file in self.files:
                return int(line), True
        return None, True

    # ---- from a number to what it was computed from -----------------------------------------
    def number(self, tensor: Tensor, index: int) -> Number:
        """One element of a tensor that is still alive, as it was at the end."""
        place = placed(tensor)
        assert isinstance(place, Place)
        return _at(place, index, len(self.all) + 1)

    def writer(self, number: Number) -> tuple[Operation, int, int] | None:
        """(operation, which of its results, flat index in it) that wrote a number; None: an input."""
        for operation, which in reversed(self._writers.get(number.storage, [])):
            if operation.order < number.before:
                found = np.flatnonzero(operation.made[which].offsets.reshape(-1) == number.offset)
                if len(found):
                    return operation, which, int(found[0])
        return None

    def sources(self, operation: Operation, which: int, flat: int) -> list[Number]:
        """The numbers that one element of a result was computed from, in the order of the arguments."""
        out, given = operation.made[which].values, operation.given
        index = np.unravel_index(flat, out.shape) if out.shape else ()
        if operation.name in _PRODUCTS:
            return self._factors(operation, index)
        if operation.name in (*_REDUCTIONS, *_ALONG) and isinstance(given.get("self"), Place):
            return self._row(operation, index)
        if operation.name in ("copy", "fill"):
            return [
                self._argument(operation, "src" if operation.name == "copy" else "value", index)
            ]
        picks = given.get(_PICKS.get(operation.name, ""))
        if isinstance(picks, Place) and _broadcasts(picks, out.shape):
            true = bool(_element(picks, index, 0).value)
            name = ("self" if true else "other") if operation.name == "where" else "value"
            keeps = operation.name == "masked_fill" and not true
            return [self._argument(operation, "self" if keeps else name, index)]
        if all(_broadcasts(place, out.shape) for place in operation.tensors):
            return [
                _element(v, index, operation.order) if isinstance(v, Place) else Number(float(v))
                for name, v in given.items()
                if isinstance(v, Place) or (_is_number(v) and name != "alpha")
            ]
        return self._same(operation, operation.result(which, flat))

    def _argument(self, operation: Operation, name: str, index: Sequence[Any]) -> Number:
        value = operation.given.get(name, 0.0)
        if isinstance(value, Place):
            return _element(value, index, operation.order)
        return Number(float(value) if _is_number(value) else 0.0)

    def _row(self, operation: Operation, index: Sequence[Any]) -> list[Number]:
        given = operation.given["self"]
        shape, dims = given.values.shape, operation.given.get("dim")
        dims = [dims] if isinstance(dims, int) else list(dims or range(len(shape)))
        dims = {d % max(1, len(shape)) for d in dims}
        kept = list(index)
        if len(kept) < len(shape):  # keepdim=False
            for d in sorted(dims):
                kept.insert(d, 0)
        at = tuple(slice(None) if d in dims else kept[d] for d in range(len(shape)))
        values, offsets = given.values[at].reshape(-1), given.offsets[at].reshape(-1)
        return [
            Number(float(v), given.storage, int(o), operation.order)
            for v, o in zip(values, offsets, strict=True)
        ]

    def _factors(self, operation: Operation, index: Sequence[Any]) -> list[Number]:
        left, right = (operation.given[name] for name in _PRODUCTS[operation.name])
        if not isinstance(left, Place) or not isinstance(right, Place):
            return []
        whole = slice(None)
        rows: tuple[Any, ...] = (
            (*index[:-2], index[-2], whole) if len(index) > 1 else (*index, whole)
        )
        columns: tuple[Any, ...] = (*index[:-2], whole, index[-1]) if len(index) > 1 else (whole,)
        pairs = zip(
            left.values[rows], left.offsets[rows], right.values[columns], right.offsets[columns],
            strict=True,
        )  # fmt: skip
        found = []
        for a, at_a, b, at_b in pairs:
            found.append(Number(float(a), left.storage, int(at_a), operation.order))
            found.append(Number(float(b), right.storage, int(at_b), operation.order))
        return found

    def _same(self, operation: Operation, value: float) -> list[Number]:
        """For an operation that only moves numbers: the one that came out. Zeros are too many to tell."""
        if math.isfinite(value):
            return []
        for place in operation.tensors:
            flat = place.values.reshape(-1)
            same = np.flatnonzero(np.isnan(flat) if math.isnan(value) else flat == value)
            if len(same):
                return [_at(place, int(same[0]), operation.order)]
        return []


def placed(value: Any) -> Any:
    """A tensor as a Place; anything else, and what is too large to follow, as it is or None."""
    if not isinstance(value, Tensor):
        return value
    if (
        value.is_meta
        or value.is_complex()
        or value.numel() > LARGEST
        or value.layout != torch.strided
    ):
        return None
    offsets = np.full(tuple(value.shape), value.storage_offset(), dtype=np.int64)
    for dim, (size, stride) in enumerate(zip(value.shape, value.stride(), strict=True)):
        shape = [1] * value.dim()
        shape[dim] = size
        offsets = offsets + (np.arange(size) * stride).reshape(shape)
    values = value.detach().to("cpu", torch.float64, copy=True).numpy()
    return Place(value.untyped_storage()._cdata, offsets, values)


def _at(place: Place, flat: int, before: int) -> Number:
    return Number(
        float(place.values.reshape(-1)[flat]),
        place.storage,
        int(place.offsets.reshape(-1)[flat]),
        before,
    )


def _element(place: Place, index: Sequence[Any], before: int) -> Number:
    """The element that meets ``index`` of a result that the tensor is broadcast to."""
    shape = place.values.shape
    tail = index[len(index) - len(shape) :] if shape else ()
    at = tuple(0 if size == 1 else int(i) for size, i in zip(shape, tail, strict=True))
    return Number(float(place.values[at]), place.storage, int(place.offsets[at]), before)


def _broadcasts(place: Place, shape: tuple[int, ...]) -> bool:
    mine = place.values.shape
    return len(mine) <= len(shape) and all(
        a in (1, b) for a, b in zip(reversed(mine), reversed(shape), strict=False)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
