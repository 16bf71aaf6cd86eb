"""Whether backward leads where the steps of forward lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws, as_tuple, draws_of
from autograder.contract.measured import Measured, Run
from autograder.contract.not_finite import finite
from autograder.contract.real_numbers import all_flat, flat_of, is_differentiable
from autograder.contract.steps import (
    ALIKE,
    TINY,
    Line,
    far_slope,
    line_through,
    reaches,
    slopes_elsewhere,
)
from autograder.observation.compare import close

_TIMES = 24  # that a forward which draws random numbers is asked
_ASKED = 4  # upstream gradients of each output
_AS_FAR = (
    0.25  # what a factor of the derivative may be apart from what jumps add, as a share of that
)
_ONE_FACTOR = 1e-4  # what numbers that are one factor of others are off by, as measured
_MOST, _LEAST = 64, 8  # elements that are moved far: of a large tensor fewer,
_EFFORT = 10**7  # so that about as many numbers are computed for it


class Steps:
    """How forward steps around some arguments, and how backward's gradients follow that.

    turned  positions of gradients that lead away from the steps
    masked  of those that lead where they do, and are forward's slope between jumps but for where it stands still
    """

    def __init__(self, measured: Measured, own: Measured, args: Sequence[Any]):
        self.measured, self.own, self.args = measured, own, args
        self._found: dict[int, frozenset[int]] = {}
        self._lines: dict[int, list[Line]] = {}
        self.turned: set[int] = set()
        self.masked: set[int] = set()

    @cached_property
    def run(self) -> Run:
        run = self.measured.run(tuple(self.args))
        run.forward()
        return run

    def led(self, position: int) -> frozenset[int]:
        if position not in self._found:
            self._found[position] = self._leading(position)
        return self._found[position]

    def _leading(self, position: int) -> frozenset[int]:
        """The outputs that jump along an argument, where backward's gradient of one of them leads as its jumps do."""
        lines = self._through(position)
        places = list(filter(self._differentiable, range(len(self.run.outputs))))
        stepping = {k: line for line in reversed(lines) for k in places if line.steps[k] is not None}  # fmt: skip
        leads, turns, jumping, masks = False, False, set[int](), set[bool | None]()
        for place in places if stepping else ():
            line = stepping.get(place)
            needed = None if line is None else line.steps[place]
            weights, added, slopes, jumped = self._on_the_whole(position, place, line)
            if not bool(added.any()):
                continue
            alike, apart = _likeness(jumped, added)
            # A factor of the derivative leads nowhere else, but as far as jumps do; of a single number any number is one.
            factor = max(len(added), len(weights)) > 1 and _is_multiple(added, slopes)
            if factor and apart > _AS_FAR:
                continue
            masks.add(self._mask(line, place, weights, slopes, added) if needed else None)
            if False in masks:
                return frozenset()
            leads |= needed is not None and alike >= needed
            turns |= needed is not None and -alike >= max(needed, ALIKE)
            if needed is not None or any(line.jumps(place) for line in lines):
                jumping.add(place)
        if turns and not leads:
            self.turned.add(position)
        if masks == {True}:
            self.masked.add(position)
        return frozenset(jumping) if leads else frozenset()

    def _mask(
        self, line: Line | None, place: int, weights: Tensor, slopes: Tensor, added: Tensor
    ) -> bool | None:
        """Of a forward with slopes between its jumps: whether backward is its derivative but for a mask that may be meant.

        None where it is no slope that forward has. It may be meant where forward stands still, or where all is stopped.
        """
        given, least = slopes + added, TINY * max(slopes.abs().max(), added.abs().max())
        differs, follows = ((each.abs() > least).any(1) for each in (added, slopes))
        if not bool((differs & follows).any()) or not bool((given.abs() > least).any()):
            return True
        assert line is not None
        for i in differs.nonzero()[:_LEAST, 0].tolist():
            if not any(
                bool(((elsewhere @ weights - given[i]).abs() <= _ONE_FACTOR * weights.abs().max()).all())
                for elsewhere in (torch.zeros(len(weights), dtype=torch.float64), *slopes_elsewhere(line, place, i))
            ):  # fmt: skip
                return None
        return False

    def interpolates(self, position: int) -> bool:
        """Whether backward is what forward changes by on the way that the upstream gradient leads, by an argument's length.

        Vlastelica and others, Differentiation of Blackbox Combinatorial Solvers, 2020.
        """
        at, made = self.args[position], self.run.outputs[0]
        ways = [float(a) for a in self.args if isinstance(a, int | float) and a] + [1.0]
        if len(self.run.outputs) > 1 or made.shape != at.shape:
            return False
        pairs = []
        for grads in upstreams(self.run.outputs, 0):
            (given,) = self.own.gradients(self.args, [position], grads)
            moved = [
                self.measured.moved(self.args, position, at + way * grads[0])[0] for way in ways
            ]
            pairs.append(
                (given, torch.stack([(m - made) / way for m, way in zip(moved, ways, strict=True)]))
            )
        given, found = (
            torch.stack(each, dim)
            for each, dim in zip(zip(*pairs, strict=True), (0, 1), strict=True)
        )
        return bool(given.any()) and any(
            close(given, sign * each) for each in found for sign in (1, -1)
        )

    def _on_the_whole(
        self, position: int, place: int, line: Line | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What ``_added`` gives, and what jumps add (nan where nobody looked), on average over what forward draws."""
        found = []
        for draws in self.draws:
            self.measured.draws = self.own.draws = draws
            vars(self).pop("run", None)
            weights, added, slopes = self._added(position, place)
            jumped = torch.full_like(added, torch.nan)
            if line is not None:
                most = min(_MOST, max(_LEAST, _EFFORT // (4 * max(1, len(added)))), len(added))
                chosen = (
                    added.abs().sum(1).topk(most).indices
                    if len(self.draws) == 1
                    else torch.arange(len(added))[:most]
                )
                far = torch.stack([far_slope(line, place, i) for i in chosen.tolist()]) @ weights
                jumped[chosen] = far - slopes[chosen]
            found.append((weights, added, slopes, jumped))
        return tuple(torch.stack(each).mean(0) for each in zip(*found, strict=True))  # type: ignore[return-value]

    @cached_property
    def draws(self) -> list[Draws | None]:
        """What forward draws: as in the question, or, where its outputs are others for other numbers, many times."""
        first, many = (
            self.measured.draws,
            [draws_of(f"nature {k}", apart=True) for k in range(_TIMES)],
        )
        made = []
        for draws in many[:4]:
            self.measured.draws = draws
            made.append(all_flat(as_tuple(self.measured.values(self.args))))
        self.measured.draws = first
        return [first] if all(torch.equal(finite(m), finite(made[0])) for m in made) else [*many]

    def stands_still(self, position: int) -> bool:
        return all(bool((line.rows == line.rows[0]).all()) for line in self._through(position))

    def _through(self, position: int) -> list[Line]:
        """Lines along an argument, each as far as some numbers reach; measured once."""
        if position not in self._lines:
            ways = reaches(self.args[position])
            self._lines[position] = [line_through(self.measured, self.args, position, way) for way in ways]  # fmt: skip
        return self._lines[position]

    def _differentiable(self, place: int) -> bool:
        return is_differentiable(self.run.outputs[place])

    def _added(self, position: int, place: int) -> tuple[Tensor, Tensor, Tensor]:
        """For some upstream gradients of one output (m, k): what backward adds to the derivative, and that (n, k).

        One upstream gradient alone may lead somewhere by chance.
        """
        weights, more, slopes = [], [], []
        for grads in upstreams(self.run.outputs, place):
            (given,) = map(finite, self.own.gradients(self.args, [position], grads))
            (slope,) = map(finite, self.run.gradients([position], grads))
            apart, error = (given - slope).abs(), self.run.errors[position]
            off = bool((apart > error + TINY * slope.abs()).any())
            weights.append(flat_of(grads[place]))
            more.append((flat_of(given) - flat_of(slope)) * off)
            slopes.append(flat_of(slope))
        return torch.stack(weights, 1), torch.stack(more, 1), torch.stack(slopes, 1)


def _likeness(jumped: Tensor, added: Tensor) -> tuple[float, float]:
    """What backward adds to the derivative of an output, and what jumps add: their cosine, and how far they are apart."""
    looked = ~jumped.isnan().any(1)
    jumped, added = jumped[looked], added[looked]
    sizes = float(jumped.norm() * added.norm())
    if sizes == 0:
        return 0.0, 1.0
    return float((jumped * added).sum()) / sizes, float((added - jumped).norm() / jumped.norm())


def upstreams(outputs: Sequence[Any], place: int) -> Iterator[list[Tensor]]:
    """Some upstream gradients of one output, the same in each check; 0 for all others."""
    generator = torch.Generator().manual_seed(4177 + place)
    for _ in range(_ASKED):
        drawn = torch.randn(outputs[place].shape, generator=generator, dtype=torch.float64)
        drawn = torch.where(outputs[place].isfinite(), drawn, 0.0)
        yield [
            drawn.to(o.dtype) if i == place else torch.zeros_like(o) for i, o in enumerate(outputs)
        ]


def _is_multiple(numbers: Tensor, of: Tensor) -> bool:
    """Whether some numbers are one factor times others."""
    factor = (numbers * of).sum() / (of * of).sum()
    return bool((numbers - factor * of).norm() <= _ONE_FACTOR * numbers.norm())
