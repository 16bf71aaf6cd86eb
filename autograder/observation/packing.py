"""Questions and answers to and from bytes, without pickle; and what annotations say, of what JSON makes of it.

In a notebook they stay in one process. When submissions are graded they cross the wall of the box:
JSON for the structure, and behind it the numbers of its tensors, in their order. Nothing that is read back can run
code, nothing is larger than what came, and every field of our dataclasses holds what its annotation says:
a submission's process could send anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

from autograder.observation.observation import Answer, Named, Observation, Question

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16,
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
    )
}  # fmt: skip
_TEXT_LIMIT = 16 * 2**20  # bytes of JSON; the longest we know has 51 000
_LONGEST = (
    20_000  # characters of one text, entries of one list; a submission's prints are cut at 2 000
)
_DEEPEST = 24
_FACTS = {"printed": str, "interrupted": bool, "changed": list[str], "set_up": bool}
_WRITTEN = {n: n for n in ("NoneType", "bool", "int", "float", "str", "list")} | {
    "tuple": "list",
    "Tensor": "list",
}
_PLAIN = None | bool | float | int | str | list[Any] | dict[str, Any]


class Unreadable(ValueError):
    """Bytes that are no observation: damaged, forged or too large; data that are not what an annotation says."""


def to_bytes(value: Any) -> bytes:
    """Pack plain data (None, numbers, strings, lists, tuples, dicts, tensors, our dataclasses)."""
    numbers: list[bytes] = []
    text = json.dumps(_flatten(value, numbers)).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *numbers])


def _flatten(value: Any, numbers: list[bytes]) -> Any:
    """What JSON has no form for is an object with one name, that of its kind."""
    kind, held = type(value), value
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_flatten(each, numbers) for each in value]
        case tuple():
            held = [_flatten(each, numbers) for each in value]
        case Tensor():
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in _DTYPES or value.is_meta:
                raise TypeError(f"a {value.dtype} tensor on {value.device} cannot be packed")
            whole = value.detach().cpu().resolve_neg().contiguous()
            flat = whole.as_strided((whole.numel(),), (1,))  # one number may have any step
            numbers.append(flat.view(torch.uint8).numpy().tobytes())
            return {"Tensor": [dtype, *value.shape]}
        case dict():
            held = {str(name): _flatten(each, numbers) for name, each in value.items()}
        case _ if is_dataclass(kind):  # most fields are as they begin: they need not travel
            told = (
                (name, getattr(value, name), first) for name, (_, first) in _fields(kind).items()
            )
            held = {n: _flatten(v, numbers) for n, v, f in told if type(v) is not type(f) or v != f}
        case _:
            raise TypeError(f"{kind.__name__} is not plain data")
    return {kind.__name__: held}


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    """The annotation of each field of a dataclass, and what it has where it is left out."""
    hints, found = get_type_hints(kind), {}
    for each in fields(kind):
        make: Any = each.default_factory
        found[each.name] = hints[each.name], each.default if make is MISSING else make()
    return found


def writable(text: str) -> str:
    """The text without what no file can hold: half a character, which Python can print."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def from_bytes(data: bytes, limit: int = 256 * 2**20, expect: Any = None) -> Any:
    """The value that :func:`to_bytes` packed; Unreadable for anything else or above ``limit`` bytes.

    expect  what it must be, as annotations say it; without it, one of our dataclasses or plain data
    """
    if not 8 <= len(data) <= limit:
        raise Unreadable(f"{len(data)} bytes is not a readable observation (limit {limit})")
    size = int.from_bytes(data[:8], "little")
    if size > _TEXT_LIMIT:
        raise Unreadable(f"{size} bytes of structure are more than any observation has")
    reader = _Reader(memoryview(data)[8 + size :])
    try:
        tree = json.loads(data[8 : 8 + size])
        value = reader.read(expect or Question | Answer | Observation | Any, tree)
        for name, kind in _FACTS.items() if isinstance(value, Observation) else ():
            reader.read(kind, value.facts.get(name, kind()))
    except Unreadable:
        raise
    except Exception as error:  # whatever a forged message provokes, it means one thing here
        raise Unreadable(f"not an observation: {type(error).__name__}: {error}"[:500]) from error
    if reader.numbers:
        raise Unreadable("there is more than was told of")
    return value


def from_plain(kind: Any, data: Any, called: Mapping[str, str] | None = None) -> Any:
    """What an annotation says, of what JSON makes of it. Raises TypeError or ValueError.

    called  other names that fields have in the data
    What a later version has besides is passed over; what is not there is as in a new dataclass.
    """
    return _Reader(None, called).read(kind, data)


@cache
def _kinds(annotation: Any, tagged: bool) -> dict[str, tuple[Any, Any]]:
    """The kinds of data that an annotation allows, by name: what is made of each, and what it may hold.

    Looking it up takes longer than the check.
    """
    if annotation is Any:
        annotation = _PLAIN | tuple[Any, ...] | Tensor | Named if tagged else _PLAIN
    inside = get_args(annotation)
    origin: Any = get_origin(annotation) or annotation
    if origin in (UnionType, Union):
        return {name: kind for each in inside for name, kind in _kinds(each, tagged).items()}
    if hasattr(origin, "__dataclass_fields__"):
        return {origin.__name__ if tagged else "dict": (origin, _fields(origin))}
    name = "list" if origin is tuple and not tagged else origin.__name__
    found = {name: (origin, (*inside, None, None)[origin is dict])}
    return found | {"int": (float, None)} if origin is float else found


class _Reader:
    """Makes of data what an annotation says, with all that it holds.

    numbers  those of the tensors that are still to come, of what was flattened: each is taken once, or a short
             message could name a large part many times. None: of what JSON alone tells, which has lists for tuples
    """

    def __init__(self, numbers: memoryview | None, called: Mapping[str, str] | None = None) -> None:
        self.numbers, self.called = numbers, called or {}

    def read(self, annotation: Any, data: Any, depth: int = 0) -> Any:
        name, value, tagged = type(data).__name__, data, self.numbers is not None
        if tagged and type(data) is dict:
            ((name, value),) = data.items()
        if type(value).__name__ != _WRITTEN.get(name, "dict"):
            raise Unreadable(f"a {name} that is none")
        kind, held = _kinds(annotation, tagged).get(name, (None, None))
        if kind is None:
            expected = getattr(annotation, "__name__", annotation)
            raise Unreadable(f"something in it is a {name}, not a {expected}")
        if name == "Tensor":
            return self._tensor(*value)
        if name == "int" and tagged and not -(2**63) <= value < 2**63:
            raise Unreadable("a number that is too large")
        if name in ("int", "float") and not (tagged or math.isfinite(value)):
            raise Unreadable("a number that is none")
        if name in ("NoneType", "bool", "int", "float"):
            return float(value) if kind is float else value
        if tagged and (depth > _DEEPEST or len(value) > _LONGEST):
            raise Unreadable(f"something in it has {len(value)} entries or is nested too deeply")
        if name == "str":
            return writable(value) if tagged else value
        if name in ("list", "tuple"):
            return kind([self.read(held, v, depth + 1) for v in value])
        if kind is not dict:
            places = {each: self.called.get(each, each) for each in held}
            there = {n: at for n, at in places.items() if at in value}
            return kind(
                **{n: self.read(held[n][0], value[at], depth + 1) for n, at in there.items()}
            )
        return {self.read(str, n): self.read(held, v, depth + 1) for n, v in value.items()}

    def _tensor(self, dtype: str, *shape: Any) -> Tensor:
        if not all(type(size) is int and 0 <= size < 2**40 for size in shape) or len(shape) > 16:
            raise Unreadable("a tensor of no shape")
        kind, before = _DTYPES[dtype], self.numbers or b""
        size = math.prod(shape) * kind.itemsize
        if size > len(before):
            raise Unreadable("a tensor that is not there")
        self.numbers = memoryview(before)[size:]
        numbers = bytearray(before[:size])
        return torch.frombuffer(numbers, dtype=kind).reshape(shape) if size else torch.empty(shape, dtype=kind)  # fmt: skip
