"""once_differentiable: what a backward does with that decorator is compared with what it does without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.autograd.function import once_differentiable

# The code that every backward has which the decorator made.
_ONCE = once_differentiable(lambda ctx: None).__code__


def without_once_differentiable(classes: Iterable[type]) -> list[tuple[type, str, Any]]:
    """What ``calls.patched`` takes to run each backward without that decorator; [] where none has it."""
    found = []
    for cls in classes:
        for name in ("backward", "vjp"):
            wrapper = getattr(cls, name, None)
            inner = getattr(wrapper, "__wrapped__", None)
            if inner is not None and getattr(wrapper, "__code__", None) is _ONCE:
                found.append((cls, name, staticmethod(getattr(inner, "__func__", inner))))
    return found
