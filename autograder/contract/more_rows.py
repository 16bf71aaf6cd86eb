"""The arguments of a case with more rows: a size that nobody can have prepared for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

TIMES = 4  # as many rows as the case has


def more_rows(
    draws: Sequence[tuple[Any, ...]], reference: Callable[..., Any]
) -> tuple[Any, ...] | None:
    """Several draws of one case, put together along the first dimension of tensors.

    Of the first tensor alone where the reference takes that (x of x @ weight.T), else of all tensors
    (two inputs of one shape); None where it takes neither. Everything else is that of the first draw.
    """
    tensors = [i for i, value in enumerate(draws[0]) if isinstance(value, Tensor) and value.dim()]
    for chosen in (tensors[:1], tensors):
        args = list(draws[0])
        try:
            for i in chosen:
                args[i] = torch.cat([draw[i] for draw in draws])
            with torch.no_grad():
                reference(*args)
        except Exception:  # the reference refuses such shapes, each in its own way
            continue
        if chosen:
            return tuple(args)
    return None


def rows_of(args: Sequence[Any]) -> int:
    """The size of the first dimension of the first tensor that has one; 0 where none has."""
    sizes = (a.shape[0] for a in args if isinstance(a, Tensor) and a.dim())
    return next(sizes, 0)
