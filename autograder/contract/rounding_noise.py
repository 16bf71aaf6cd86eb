"""How exactly a function computes: the dtype that it rounds to inside, and the noise that this gives its outputs.

Noise is read off high differences of the function along a line (Moré and Wild, Estimating Computational Noise, 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Values = Callable[[Tensor], Tensor]  # (n,) ↦ (m,), float64

_ROUNDING = 2.0**-53  # of one operation in float64
_LONGEST = 0.2  # as a share of the number that is moved
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
_CHANCE = 1e-2  # of the largest output: what scatters more is not rounded
_UNLIKE = 4.0  # times as large from one order as from another: noise seldom is, and curves are
_ALIKE = 16.0  # how many times as large noise may seem from differences of another order


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
        rows = beside(_WALKED / 10)
        dtype = known or (torch.float32 if _fits(rows, torch.float32)[1] else torch.float64)
    else:
        dtype = known or computes_in(values, at)
        rows = beside(dict(_COARSE).get(dtype, _FINE))
    size = torch.maximum(rows[0].abs(), rows[-1].abs() if few else values(at).abs())
    noise, inside, still = _scatter(rows), dtype, (rows[1:] == rows[:-1]).any(0)
    curves = _by_order(rows).amax(0) > _UNLIKE * noise
    if dtype == torch.float64 and float(curves.double().mean()) > (0.5 if few else 0.0):
        finer = _scatter(beside(_FINE / 1000))
        noise = torch.where(curves & (_ALIKE * finer < noise), finer, noise)
    if few:
        still[:] = False
    elif (
        dtype == torch.float64
        and (seen is None or torch.float32 in seen)
        and bool((found := _jumps(beside(_WALKED))).any())
    ):
        # A sum in float32 among numbers in float64 jumps now and then; a kink does so on one side alone, and a wave
        # is a curve over a shorter way, or bends over the shortest.
        found = torch.minimum(found, _jumps(beside(-_WALKED / 10)))
        bends = (rows.diff(2, dim=0).abs().amax(0) - _ALIKE * noise) * (_WALKED / _FINE) ** 2
        noise = torch.where(found > torch.maximum(_ALIKE * noise, bends), found, noise)
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
    noise = torch.maximum(noise, share * size)
    # So much is no rounding: how forward follows its arguments is too fine for any of these ways.
    largest = float(size.nan_to_num(posinf=0.0).max()) if size.numel() else 0.0
    noise[(noise > _CHANCE * largest) | (usual > _CHANCE)] = math.inf
    return Precision(inside, noise, share)


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
