"""Questions and answers to and from bytes, without pickle.

In a notebook they stay in one process. When submissions are graded they cross the wall of the box:
JSON for the structure, safetensors for the tensors. Nothing that is read back can run code, sizes are
checked before anything is allocated, and every field of our dataclasses holds what its annotation says:
a submission's process could send anything.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from functools import cache
from typing import Any

import torch
from torch import Tensor

from autograder.observation.observation import (
    Answer,
    BackwardCall,
    Failure,
    Kept,
    Named,
    Observation,
    Question,
)

_CLASSES = {
    c.__name__: c for c in (Question, Failure, Kept, BackwardCall, Answer, Observation, Named)
}
_DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip

_TEXT_LIMIT = 16 * 2**20  # bytes of JSON; the longest we know has 51 000
_LONGEST = (
    20_000  # characters of one text, entries of one list; what a submission prints is cut at 2 000
)
_DEEPEST = 24
_FACTS = {"printed": str, "interrupted": bool, "changed": list, "set_up": bool}
_BARE = ("NoneType", "bool", "int", "str")  # what JSON writes as we do
_PLAIN = (*_BARE, "float", "Tensor", "list", "tuple", "dict", "Named")


class Unreadable(ValueError):
    """Bytes that are no observation: damaged, forged or too large."""


def to_bytes(value: Any) -> bytes:
    """Pack plain data (None, numbers, strings, lists, tuples, dicts, tensors, our dataclasses)."""
    from safetensors.torch import save

    packing = _Packing()
    text = json.dumps(_flatten(value, packing)).encode()
    return len(text).to_bytes(8, "little") + text + save(packing.joined())


def from_bytes(data: bytes, limit: int = 256 * 2**20, expect: Any = None) -> Any:
    """The value that :func:`to_bytes` packed; Unreadable for anything else or above ``limit`` bytes.

    expect  what it must be, as annotations say it; without it, one of our dataclasses or plain data
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
        named = _CLASSES.get(str(tree["$"])) if isinstance(tree, dict) else None
        value = _restore(tree, expect or named or Any, _Unpacking(load(data[8 + size :])))
        facts = value.facts if isinstance(value, Observation) else {}
        for name, kind in _FACTS.items():
            if type(facts.get(name, kind())) is not kind:
                raise Unreadable(f"{name} is no {kind.__name__}")
        if not all(type(each) is str for each in facts.get("changed", ())):
            raise Unreadable("what was changed is not told in words")
        return value
    except Unreadable:
        raise
    except Exception as error:  # whatever a forged message provokes, it means one thing here
        raise Unreadable(f"not an observation: {type(error).__name__}: {error}"[:500]) from error


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
def _fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    """The annotation of each field of a dataclass, and what it has where it is left out."""
    hints, found = typing.get_type_hints(kind), {}
    for each in dataclasses.fields(kind):
        make: Any = each.default_factory
        default = each.default if make is dataclasses.MISSING else make()
        found[each.name] = hints[each.name], default
    return found


def _flatten(value: Any, tensors: _Packing) -> Any:
    name, packed = type(value).__name__, value
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            name, packed = "float", value.hex()
        case Tensor():
            name, packed = "Tensor", tensors.add(value)
        case list() | tuple():
            packed = [_flatten(each, tensors) for each in value]
        case dict():
            name = "dict"
            packed = [[str(key), _flatten(each, tensors)] for key, each in value.items()]
        case _ if dataclasses.is_dataclass(kind := type(value)):
            # Most fields of an answer are as they begin: they need not travel.
            packed = [
                [field, _flatten(given, tensors)]
                for field, (_, default) in _fields(kind).items()
                if type(given := getattr(value, field)) is not type(default)
                or given != default  # of tensors none is a default, nor in one
            ]
        case _:
            raise TypeError(f"{name} is not plain data")
    return {"$": name, "v": packed}


def writable(text: str) -> str:
    """The text without what no file can hold: half a character, which Python can print."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@cache
def _kinds(annotation: Any) -> dict[str, tuple[Any, Any]]:
    """The kinds of data that an annotation allows, by name: each as it is annotated, and what it may hold.

    Of lists and dictionaries what their entries are; of a dataclass its fields. Looking it up takes longer
    than the check.
    """
    if annotation is Any:
        return dict.fromkeys(_PLAIN, (Any, Any)) | _kinds(Named)
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return {n: kind for each in typing.get_args(annotation) for n, kind in _kinds(each).items()}
    name: str = (origin or annotation).__name__
    if name in _CLASSES:
        return {name: (annotation, _fields(annotation))}
    held = (*typing.get_args(annotation), None, None)[name == "dict"]
    found = {name: (annotation, held)}
    # As Python's own annotations have it.
    return found | {"int": (int, None)} if annotation is float else found


def _restore(
    tree: Any, annotation: Any, tensors: _Unpacking, where: Any = "it", depth: int = 0
) -> Any:
    """The value that was flattened, where it is of the annotated type with all that it holds.

    where  its place: that of what holds it, and the name in there
    """
    if depth > _DEEPEST:
        raise Unreadable(f"{_place(where)} is nested too deeply")
    name, value = (tree["$"], tree["v"]) if type(tree) is dict else (type(tree).__name__, tree)
    allowed = _kinds(annotation)
    if (name in _BARE) is (type(tree) is dict) or name not in allowed:
        raise Unreadable(f"{_place(where)} is a {name}, not a {getattr(annotation, '__name__', annotation)}")  # fmt: skip
    if name in ("str", "list", "tuple", "dict") and len(value) > _LONGEST:
        raise Unreadable(f"{_place(where)} has {len(value)} characters or entries; {_LONGEST} are allowed")  # fmt: skip
    if name == "int" and not -(2**63) <= value < 2**63:
        raise Unreadable(f"{_place(where)} is too large")
    if name in _BARE:
        return writable(value) if name == "str" else value
    if name == "float":
        return float.fromhex(value)
    if name == "Tensor":
        return tensors.take(value)
    if type(value) is not list:
        raise Unreadable(f"{_place(where)} is a {name} that is none")
    kind, held = allowed[name]
    if name in ("list", "tuple"):
        found = [_restore(v, held, tensors, (where, i), depth + 1) for i, v in enumerate(value)]
        return found if name == "list" else tuple(found)
    pairs = {_restore(key, str, tensors, (where, "a name")): each for key, each in value}
    if len(pairs) != len(value):
        raise Unreadable(f"{_place(where)} has a name twice")
    of = dict.fromkeys(pairs, (held, None)) if name == "dict" else held
    made = {k: _restore(v, of[k][0], tensors, (where, k), depth + 1) for k, v in pairs.items()}
    return made if name == "dict" else kind(**made)


def _place(where: Any) -> str:
    """A place in words: "it, answers, run:0, kept, 3"."""
    return f"{_place(where[0])}, {str(where[1])[:80]}" if isinstance(where, tuple) else where
