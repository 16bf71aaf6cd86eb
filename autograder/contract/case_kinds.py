"""Cases of one kind: arguments that take a Function through the same branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from autograder.observation.observation import Named

_LEFT_OUT = "left out"


def one_of_each_kind(cases: Mapping[int, tuple[Any, ...]]) -> set[int]:
    """Of the cases with arguments of the same types and flags, the one with most dimensions.

    Not of all such kinds, but of as many as it takes to have every type and flag of each argument.

    cases  arguments by the number of the case
    Not one without any: a 0-d tensor on the CPU may meet tensors on every device.
    """
    best: dict[tuple[Any, ...], tuple[int, int]] = {}
    for i, args in cases.items():
        dimensions = sum(a.dim() for a in args if isinstance(a, Tensor))
        kind = tuple(map(_type_or_flag, args))
        if kind not in best or dimensions > best[kind][0]:
            best[kind] = dimensions, i
    return {best[kind][1] for kind in _covering(list(best))}


def _covering(kinds: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Some of the kinds, in which every argument has each of its types and flags, or is left out.

    Each argument decides about branches of its own; all combinations are seen by the ordinary runs.
    """
    most = max(map(len, kinds), default=0)
    left = {kind: {*enumerate((*kind, *[_LEFT_OUT] * (most - len(kind))))} for kind in kinds}
    chosen, missing = [], set().union(*left.values())
    while missing:
        kind = max(left, key=lambda each: len(left[each] & missing))
        chosen.append(kind)
        missing -= left[kind]
    return chosen


def stands_for(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether arguments differ from others in the sizes and values of their tensors at most.

    With as many dimensions, or more than two.
    """
    return len(some) == len(others) and all(
        a.dtype == b.dtype and a.dim() >= min(b.dim(), 3)
        if isinstance(a, Tensor) and isinstance(b, Tensor)
        else type(a) is type(b) and a == b
        for a, b in zip(some, others, strict=True)
    )


def _type_or_flag(value: Any) -> Any:
    """What may decide which branch of a Function runs: a flag itself, of other arguments the type.

    None stands for an argument that is left out.
    """
    if isinstance(value, Tensor):
        return value.dtype
    if value is None:
        return _LEFT_OUT
    return value if isinstance(value, bool | str | Named) else type(value)
