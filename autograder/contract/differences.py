"""Slopes of a function, measured: central differences in two steps, with the error that they carry.

No step is right for every function, so the error is measured and not assumed. It has three parts:

- *curvature*: what the differences with steps h and 2h disagree by;
- *kinks*: how far the slopes to the left and to the right are apart, beyond what curvature explains (that shrinks with h);
- *noise*: what rounding adds, from high differences of forward along a line (Moré and Wild, Estimating
  Computational Noise, 2011). A forward that computes in float32 inside shows a noise of 1e-8, and steps are longer.

Where the error is larger than the slope nobody can tell, and nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

Values = Callable[[Tensor], Tensor]  # (n,) ↦ (m,), float64

_ROUNDING = 2.0**-53  # of one operation in float64
# A measured error of this share of the slopes is worth a second try with a shorter step.
_LOST = 1e-4
_LONGEST = 0.2  # as a share of the number that is moved
_SAFETY = 4.0  # noise is a standard deviation, and what two steps disagree by a size
_UNSURE = 1e-4  # lines tell nothing where they are off by more than this share of what they measure
_OFF = 1e-8  # what a right gradient is off by on a line, as a share of what is added up there
_COARSE = (
    (torch.bfloat16, 5e-2),
    (torch.float16, 2e-2),
    (torch.float32, 1e-3),
)
_ROUNDED = (
    1.5e-3  # of an output, as a few roundings in float16 leave; what scatters more is a quantiser
)
_FINE = 1e-7  # how far apart noise is looked for: many roundings, and no curvature
_WALKED = 1e-4  # and farther than a step in float64 goes
_ALIKE = 16.0  # how many times as large noise may seem from differences of another order


class Slopes(NamedTuple):
    """Of m outputs along k directions, each (k, m).

    near, far  central differences with the steps h and 2h
    kink       slope on the right less slope on the left, without what curvature explains
    noise      the standard deviation that rounding gives ``near``
    along      the directions (k, n)
    """

    near: Tensor
    far: Tensor
    kink: Tensor
    noise: Tensor
    along: Tensor

    def weighted(self, weights: Tensor, share: float = 0.0) -> tuple[Tensor, Tensor]:
        """(slopes, errors), each (k,), of the outputs' sum with these weights (m,); an error may be inf.

        share  what the function rounds to, as a share of what it adds up, and a way along which it stands still
               does not show
        """
        near, far = self.near @ weights, self.far @ weights
        kink = (self.kink.abs() - _SAFETY * self.noise).clamp(min=0) @ weights.abs()
        noise = _SAFETY * ((self.noise * weights) ** 2).sum(1).sqrt()
        rounding = _SAFETY * share * self.added(weights)
        curved = (
            _SAFETY * (near - far).abs()
        )  # at a jump they are half of what is told, and no number is right
        errors = torch.nan_to_num(curved + kink + noise + rounding, nan=math.inf)
        return near + (near - far) / 3, errors

    def added(self, weights: Tensor) -> Tensor:
        """How much is added up along each direction (k,): where slopes cancel, their sum is smaller."""
        return self.near.abs() @ weights.abs()

    def factor(self, given: Tensor, weights: Tensor) -> float:
        """What a gradient is to be multiplied with to come near to the slopes."""
        mine, slopes = self.along @ given, self.near @ weights
        return float(mine @ slopes / (mine @ mine))

    def bear_out(self, told: Tensor, weights: Tensor, share: float) -> Tensor | None:
        """What the elements of a gradient may be off by; None where it is wrong, or nobody can tell."""
        slopes, errors = self.weighted(weights, share)
        # What is added up, by argument and by output, is large where slopes cancel.
        sizes = torch.maximum((self.along * told).norm(dim=1), (self.near * weights).norm(dim=1))
        apart = (self.along @ told - slopes).abs()
        if not bool(((apart <= errors + _OFF * sizes) & (errors <= _UNSURE * sizes)).all()):
            return None
        of_each, of_all = errors / sizes, errors / self.along.norm(dim=1)
        return of_each.nan_to_num().max() * told.abs() + of_all.max()

    @property
    def doubt(self) -> Tensor:
        """How unsure each direction is (k,): its errors as a share of its slopes."""
        errors = ((self.near - self.far).abs() + self.kink.abs()).sum(1)
        shares = errors / self.near.abs().sum(1).clamp(min=1e-300)
        return torch.nan_to_num(shares, nan=math.inf)


@dataclass(frozen=True)
class Precision:
    """How exactly a function computes.

    dtype  the one that it rounds to inside
    noise  of each output (m,): the standard deviation of its rounding errors; share: as one of the output
    """

    dtype: torch.dtype
    noise: Tensor
    share: float

    @property
    def step(self) -> float:
        """The relative step that balances noise and curvature."""
        return min(_LONGEST, max(self.share, _ROUNDING) ** (1 / 3))


def precision_of(
    values: Values, at: Tensor, known: torch.dtype | None = None, few: bool = False,
    seen: frozenset[torch.dtype] | None = None,
) -> Precision:  # fmt: skip
    """How exactly a function computes around a point.

    known  the dtype that it computes in, if that is known
    seen   dtypes that it makes tensors in: what rounds to fewer digits than these have is a quantiser; None: nobody looked
    few    one look at what scatters is all: calls take long
    """
    line = through(at)

    def beside(apart: float) -> Tensor:
        # Beside the point: an output that jumps there alone (where x == 0) is as exact as all others.
        return torch.stack([values(at + place * apart / 8 * line) for place in range(1, 9)])

    if few:
        rows = beside(_WALKED)
        dtype = known or (torch.float32 if _fits(rows, torch.float32)[1] else torch.float64)
    else:
        dtype = known or computes_in(values, at)
        rows = beside(dict(_COARSE).get(dtype, _FINE))
    size = torch.maximum(rows[0].abs(), rows[-1].abs() if few else values(at).abs())
    noise, inside, still = _scatter(rows), dtype, (rows[1:] == rows[:-1]).any(0)
    if few:
        still[:] = False
    elif (
        dtype == torch.float64
        and (seen is None or torch.float32 in seen)
        and bool((found := _jumps(beside(_WALKED))).any())
    ):
        # A sum in float32 among numbers in float64 jumps now and then; a kink does so on one side alone.
        found = torch.minimum(found, _jumps(beside(-_WALKED)))
        noise = torch.where(found > _ALIKE * noise, found, noise)
    # What stands still over a short way, and follows over a longer one, is rounded inside.
    half = seen is None or bool({torch.float16, torch.bfloat16} & seen)
    rounded = 8 * _ROUNDED if seen and torch.bfloat16 in seen else _ROUNDED
    ways = [*reversed(_COARSE), (torch.bfloat16, 2 * _COARSE[0][1])]
    for coarse, apart in ways if dtype == torch.float64 and bool(still.any()) else ():
        if not (seen is None or torch.float32 in seen if coarse == torch.float32 else half):
            continue
        rows = beside(apart)
        found, moves = _scatter(rows), still & (rows[0] != rows[-1])
        follows = moves & (rows[1:] != rows[:-1]).all(0)
        if 2 * int(follows.sum()) > int(moves.sum()):
            if bool((found <= rounded * size)[follows].double().mean() >= 0.5):
                # Of what does not follow yet, a small number in steps, no more is known than of the others.
                noise = torch.where(still, torch.where(follows, found, found[follows].max()), noise)
                inside = torch.float32 if coarse == torch.float32 else torch.float16
            break
    shares = torch.nan_to_num(noise / size.clamp(min=1e-300), nan=0.0, posinf=0.0)[size > 0]
    usual = float(shares.median()) if shares.numel() else 0.0
    least = _ROUNDING / 2 if dtype == torch.float64 else torch.finfo(dtype).eps / 8
    noise = torch.nan_to_num(noise, nan=0.0, posinf=0.0)
    share = max(usual, least)
    return Precision(inside, torch.maximum(noise, share * size), share)


def _scatter(rows: Tensor) -> Tensor:
    """The standard deviation of what rounding adds to values at equal distances (8, m)."""
    return _by_order(rows).amin(0)


def _by_order(rows: Tensor) -> Tensor:
    """The same (3, m) from differences of the orders 4 to 6: below, curvature shows."""
    found = []
    for order in (4, 5, 6):
        share = math.factorial(order) ** 2 / math.factorial(2 * order)
        found.append((share * (rows.diff(order, dim=0) ** 2).mean(0)).sqrt())
    return torch.stack(found)


def _jumps(rows: Tensor) -> Tensor:
    """What scatters over a longer way; 0 where it is a curve: its differences shrink from order to order."""
    found = _by_order(rows)
    scatters = found.isfinite().all(0) & (found.amax(0) < _ALIKE * found.amin(0))
    return torch.where(scatters, found.amin(0), 0.0)


def through(at: Tensor, seed: int = 0) -> Tensor:
    """A random direction in which each number moves by its own size, more or less."""
    generator = torch.Generator().manual_seed(seed)
    scale = torch.where(at == 0, 1.0, at.abs())
    line = (torch.rand(at.shape, generator=generator, dtype=torch.float64) + 0.5) * scale
    return torch.where(torch.rand(at.shape, generator=generator) < 0.5, -line, line)


def computes_in(values: Values, at: Tensor) -> torch.dtype:
    """The coarsest dtype that has all outputs which follow their argument: those that stay tell nothing.

    A quantiser picks among numbers that somebody gave. It moves in jumps, and seldom at each of a few steps.
    """
    line, found = through(at), torch.float64
    for coarse, apart in reversed(_COARSE):
        near = torch.stack([values(at + place * apart / 3 * line) for place in range(4)])
        fits, told = _fits(near, coarse)
        if not fits and coarse == torch.float32:
            break  # nor does it fit in what is coarser
        found = coarse if told else found
    return found


def _fits(rows: Tensor, coarse: torch.dtype) -> tuple[bool, bool]:
    """Whether a dtype has all outputs that follow their argument, and whether that tells anything."""
    distinct = (rows.sort(0).values.diff(dim=0) != 0).all(0)
    moving = rows[:, distinct & rows.isfinite().all(0)]
    fits = torch.equal(moving.to(coarse).double(), moving)
    # What has few digits of itself, a grid of whole numbers, is in every dtype.
    return fits, fits and _largest_odd(moving) >= 1 / torch.finfo(coarse).eps


def _largest_odd(numbers: Tensor) -> float:
    """The largest odd number that some numbers are times a power of two: for b digits each it is 2^(b-1) or more."""
    whole = (torch.frexp(numbers[numbers != 0].abs()).mantissa * 2.0**53).long()
    return float((whole // (whole & -whole)).max()) if whole.numel() else 0.0


def slopes_at(
    values: Values, at: Tensor, along: Tensor, precision: Precision, eps: float | None = None,
    middle: Tensor | None = None,
) -> Slopes:  # fmt: skip
    """The slopes of a function at a point (n,) along directions (k, n); nan where the function is.

    middle  what the function is at the point, where that is known
    eps   the step; None: what noise and curvature balance at, and where that is too long for the place
          (log near 0), a shorter one
    """
    size = (along * at).abs().amax(1) if len(along) else torch.ones(0, dtype=torch.float64)
    middle = values(at) if middle is None else middle
    if eps is not None:
        return _walked(values, at, middle, along, torch.full_like(size, eps), precision)
    found = _walked(values, at, middle, along, precision.step * size.clamp(min=1.0), precision)
    # An input of 1e-5 has a neighbourhood of its own.
    short = (found.doubt > _LOST) & (size > 0) & (size < 1.0)
    if bool(short.any()):
        again = _walked(values, at, middle, along[short], precision.step * size[short], precision)
        better = again.doubt < found.doubt[short]
        places = short.nonzero().reshape(-1)[better]
        for mine, its in zip(found, again, strict=True):
            mine[places] = its[better]
    return found


def _walked(
    values: Values, at: Tensor, middle: Tensor, along: Tensor, steps: Tensor, precision: Precision
) -> Slopes:
    rows = torch.zeros(4, len(along), len(middle), dtype=torch.float64)
    for row, direction, h in zip(rows.unbind(1), along, steps.tolist(), strict=True):
        left2, left, right, right2 = (values(at + t * h * direction) for t in (-2, -1, 1, 2))
        near, far = (right - left) / (2 * h), (right2 - left2) / (4 * h)
        # Right slope less left slope: h·f″ where smooth, the same number at every step at a kink.
        bent = 2 * (right - 2 * middle + left) / h - (right2 - 2 * middle + left2) / (2 * h)
        # An output that did not change at all has no noise either.
        moved = (right2 != middle) | (left2 != middle) | (right != left)
        noise = torch.where(moved, precision.noise / h, precision.noise / h * (near != 0))
        row[:] = torch.stack((near, far, bent, noise))
    return Slopes._make((*rows, along))


def spread(n: int, most: int) -> Tensor:
    """Which of n elements are moved, in their order: all of them, or ``most`` spread over them."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(n))
    return order[:most].sort().values
