"""Slopes of a function, measured: central differences in two steps, with the error that they carry.

No step is right for every function, so the error is measured and not assumed. It has three parts:

- *curvature*: what the differences with steps h and √3·h disagree by;
- *kinks*: how far the slopes to the left and to the right are apart, beyond what curvature explains (that shrinks with h);
- *noise*: what rounding adds. A forward that computes in float32 inside shows a noise of 1e-8, and steps are longer.

Two differences that disagree may both be far off: of sin(1e6·x) a step of 1e-5 sees nothing but noise. So where they
do, steps are shortened until they agree, or shrink as differences that converge do (Ridders, 1982). What does neither
has no error that anybody knows, and nothing is said; nor where the error is larger than the slope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from autograder.contract.rounding_noise import Precision, Values

# Times as far is the second step: where a wave is back at its start, no multiple of it is another one.
_FAR = 3**0.5
_AGREE = 1e-6  # what two steps disagree by, as a share of a slope: more is worth a try with a shorter step
_BESIDE = 1e-8  # as a share of the usual slope: less is beside the point
_SHORTER, _TRIES = 64.0, 4  # times
_SHRINKS = 8.0  # times as small is what steps disagree by where differences converge, at least: in theory _SHORTER²
_SAME = 1e-3  # as a share: how alike moves of a jump are
_EDGE = 1e-8  # of the number that is moved: within less it is an eps that makes a curve of a jump
_SAFETY = 4.0  # noise is a standard deviation, and what two steps disagree by a size
_UNSURE = 1e-4  # lines tell nothing where they are off by more than this share of what they measure
_OFF = 1e-8  # what a right gradient is off by on a line, as a share of what is added up there


class Slopes(NamedTuple):
    """Of m outputs along k directions, each (k, m).

    near, far    central differences with the steps h and √3·h
    bend, bends  slope on the right less slope on the left, with both steps
    noise        the standard deviation that rounding gives ``near``; infinite where steps never agreed
    """

    near: Tensor
    far: Tensor
    bend: Tensor
    bends: Tensor
    noise: Tensor

    @property
    def kink(self) -> Tensor:
        """Slope on the right less slope on the left, without what curvature explains: that grows with the step."""
        return (_FAR * self.bend - self.bends).abs() / (_FAR - 1)

    def weighted(self, weights: Tensor, share: float = 0.0) -> tuple[Tensor, Tensor]:
        """(slopes, errors), each (k,), of the outputs' sum with these weights (m,); an error may be inf.

        share  what the function rounds to, as a share of what it adds up, and a way along which it stands still
               does not show
        """
        near, far = self.near @ weights, self.far @ weights
        kink = (self.kink - _SAFETY * self.noise).clamp(min=0) @ weights.abs()
        # Nothing is known of an output that nobody asks for, and nothing is lost.
        squares = ((self.noise * weights) ** 2).nan_to_num(nan=0.0, posinf=math.inf)
        noise = _SAFETY * squares.sum(1).sqrt()
        rounding = _SAFETY * share * self.added(weights)
        # At a jump they are half of what is told, and no number is right.
        curved = _SAFETY * (near - far).abs()
        errors = torch.nan_to_num(curved + kink + noise + rounding, nan=math.inf, posinf=math.inf)
        return near + (near - far) / (_FAR**2 - 1), errors

    def added(self, weights: Tensor) -> Tensor:
        """How much is added up along each direction (k,): where slopes cancel, their sum is smaller."""
        return self.near.abs() @ weights.abs()

    def bear_out(self, along: Tensor, told: Tensor, weights: Tensor, share: float) -> Tensor | None:
        """What elements of a gradient (w,) may be off by, of slopes along directions (k, w); None where it is wrong, or nobody can tell."""
        slopes, errors = self.weighted(weights, share)
        # What is added up, by argument and by output, is large where slopes cancel.
        sizes = torch.maximum((along * told).norm(dim=1), (self.near * weights).norm(dim=1))
        apart = (along @ told - slopes).abs()
        if not bool(((apart <= errors + _OFF * sizes) & (errors <= _UNSURE * sizes)).all()):
            return None
        of_each, of_all = errors / sizes, errors / along.norm(dim=1)
        return of_each.nan_to_num().max() * told.abs() + of_all.max()

    @property
    def apart(self) -> Tensor:
        """What two steps disagree by (k, m), of slopes, or of how these differ from side to side.

        That stays as it is at a kink, and grows with the step on a curve: neither less nor more on anything that has slopes.
        """
        bend, bends = self.bend.abs(), self.bends * self.bend.sign()
        odd = torch.maximum(bend - bends, bends - _FAR * bend)
        return torch.maximum((self.near - self.far).abs(), odd).nan_to_num(
            nan=math.inf, posinf=math.inf
        )

    @property
    def off(self) -> Tensor:
        """What each slope may be off by (k, m), where steps converge."""
        return (_SAFETY * (self.apart + self.noise) + self.kink).nan_to_num(
            nan=math.inf, posinf=math.inf
        )

    def agrees(self, usual: float) -> Tensor:
        """Where the steps agree, or disagree by noise alone (k, m)."""
        alike = _AGREE * self.near.abs() + 2 * _SAFETY * self.noise + _BESIDE * usual
        return self.apart <= alike


def slopes_at(
    values: Values, at: Tensor, along: Tensor, first: Sequence[int], precision: Precision,
    eps: float | None = None, middle: Tensor | None = None,
) -> Slopes:  # fmt: skip
    """The slopes of a function at a point (n,) along directions (k, w), each from its ``first`` element on; nan where the function is.

    middle  what the function is at the point, where that is known
    eps   the step; None: what noise and curvature balance at, and where that is too long for the place
          (log near 0), shorter ones
    """
    middle = values(at) if middle is None else middle
    width = along.shape[1]
    # How far a direction leads until numbers are as large again: of an element by itself its size.
    size = torch.tensor([float(at[f : f + width].abs().max() / d.abs().max()) for f, d in zip(first, along, strict=True)], dtype=torch.float64)  # fmt: skip
    steps = precision.step * size.clamp(min=1.0) if eps is None else torch.full_like(size, eps)

    def walked(rows: Tensor) -> Slopes:
        places = [
            (first[row], along[row], h)
            for row, h in zip(rows.tolist(), steps[rows].tolist(), strict=True)
        ]
        return _walked(values, at, middle, places, precision)

    best = walked(torch.arange(len(along)))
    if eps is not None:
        return best
    largest = best.near.abs().nan_to_num(posinf=0.0)
    usual = float(largest.amax(1).median()) if largest.numel() else 0.0
    unknown = ~(best.agrees(usual) | middle.isnan())
    apart, shrinks = best.apart, torch.zeros_like(unknown)
    # What moves by the same over any distance jumps: within so little, no slope is one.
    jumps = (best.near - _FAR * best.far).abs() <= _SAME * best.near.abs()
    for _ in range(_TRIES):
        rows = unknown.any(1).nonzero().reshape(-1)
        if not len(rows):
            break
        # An input of 1e-5 has a neighbourhood of its own.
        own = torch.where(size > 0, precision.step * size, math.inf)
        steps = torch.minimum(steps / _SHORTER, own)
        before, finer = Slopes._make(each[rows] for each in best), walked(rows)
        # What moves over longer distances stands still over short ones because it is rounded.
        finer.noise[:] = torch.where(before.near != 0, precision.noise / steps[rows, None], finer.noise)  # fmt: skip
        shrunk = finer.apart <= apart[rows] / _SHRINKS
        steep = finer.near.abs() > 0.1 * before.near.abs()
        steep &= jumps[rows] & (steps / size.clamp(min=1.0) < _EDGE)[rows, None]
        known = (finer.agrees(usual) | (shrunk & shrinks[rows])) & ~steep
        fits = (finer.near - before.near).abs() <= finer.off + before.off
        better = known & ((finer.off < before.off) | ~fits)
        for mine, its, theirs in zip(best, finer, before, strict=True):
            mine[rows] = torch.where(better, its, theirs)
        unknown[rows] &= ~known
        apart[rows], shrinks[rows] = finer.apart, shrunk
    best.noise[unknown] = math.inf
    return best


def _walked(
    values: Values, at: Tensor, middle: Tensor, places: Sequence[tuple[int, Tensor, float]], precision: Precision
) -> Slopes:  # fmt: skip
    """Slopes along directions, each from an element on, with a step of its own."""
    rows = torch.zeros(5, len(places), len(middle), dtype=torch.float64)
    for row, (first, direction, h) in zip(rows.unbind(1), places, strict=True):

        def moved(
            t: float, first: int = first, direction: Tensor = direction, h: float = h
        ) -> Tensor:
            there = at.clone()
            there[first : first + len(direction)] += t * h * direction
            return values(there)

        left2, left, right, right2 = map(moved, (-_FAR, -1, 1, _FAR))
        near, far = (right - left) / (2 * h), (right2 - left2) / (2 * _FAR * h)
        # h·f″ where smooth, the same number at every step at a kink.
        bend, bends = (right - 2 * middle + left) / h, (right2 - 2 * middle + left2) / (_FAR * h)
        # An output that did not change at all has no noise either.
        still = (right2 == middle) & (left2 == middle) & (right == left)
        row[:] = torch.stack((near, far, bend, bends, torch.where(still, 0.0, precision.noise / h)))
    return Slopes._make(rows)


def spread(n: int, most: int) -> Tensor:
    """Which of n elements are moved, in their order: all of them, or ``most`` spread over them."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(n))
    return order[:most].sort().values
