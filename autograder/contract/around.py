"""A function around a place, as it follows what is moved: all its numbers at once, or each by itself."""

from __future__ import annotations

import contextlib
import math
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differences import Slopes, slopes_at, spread
from autograder.contract.ending import slow
from autograder.contract.rounding_noise import Precision, Values, through

MOST = 1000  # elements that are moved, each with four calls of the function
MOST_NUMBERS = 2_000_000  # slopes that are kept
MOST_BLOCKS = 100  # of a large argument that are asked, where its gradient is wrong somewhere
FEW = 16  # elements that are moved one by one in any case; of more, lines are asked first
_LINES = 2
_OFF = 1e-6  # as a share: what is off by less counts as right


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
        self.kept = 0  # numbers

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
        slopes, errors, sizes = self._unknown(torch.zeros_like(self.at))
        if given is not None and count > few:
            for factor in (1.0, self._factor(given, weights)):
                known = self.borne_out(factor * given, weights, share, 1)
                if not bool(known[1].isinf().any()):
                    return known
        if given is not None and count > self.room and self._mostly(given, weights, share):
            slopes, errors, sizes = self.borne_out(given, weights, share)
        left = errors.isinf().nonzero().reshape(-1)
        places = left[spread(len(left), self.room)]
        moved = self._each(places)
        slopes[places], errors[places] = moved.weighted(weights, share)
        sizes[places] = moved.added(weights)
        return slopes, errors, sizes

    @staticmethod
    def _unknown(told: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return told.clone(), torch.full_like(told, math.inf), told.abs()

    def borne_out(
        self, told: Tensor, weights: Tensor, share: float, most: int = MOST_BLOCKS
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The same as ``gradient`` of what lines bear out, and of elements that are wrong: each is looked for by halves.

        most  lines that are asked
        """
        slopes, errors, sizes = self._unknown(told)
        count, begun, asked = len(told), 0, 0

        def is_right(first: int, last: int) -> bool:
            nonlocal asked
            asked += 1
            line, along = self._block(first, last)
            found = line.bear_out(along, told[first:last], weights, share)
            if found is not None:
                errors[first:last] = found
            return found is not None

        while begun < count and asked < most and not is_right(begun, count):
            # The first element that is wrong, or that nobody can tell, is measured by itself; then what is left.
            first, last = begun, count
            while last - first > 1 and asked < most:
                middle = (first + last) // 2
                first, last = (middle, last) if is_right(first, middle) else (first, middle)
            if last - first == 1:
                moved = self._each(torch.tensor([first]))
                slopes[first], errors[first] = moved.weighted(weights, share)
                sizes[first] = moved.added(weights)
            begun = last
        return slopes, errors, sizes

    def _mostly(self, given: Tensor, weights: Tensor, share: float) -> bool:
        """Whether halves are worth it: one of two elements is right. Where all are wrong, any one shows it."""
        places = spread(len(given), 2)
        slopes, errors = self._each(places).weighted(weights, share)
        return bool(((given[places] - slopes).abs() <= errors + _OFF * slopes.abs()).any())

    def _factor(self, given: Tensor, weights: Tensor) -> float:
        """What a gradient is to be multiplied with to come near to the slopes."""
        found, along = self._block(0, len(given))
        mine, slopes = along @ given, found.near @ weights
        return float(mine @ slopes / (mine @ mine))

    @cached_property
    def _lines(self) -> list[Tensor]:
        return [through(self.at, 1 + seed) for seed in range(_LINES)]

    def _block(self, first: int, last: int) -> tuple[Slopes, Tensor]:
        """Lines (k, last - first) along which some elements move, all others stay, and the slopes there."""
        lines = _LINES if last - first == len(self.at) and not slow() else 1
        along = torch.stack([line[first:last] for line in self._lines[:lines]])
        return self._slopes((first, last, lines), along, [first] * lines), along

    def _each(self, places: Tensor) -> Slopes:
        at = places.tolist()
        return self._slopes((*at,), torch.ones(len(at), 1, dtype=torch.float64), at)

    def _slopes(self, key: Any, along: Tensor, first: list[int]) -> Slopes:
        found = self.known.get(key)
        if found is None:
            found = slopes_at(self.values, self.at, along, first, self.precision, self.eps, self.made)  # fmt: skip
            self.kept += found.near.numel()
            if self.kept <= MOST_NUMBERS or len(along) > 1:
                self.known[key] = found
        return found


def or_nan(values: Values, made: Tensor) -> Values:
    """The same, nan where it stops: beyond its domain (a probability above 1), or in time; 0 for outputs that are not finite."""

    def known(flat: Tensor) -> Tensor:
        with contextlib.suppress(Exception):
            return torch.where(made.isfinite(), values(flat), 0.0)
        return torch.full_like(made, math.nan)

    return known
