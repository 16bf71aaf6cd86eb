"""Questions and answers to and from bytes, without pickle.

In a notebook they stay in one process. When submissions are graded they cross the wall of the box:
JSON for the structure, safetensors for the tensors. Nothing that is read back can run code, and sizes
are checked before anything is allocated.
"""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Named
from autograder.observation import (
    Answer,
    BackwardCall,
    Failure,
    Kept,
    Observation,
    Operand,
    Question,
)
from autograder.schema import DEPTH_LIMIT, conform

_CLASSES = {
    c.__name__: c
    for c in (Question, Operand, Failure, Kept, BackwardCall, Answer, Observation, Named)
}
_DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip

_TEXT_LIMIT = 16 * 2**20  # bytes of JSON; the longest we know has 51 000


class Unreadable(ValueError):
    """Bytes that are no observation: damaged, forged or too large."""


def to_bytes(value: Any) -> bytes:
    """Pack plain data (None, numbers, strings, lists, tuples, dicts, tensors, our dataclasses)."""
    from safetensors.torch import save

    packing = _Packing()
    text = json.dumps(_flatten(value, packing)).encode()
    return len(text).to_bytes(8, "little") + text + save(packing.joined())


def from_bytes(data: bytes, limit: int = 256 * 2**20, expect: type | None = None) -> Any:
    """The value that :func:`to_bytes` packed; Unreadable for anything else or above ``limit`` bytes.

    expect  the dataclass it must be. Whatever it is, every field of every dataclass in it holds what
            its annotation says.
    """
    from safetensors.torch import load

    if not 8 <= len(data) <= limit:
        raise Unreadable(f"{len(data)} bytes is not a readable observation (limit {limit})")
    size = int.from_bytes(data[:8], "little")
    if size > len(data) - 8:
        raise Unreadable("the observation is cut short")
    if size > _TEXT_LIMIT:
        raise Unreadable(f"{size} bytes of structure are more than any observation has")
    try:
        tree = json.loads(data[8 : 8 + size])
        value = _restore(tree, _Unpacking(load(data[8 + size :])))
        if expect is not None and type(value) is not expect:
            raise Unreadable(f"a {type(value).__name__} and not an {expect.__name__}")
        _check(value)
        return value
    except Unreadable:
        raise
    except Exception as error:  # whatever a forged message provokes, it means one thing here
        raise Unreadable(f"not an observation: {type(error).__name__}: {error}"[:500]) from error


def _check(value: Any) -> None:
    """Raise where a field holds anything but what its annotation says: once, from the outside in."""
    if isinstance(value, list | tuple):
        for item in value:
            _check(item)
    elif isinstance(value, dict):
        _check(list(value.values()))
    else:
        kind = type(value)
        conform(value, kind if kind.__name__ in _CLASSES else Any, kind.__name__)
    if isinstance(value, Observation):  # what the judge reads of the facts is as the probe gives it
        for name, wanted in (("printed", str), ("interrupted", bool), ("changed", list[str])):
            if name in value.facts:
                conform(value.facts[name], wanted, name)


class _Packing:
    """The tensors of a value, end to end in one tensor a dtype: an answer has hundreds of small ones."""

    def __init__(self) -> None:
        self._parts: dict[torch.dtype, list[Tensor]] = {}
        self._length: dict[torch.dtype, int] = {}

    def add(self, tensor: Tensor) -> list[Any]:
        """Take a tensor; where it will be found: dtype, first element, shape."""
        if tensor.dtype not in _DTYPES or tensor.is_meta:
            raise TypeError(f"a {tensor.dtype} tensor on {tensor.device} cannot be packed")
        begin = self._length.get(tensor.dtype, 0)
        self._parts.setdefault(tensor.dtype, []).append(tensor.detach().cpu().reshape(-1))
        self._length[tensor.dtype] = begin + tensor.numel()
        return [_name(tensor.dtype), begin, list(tensor.shape)]

    def joined(self) -> dict[str, Tensor]:
        """One tensor for each dtype that occurs."""
        return {_name(dtype): torch.cat(parts) for dtype, parts in self._parts.items()}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class _Unpacking:
    """The joined tensors on the other side; each element is given out once at most.

    Without that, a short message could name one large part many times.
    """

    def __init__(self, joined: dict[str, Tensor]):
        for whole in joined.values():
            if whole.dtype not in _DTYPES or whole.dim() != 1:
                raise Unreadable(f"a {whole.dtype} tensor of {whole.dim()} dimensions")
        self._joined = joined
        self._left = {name: whole.numel() for name, whole in joined.items()}

    def take(self, place: Any) -> Tensor:
        """A copy of one part. Unreadable for a place outside, or when all is given out."""
        name, begin, shape = place
        sizes = [begin, *shape]
        if not all(type(size) is int and 0 <= size < 2**40 for size in sizes) or len(sizes) > 16:
            raise Unreadable("a tensor of no shape")
        count = math.prod(shape)
        self._left[name] -= count
        if self._left[name] < 0 or begin + count > self._joined[name].numel():
            raise Unreadable("a tensor that is not there")
        return self._joined[name][begin : begin + count].reshape(shape).clone()


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """What a field has that is left out, by name; no entry for a field that must be given."""
    found = {}
    for each in dataclasses.fields(kind):
        if each.default is not dataclasses.MISSING:
            found[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            found[each.name] = each.default_factory()
    return found


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return (
        isinstance(default, str | tuple | dict)
        and type(value) is type(default)
        and not value
        and not default
    )


def _flatten(value: Any, tensors: _Packing) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return {"$": "float", "v": value.hex()}
    if isinstance(value, Tensor):
        return {"$": "tensor", "v": tensors.add(value)}
    if isinstance(value, list | tuple):
        return {"$": type(value).__name__, "v": [_flatten(v, tensors) for v in value]}
    if isinstance(value, dict):
        return {"$": "dict", "v": [[str(k), _flatten(v, tensors)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _CLASSES:
        # Most fields of an answer are as they begin: they need not travel.
        kind: Any = type(value)
        defaults = _defaults(kind)
        fields = {
            name: given
            for name, given in vars(value).items()
            if name not in defaults or not _is_default(given, defaults[name])
        }
        return {"$": "class", "c": type(value).__name__, "v": _flatten(fields, tensors)}
    raise TypeError(f"{type(value).__name__} is not plain data")


def writable(text: str) -> str:
    """The text without what no file can hold: half a character, which Python can print."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _restore(tree: Any, tensors: _Unpacking, depth: int = 0) -> Any:
    if depth > DEPTH_LIMIT:
        raise Unreadable("nested too deeply")
    if not isinstance(tree, dict):
        if isinstance(tree, str):
            return writable(tree)
        if tree is None or isinstance(tree, bool | int):
            return tree
        raise Unreadable(f"a bare {type(tree).__name__}")
    kind, value = tree["$"], tree["v"]
    if kind == "float":
        return float.fromhex(value)
    if kind == "tensor":
        return tensors.take(value)
    if kind in ("list", "tuple", "dict") and not isinstance(value, list):
        raise Unreadable(f"a {kind} that is none")
    if kind == "list":
        return [_restore(v, tensors, depth + 1) for v in value]
    if kind == "tuple":
        return tuple(_restore(v, tensors, depth + 1) for v in value)
    if kind == "dict":
        restored = {
            writable(k) if isinstance(k, str) else k: _restore(v, tensors, depth + 1)
            for k, v in value
        }
        if len(restored) != len(value) or not all(isinstance(k, str) for k in restored):
            raise Unreadable("a dict with keys that are no names, or twice the same")
        return restored
    if kind == "class":
        return _CLASSES[tree["c"]](**_restore(value, tensors, depth))
    raise Unreadable(f"unknown kind {kind!r}")
