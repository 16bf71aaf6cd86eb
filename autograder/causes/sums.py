"""One tensor that was to be summed down to a shape, and what was done to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from torch import Tensor

from autograder.compare import close

MOST_DIMENSIONS = 5  # of more, the subsets are too many


@dataclass(frozen=True)
class Sum:
    """One tensor that was to be summed down to a shape.

    whole  the tensor before the sum
    shape  the shape it was to get
    got    what came out
    """

    whole: Tensor
    shape: tuple[int, ...]
    got: Tensor

    @property
    def leading(self) -> frozenset[int]:
        """The dimensions that broadcasting put in front."""
        return frozenset(range(self.whole.dim() - len(self.shape)))

    @property
    def stretched(self) -> frozenset[int]:
        """The dimensions of size 1 that broadcasting made longer."""
        ahead = len(self.leading)
        return frozenset(
            i + ahead
            for i, n in enumerate(self.shape)
            if n == 1 and self.whole.shape[i + ahead] != 1
        )

    def telling(self, dims: frozenset[int]) -> frozenset[int]:
        """Those of the dimensions whose sum can be told from none."""
        return frozenset(i for i in dims if 0 <= i < self.whole.dim() and self.whole.shape[i] != 1)

    @property
    def summed(self) -> frozenset[int] | None:
        """The dimensions that were summed; None if the numbers are no such sum."""
        every = sorted(self.telling(frozenset(range(self.whole.dim()))))
        if len(every) > MOST_DIMENSIONS or self.got.numel() == 0:
            return None
        if self.got.numel() > 1 and close(self.got, self.whole.sum().expand_as(self.got)):
            return frozenset(every)  # the total in every element
        for count in range(len(every) + 1):
            for dims in combinations(every, count):
                made = self.whole.sum(dims) if dims else self.whole
                bare = self.got.to(made.dtype).squeeze()
                if close(bare, made.squeeze()):
                    return frozenset(dims)
        return None


def folded(sums: Sequence[Sum], what: str, name: str) -> tuple[str, str] | None:
    """All copies taken for new dimensions in front (or behind), by a reshape and one sum."""
    telling = [s for s in sums if s.stretched and s.got.numel() > 1]
    if not telling:
        return None
    for words, made in _FOLDS:
        if all(_is_fold(s, made(s)) for s in sums if s.whole.numel()):
            shape = name if name == "shape" else f"{name}.shape"
            return (
                f"{what} comes out as if reshaped to {words.format(shape=shape)} and summed over the copies: where a 1 in "
                f"{name} was stretched, elements of different places are added.",
                "A stretched dimension lies between others: sum over that very dimension, with keepdim=True. Only new "
                f"dimensions in front hold whole copies of {name}.",
            )
    return None


_FOLDS: tuple[tuple[str, Callable[[Sum], Tensor]], ...] = (
    ("(copies, *{shape})", lambda s: s.whole.reshape(_copies(s), *s.shape).sum(0)),
    ("(*{shape}, copies)", lambda s: s.whole.reshape(*s.shape, _copies(s)).sum(-1)),
)


def _copies(s: Sum) -> int:
    return s.whole.numel() // max(math.prod(s.shape), 1)


def _is_fold(s: Sum, made: Tensor) -> bool:
    return made.shape == s.got.shape and close(s.got, made.to(s.got.dtype))
