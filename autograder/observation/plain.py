"""Dataclasses from what JSON makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


def from_plain(kind: Any, data: Any, called: Mapping[str, str] | None = None) -> Any:
    """What an annotation says, of what JSON makes of it. Raises TypeError or ValueError.

    called  other names that fields have in the data
    What a later version has besides is passed over; what is not there is as in a new dataclass.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if data is None else from_plain(inside[0], data, called)
    if type(data) in (int, float) and not math.isfinite(data):
        raise ValueError("no number")
    if kind is float and type(data) is int:
        return float(data)
    plain = dict if is_dataclass(kind) else list if origin is tuple else origin or kind
    if plain is not Any and type(data) is not plain:
        raise TypeError(f"{data!r:.80} is a {type(data).__name__}, not a {plain.__name__}")
    if is_dataclass(kind):
        places = {n: (of, (called or {}).get(n, n)) for n, of in get_type_hints(kind).items()}
        there = {
            n: from_plain(of, data[at], called) for n, (of, at) in places.items() if at in data
        }
        return kind(**there)  # type: ignore[operator]
    if origin is tuple:
        return tuple(from_plain(inside[0], each, called) for each in data)
    if origin is dict:
        return {name: from_plain(inside[1], each, called) for name, each in data.items()}
    return data
