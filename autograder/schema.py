"""Whether data from elsewhere is what its annotations say: for what comes out of the box.

A submission's process could send anything. After this, a field that is annotated as a tuple of tensors
is one, a count is an int and no bool, and nothing is larger or deeper than an observation ever is.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any

from torch import Tensor

from autograder.exercise import Named

TEXT_LIMIT = 20_000  # characters of one text; what a submission prints is cut at 2 000
ITEM_LIMIT = 20_000  # entries of one list, tuple or dict
DEPTH_LIMIT = 24
_WHOLE = 2**63


class Mismatch(ValueError):
    """Data that is not what its annotation says; the message names the place and the type."""


def conform(value: Any, annotation: Any, where: str = "value", depth: int = 0) -> None:
    """Raise Mismatch unless the value is of the annotated type, with all that it holds.

    Understands what our dataclasses use: None, bool, int, float, str, Tensor, Any (plain data),
    dataclasses, unions, tuple[T, ...], list[T] and dict[str, T].
    """
    if depth > DEPTH_LIMIT:
        raise Mismatch(f"{where} is nested too deeply")
    if annotation is Any:
        return _plain(value, where, depth)
    origin, args = _parts(annotation)
    if origin in (types.UnionType, typing.Union):
        return _one_of(value, args, where, depth)
    if origin in (tuple, list):
        _is(value, origin, where)
        inner = args[0]
        for i, item in enumerate(value):
            conform(item, inner, f"{where}[{i}]", depth + 1)
        return _not_too_many(value, where)
    if origin is dict:
        _is(value, dict, where)
        return _entries(value, args[1], where, depth)
    if dataclasses.is_dataclass(annotation):
        _is(value, annotation, where)
        for name, inner in fields_of(annotation):  # type: ignore[arg-type]
            conform(getattr(value, name), inner, f"{where}.{name}", depth + 1)
        return
    _simple(value, annotation, where)


@cache
def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """What an annotation is made of; looking it up takes longer than checking a value."""
    return typing.get_origin(annotation), typing.get_args(annotation)


@cache
def fields_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return tuple((f.name, hints[f.name]) for f in dataclasses.fields(kind))


def _is(value: Any, kind: Any, where: str) -> None:
    if type(value) is not kind:
        wanted = getattr(kind, "__name__", kind)
        raise Mismatch(f"{where} is a {type(value).__name__}, not a {wanted}")


def _one_of(value: Any, kinds: tuple[Any, ...], where: str, depth: int) -> None:
    if value is None and type(None) in kinds:
        return
    others = [kind for kind in kinds if kind is not type(None)]
    for kind in others[:-1]:
        try:
            return conform(value, kind, where, depth)
        except Mismatch:
            continue
    conform(value, others[-1], where, depth)


def _simple(value: Any, kind: Any, where: str) -> None:
    if kind is None or kind is type(None):
        _is(value, type(None), where)
    elif kind is Tensor:
        _is(value, Tensor, where)
    elif kind is float and type(value) is int:  # as Python's own annotations have it
        return
    elif kind in (bool, int, float, str):
        _is(value, kind, where)
        if kind is int and not -_WHOLE <= value < _WHOLE:
            raise Mismatch(f"{where} is too large")
        if kind is str and len(value) > TEXT_LIMIT:
            raise Mismatch(f"{where} has {len(value)} characters; {TEXT_LIMIT} are allowed")
    else:
        raise TypeError(f"{kind!r} is no type that data from elsewhere has")


def _plain(value: Any, where: str, depth: int) -> None:
    """Plain data: nothing that our own classes would give a meaning to."""
    if value is None or type(value) in (bool, int, float, str, Tensor):
        if value is not None:
            _simple(value, type(value), where)
    elif type(value) in (list, tuple):
        _not_too_many(value, where)
        for i, item in enumerate(value):
            conform(item, Any, f"{where}[{i}]", depth + 1)
    elif type(value) is dict:
        _entries(value, Any, where, depth)
    elif type(value) is Named:  # a function argument of a question
        conform(value, Named, where, depth)
    else:
        raise Mismatch(f"{where} is a {type(value).__name__}, which is no plain data")


def _entries(value: dict[Any, Any], inner: Any, where: str, depth: int) -> None:
    _not_too_many(value, where)
    for key, item in value.items():
        _simple(key, str, f"a key of {where}")
        conform(item, inner, f"{where}[{key[:80]!r}]", depth + 1)


def _not_too_many(value: Any, where: str) -> None:
    if len(value) > ITEM_LIMIT:
        raise Mismatch(f"{where} has {len(value)} entries; {ITEM_LIMIT} are allowed")
