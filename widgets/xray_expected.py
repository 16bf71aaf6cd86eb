"""Where the recorded values of a run are not the right ones, in a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.observation.compare import first_difference
from widgets.trace import Snapshot
from widgets.wording import number, numbers, shape


@dataclass(frozen=True)
class Expected:
    """The right values of a run's first application, where they are known.

    outputs    in forward's order
    gradients  by position of the argument
    second     second derivatives, in the order in which the run asks for them
    nothing    positions of arguments that get no gradient by contract
    """

    outputs: Sequence[Any] = ()
    gradients: Mapping[int, Any] = field(default_factory=dict)
    second: Sequence[Any] = ()
    nothing: frozenset[int] = frozenset()


def differs(mine: Any, right: Any, of: str = "") -> str:
    """ " Expected for `x` is [1, 2]." where a recorded value is not the right one; else ""."""
    if not isinstance(right, Snapshot):
        return ""
    where = f" for `{of}`" if of else ""
    if mine is None:
        missing = right.values is not None and bool(right.values.any())
        return f" Expected{where} is {numbers(right)}." if missing else ""
    if not isinstance(mine, Snapshot):
        return ""
    if mine.shape != right.shape:
        return f" Expected{where} is shape {shape(right)}, not {shape(mine)}."
    if mine.dtype != right.dtype:
        return f" Expected{where} is {right.dtype}, not {mine.dtype}."
    if mine.values is None or right.values is None:
        return ""
    found = first_difference(mine.values, right.values, getattr(torch, right.dtype))
    if found is None:
        return ""
    index, actual, wanted = found
    if numbers(mine) != numbers(right):
        return f" Expected{where} is {numbers(right)}."
    place = f" at {list(index)}" if index else ""
    off = f"{abs(actual - wanted):.1e}"
    return f" Expected{where}{place} is {number(wanted)}, not {number(actual)}: off by {off}."
