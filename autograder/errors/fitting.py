"""Which shapes an operation that failed was given, and whether shapes broadcast."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from autograder.observation import Failure


def beside(failure: Failure, i: int) -> list[tuple[int, ...]]:
    """The shapes that one operand has to fit: those of the others, or the one it is expanded to."""
    target = re.search(r"Target sizes: \[([\d, ]+)\]", failure.message)
    if target is not None:
        return [tuple(int(n) for n in target[1].split(","))]
    return [o.shape for j, o in enumerate(failure.operands) if j != i]


def fits(shapes: Sequence[Sequence[int]]) -> bool:
    """Whether these shapes broadcast."""
    try:
        torch.broadcast_shapes(*(tuple(s) for s in shapes))
    except (RuntimeError, ValueError):
        return False
    return True
