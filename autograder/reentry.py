"""Ends backward passes that start one another without end, before memory runs out."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

DEEPEST = (
    30  # nested checkpoints need a few; a pass that leads to itself would need infinitely many
)

ENDLESS = "a backward pass starts backward passes without end"


@contextlib.contextmanager
def nesting_limited(deepest: int = DEEPEST) -> Iterator[None]:
    """Raise RecursionError where more than ``deepest`` backward passes run inside one another.

    A backward that differentiates a graph through its own node never comes to its end: Python's
    recursion limit does not count what the engine calls, and the process would be killed.
    """
    engine, name = torch.autograd, "_engine_run_backward"
    original = getattr(engine, name, None)
    if original is None:  # this torch starts backward in a way that cannot be counted
        yield
        return
    depth = 0

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if depth >= deepest:
            raise RecursionError(ENDLESS)
        depth += 1
        try:
            return original(*args, **kwargs)
        finally:
            depth -= 1

    setattr(engine, name, run)
    try:
        yield
    finally:
        setattr(engine, name, original)
