"""Who still holds a tensor that should be gone: looked up only where one is left, for it takes long."""

from __future__ import annotations

import gc
import weakref
from types import FrameType
from typing import Any


def left_of(reference: weakref.ref[Any]) -> str:
    """What is left of a tensor whose storage is still there.

    "copy"    the tensor itself is gone: a detached one shares its storage
    "itself"  it is there, alone or in a tuple, and no Python object holds that: the graph does
    "held"    it is there, in a list, a dict or another object
    """
    tensor = reference()
    if tensor is None:
        return "copy"
    holders = _holders(tensor)
    while holders:
        if type(holders[-1]) is not tuple or _holders(holders[-1], holders):
            return "held"
        holders.pop()
    return "itself"


def _holders(value: Any, besides: Any = None) -> list[Any]:
    """What refers to it, without the frames of this question."""
    found = gc.get_referrers(value)
    return [each for each in found if each is not besides and not isinstance(each, FrameType)]
