"""How forward moves on a line through an argument: in steps, or as its slopes say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple
from autograder.contract.measured import Measured
from autograder.contract.not_finite import finite
from autograder.contract.real_numbers import flat_of, is_differentiable, unflat
from autograder.contract.rounding_noise import precision_of

_NODES = 33  # places on a line through the arguments
_FEWER = 9  # where thousands of numbers are seen at each of them
TINY = 1e-7  # a move that no smooth function takes unnoticed
_FLAT = 0.6  # of all that an output moves on a line: more of it in jumps, and it is flat in between
_JUMPED = 0.1  # of what it moves: less in jumps is beside the point
_WITHIN, _BEYOND = 0.8, 2.0  # how far a line goes, as a share of an argument's numbers
_LEAST_JUMP = 1e-3  # of the largest number; a solver that stops a step earlier jumps by less
_BETWEEN = 20  # lines between an argument's own numbers that are tried
_SEEN = 4000  # numbers of an output that are looked at on a line
ALIKE = 0.5  # the cosine of what backward adds to the derivative and what forward's jumps add


def far_slope(line: Line, place: int, i: int) -> Tensor:
    """The slopes of an output (m,) along one element, over the size of the tensor or its own, both ways."""
    measured, args, at = line.measured, line.args, line.args[line.position].detach()
    size = float(flat_of(at)[i].abs()) if line.reach < 1 else _size(at)
    start = flat_of(as_tuple(measured.values(args))[place])
    total = torch.zeros_like(start)
    for reach in (0.5 * size, line.reach * size):
        for sign in (-1.0, 1.0):
            moved = flat_of(at).clone()
            moved[i] += sign * reach
            with contextlib.suppress(Exception):  # a probability ends at 0 and at 1
                made = measured.moved(args, line.position, unflat(moved, at))[place]
                total += sign * finite(flat_of(made) - start) / (4 * reach)
    return total


def slopes_elsewhere(line: Line, place: int, i: int) -> Iterator[Tensor]:
    """The slopes of an output (m,) along one element, where that is somewhere else on the line."""
    at, tiny = line.args[line.position].detach(), TINY * _size(line.at)
    for t in line.nodes[:: len(line.nodes) // 8]:
        rows = []
        for h in (0.0, tiny):
            moved = flat_of(at).clone()
            moved[i] = flat_of(line.at + t * line.line)[i] + h
            rows.append(flat_of(line.measured.moved(line.args, line.position, unflat(moved, at))[place]))  # fmt: skip
        yield (rows[1] - rows[0]) / tiny


def _size(at: Tensor) -> float:
    return max(float(at.abs().nan_to_num(posinf=1.0).max()), 1e-3)


def reaches(at: Tensor) -> tuple[float, ...]:
    """How far to go, as shares of the size: where all numbers have one sign, as scales have, first within it."""
    one_sign = not at.is_complex() and bool((at > 0).all() | (at < 0).all())
    return (_WITHIN, _BEYOND) if one_sign else (_BEYOND,)


def line_through(measured: Measured, args: Sequence[Any], position: int, reach: float) -> Line:
    """A line on which forward runs: past its own numbers, else between them (probabilities end at 1)."""
    at = args[position].detach()
    # No seed that somebody draws inputs with: their own direction leads through 0.
    generator = torch.Generator().manual_seed(7919 + position)
    line = torch.randn(at.shape, generator=generator, dtype=torch.float64).to(at.dtype)
    far = line / max(float(line.abs().max()), 1e-9) * (at if reach < 1 else _size(at))
    with contextlib.suppress(Exception):
        return Line(measured, args, position, at, reach * far, reach)
    for _ in range(_BETWEEN):
        other = at.reshape(-1)[torch.randperm(at.numel(), generator=generator)].reshape(at.shape)
        made = Line(measured, args, position, (at + other) / 2, (other - at) / 2, reach)
        if bool((made.rows != made.rows[0]).any()):
            break  # nothing is learned where nothing moves
    return made


class Line:
    """Forward along a line through one argument, at places from -1 to 1."""

    def __init__(
        self, measured: Measured, args: Sequence[Any], position: int, at: Tensor, line: Tensor,
        reach: float,
    ):  # fmt: skip
        self.measured, self.args, self.position = measured, args, position
        self.at, self.line, self.reach = at, line, reach
        self.places = [o.numel() for o in self.outputs(0.0)]
        count = _NODES if sum(self.places) < _SEEN // 2 else _FEWER
        self.nodes = torch.linspace(-1.0, 1.0, count, dtype=torch.float64).tolist()
        self.rows = torch.stack([self.values(t) for t in self.nodes])

    def outputs(self, t: float) -> list[Tensor]:
        """Each output in a row; of a large one some thousand numbers, spread over it."""
        made = self.measured.moved(self.args, self.position, self.at + t * self.line)
        rows = [flat_of(o) if is_differentiable(o) else torch.zeros(0) for o in made]
        return [row[:: max(1, len(row) // _SEEN)] for row in rows]

    def values(self, t: float) -> Tensor:
        return torch.cat(self.outputs(t))

    @cached_property
    def _exact(self) -> float:
        """What the outputs round to, as a share of them."""
        at = torch.zeros(1, dtype=torch.float64)
        seen = self.measured.seen
        return precision_of(lambda t: self.values(float(t)), at, seen=seen).share

    @cached_property
    def _moves(self) -> tuple[Tensor, Tensor, Tensor]:
        """From place to place: how far numbers move, how far their slopes would, and what is left."""
        tiny = max(TINY, 100 * self._exact)  # a move beyond all rounding
        near = torch.stack([self.values(t + tiny) for t in self.nodes])
        numbers = (near.isfinite() & self.rows.isfinite()).all(
            0
        )  # what overflows on the way tells nothing
        rows, near = (torch.where(numbers, each, 0.0) for each in (self.rows, near))
        moves, apart = rows.diff(dim=0), self.nodes[1] - self.nodes[0]
        slopes = apart * (near - rows) / tiny
        # A jump that lies between the two by chance is no slope.
        slopes = torch.where(slopes.abs() > 100 * moves.abs().amax(0), 0.0, slopes)
        return moves, slopes, moves - (slopes[1:] + slopes[:-1]) / 2

    @cached_property
    def steps(self) -> tuple[float | None, ...]:
        """How alike backward's gradient and the steps of each output have to be; None: it moves in none."""
        return tuple(map(self._steps, range(len(self.places))))

    def _steps(self, place: int) -> float | None:
        """What an output moves, and its slopes do not, it does in jumps, or on curves too short for the places."""
        moves, slopes, off = (each[:, self._numbers(place)] for each in self._moves)
        moved, smooth, more = (float(each.abs().sum()) for each in (moves, slopes[1:], off))
        if moved > 0 and 1 - smooth / moved >= _FLAT:
            return 0.0
        return ALIKE if more > _JUMPED * max(moved, smooth) > 0 and self.jumps(place) else None

    def _numbers(self, place: int) -> slice:
        first = sum(self.places[:place])
        return slice(first, first + self.places[place])

    def jumps(self, place: int) -> bool:
        """Whether an output jumps where it moves farthest from its slopes: halved to nothing, a stretch keeps that."""
        _, slopes, off = self._moves
        mine = self._numbers(place)
        row, element = divmod(int(off[:, mine].abs().argmax()), self.places[place])
        element += mine.start
        slope = float(slopes[row, element]) / (self.nodes[1] - self.nodes[0])
        (left, right), (low, high) = (
            self.nodes[row : row + 2],
            self.rows[row : row + 2, element].tolist(),
        )
        kept = 0.0
        while right - left > TINY:
            middle = (left + right) / 2
            value = float(self.values(middle)[element])
            half, kept = slope * (middle - left), abs(high - low)
            if abs(value - low - half) > abs(high - value - half):
                right, high = middle, value
            else:
                left, low = middle, value
        least = max(_LEAST_JUMP, 100 * self._exact) * float(self.rows.nan_to_num(posinf=0.0).abs().max())  # fmt: skip
        return abs(high - low) > max(0.75 * kept, least)
