"""A function around a place, as it follows what is moved: all its numbers at once, or each by itself."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differences import Precision, Slopes, Values, slopes_at, spread, through
from autograder.contract.ending import slow

MOST = 1000  # elements that are moved, each with four calls of the function
MOST_NUMBERS = 2_000_000  # slopes that are kept
MOST_BLOCKS = 100  # of a large argument that are asked, where its gradient is wrong somewhere
FEW = 16  # elements that are moved one by one in any case; of more, lines are asked first
_LINES = 2


class Around:
    """A function of n numbers around a place.

    values  the function: where it stops it is nan
    made    what it gives there (m,)
    eps     the step; None: chosen by what is measured
    most    elements that are moved
    """

    def __init__(
        self, values: Values, at: Tensor, made: Tensor, precision: Precision,
        eps: float | None = None, most: int = MOST,
    ):  # fmt: skip
        self.values, self.at, self.made, self.precision = values, at, made, precision
        self.eps = eps
        self.room = max(2, min(most, MOST_NUMBERS // max(1, len(made))))
        self.known: dict[Any, Slopes] = {}

    def gradient(
        self, weights: Tensor, given: Tensor | None, share: float, few: int = FEW
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(the slopes of the weighted outputs, their errors, what they add up), each (n,): errors are infinite of what was not moved.

        given  what backward says they are, where it says something: believed, or a multiple of it, where random
               lines bear it out
        share  what the function rounds to
        few    elements that are moved one by one in any case
        """
        count = len(self.at)
        slopes, errors = torch.zeros_like(self.at), torch.full_like(self.at, math.inf)
        if given is not None and count > few:
            for factor in (1.0, self._block(0, count).factor(given, weights)):
                borne_out = self.borne_out(factor * given, weights, share)
                if not bool(borne_out.isinf().any()):
                    return factor * given, borne_out, given.abs()
            if count > self.room and not slow():
                slopes = given.clone()
                errors = self.borne_out(given, weights, share, MOST_BLOCKS)
        left = errors.isinf().nonzero().reshape(-1)
        places = left[spread(len(left), self.room)]
        along = torch.zeros(len(places), count, dtype=torch.float64)
        along[range(len(places)), places] = 1.0
        moved = self._slopes(tuple(places.tolist()), along)
        slopes[places], errors[places] = moved.weighted(weights, share)
        sizes = slopes.abs()
        sizes[places] = moved.added(weights)
        return slopes, errors, sizes

    def borne_out(self, told: Tensor, weights: Tensor, share: float, most: int = 1) -> Tensor:
        """What the elements of a gradient may be off by; infinite where it is wrong, or nobody can tell.

        most  blocks that are asked: halves of what is wrong, down to single elements
        """
        errors, blocks = torch.full_like(told, math.inf), [(0, len(told))]
        while blocks and most:
            (first, last), most = blocks.pop(), most - 1
            found = self._block(first, last).bear_out(told, weights, share)
            if found is not None:
                errors[first:last] = found[first:last]
            elif last - first > 1:
                middle = (first + last) // 2
                blocks += [(middle, last), (first, middle)]
        return errors

    def _block(self, first: int, last: int) -> Slopes:
        """Lines along which some elements move, all others stay."""
        lines = _LINES if last - first == len(self.at) and not slow() else 1
        along = torch.zeros(lines, len(self.at), dtype=torch.float64)
        for seed, line in enumerate(along):
            line[first:last] = through(self.at, 1 + seed)[first:last]
        return self._slopes(("block", first, last), along)

    def _slopes(self, key: Any, along: Tensor) -> Slopes:
        if key not in self.known:
            self.known[key] = slopes_at(
                self.values, self.at, along, self.precision, self.eps, self.made
            )
        return self.known[key]


def or_nan(values: Values, made: Tensor) -> Values:
    """The same, nan where it stops: beyond its domain (a probability above 1), or in time; 0 for outputs that are not finite."""

    def known(flat: Tensor) -> Tensor:
        with contextlib.suppress(Exception):
            return torch.where(made.isfinite(), values(flat), 0.0)
        return torch.full_like(made, math.nan)

    return known
