"""Where backward runs one operation at several points of a line, as difference quotients do.

Of forward, of a part of it, or of a formula that stands nowhere else; however wide the steps are and however they
are written: with minus signs, as one matrix product, as a convolution. A derivative written by hand needs each of its
operations at one point, or at the points where forward has it.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from autograder.running.operation_runs import Results, Run, has_numbers

_COPIES = 64  # points of one kind that are compared
_SAME = 1e-10  # of a number, and beside it
_WHOLE = 1e-9
_STRAIGHT = 1e-12  # what the cosine of an angle may be off by
_MIDDLE = 1e-6  # of a step
_NEAR = 1e-7  # of a point; quotients with shorter steps are inexact, and seen by that
_BENT = 1e-7  # of the range of results, around one point
_CURVED = 1e-5  # the same along a line, which may be off by an angle of 1e-6 itself
_ROUNDING = 4e-15  # of results
_FAR = 1e6  # numbers beside which others are lost, and everything lies on a line
_STEPS = 1e-10, 1e-2  # of a quotient that is short, from and to
_FEW = 4  # points of a line; with fewer that are not symmetric no quotient has all digits
_NUMBERS = 3  # of a point; two are on a line more often
_SHADOW = 8  # numbers that stand for those of a point, which would be many

Forward = Callable[..., Any]


def evaluated_elsewhere(forward: Forward, args: Sequence[Any], seen: Sequence[Run]) -> bool:
    """Whether one operation ran a short step beside another run, or at points of a line that forward does not have and curves there."""
    ran = [run for run in seen if run.given]
    if not ran:
        return False
    before = _runs(forward, args)
    if _short_step(before, ran):
        return True
    own = [a.detach() for a in args if has_numbers(a)]
    here = [*own, *(t for run in before for t in (run.result, *run.given))]
    ways, sizes = {(each.numel(), *_way(each)) for each in here}, {each.numel() for each in here}
    ran = [run for run in ran if not all((g.numel(), *_way(g)) in ways for g in run.given)]
    known = _sorted([*here, *(-each for each in here)])
    middles = [*here, *(run.result for run in seen)]
    middles += [-each for each in middles]
    for points, results, runs in _apart(ran):
        rows = _rows(points, results, known)
        if _on_a_line(points[rows], results[rows]):
            return True
        if len(runs[0].given) == 1 and _around(points[rows], results[rows], runs[0], middles):
            return True
    lengths = {length for each in own for length in each.shape}
    within = (family for run in ran for family in _within(run, sizes, lengths))
    return any(_on_a_line(p[rows], r[rows]) for p, r in within for rows in [_rows(p, r, known)])


def _short_step(before: Sequence[Run], ran: Sequence[Run]) -> bool:
    """Whether two points of one operation are a short step apart that is the same, or the same share, in all numbers.

    Not two of forward's alone: what iterates there comes nearer and nearer to a point.
    """
    least, most = _STEPS
    in_backward = set(map(id, ran))
    for points, _, runs in _apart([*ran, *before]):
        rows = points[:_COPIES] if points.shape[1] >= _NUMBERS else points[:0]
        mine = torch.tensor([id(run) in in_backward for run in runs[: len(rows)]], dtype=torch.bool)
        for steps in (rows[None] - rows[:, None], rows[None] / rows[:, None] - 1):
            low, high = steps.aminmax(dim=-1)
            alike = (low > least) & (high < most) & (high - low < _MIDDLE * high + _ROUNDING)
            if bool((alike & (mine | mine[:, None])).any()):
                return True
    return False


def _apart(seen: Sequence[Run]) -> Iterator[tuple[Tensor, Tensor, list[Run]]]:
    """(points, results), a row each, of every operation that ran several times, and its runs."""
    found: dict[Any, list[Run]] = defaultdict(list)
    for run in seen:
        shapes = *(each.shape for each in run.given), run.result.shape
        found[run.operation, repr(run.beside), shapes].append(run)
    for runs in found.values():
        if len(runs) > 1:
            points = [torch.cat([g.flatten() for g in run.given]) for run in runs]
            yield torch.stack(points), torch.stack([run.result.flatten() for run in runs]), runs


def _within(
    run: Run, sizes_of_points: set[int], lengths: set[int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The parts of what one run took and gave, along each axis and each pair of axes, that are as large as a point may be.

    Not along an axis as long as one of an argument (``lengths``): xᵢ − xⱼ of all pairs lie on lines as well.
    """
    try:
        given = torch.broadcast_tensors(*run.given)
    except RuntimeError:  # a product of matrices, say
        given = run.given[:1]
    shape, result = given[0].shape, run.result
    for axes in (c for n in (1, 2) for c in itertools.combinations(range(len(shape)), n)):
        sizes = [shape[axis] for axis in axes]
        many, first = torch.Size(sizes).numel(), tuple(range(len(axes)))
        same = result.dim() > axes[-1] and [result.shape[axis] for axis in axes] == sizes
        if (
            same
            and many >= _FEW
            and not lengths & {*sizes}
            and given[0].numel() // many in sizes_of_points
        ):
            points = [g.movedim(axes, first).reshape(many, -1) for g in given]
            yield torch.cat(points, 1), result.movedim(axes, first).reshape(many, -1)


def _rows(points: Tensor, results: Tensor, known: Tensor) -> Tensor:
    """Which of the points are new: have a number that forward does not have, and that is not whole."""
    if points.shape[1] < _NUMBERS:
        return torch.empty(0, dtype=torch.long)
    whole = (points - points.round()).abs() < _WHOLE  # alike by chance, as 0 and 1 are
    finite = (points.abs() < _FAR).all(1) & results.isfinite().all(1)
    return ((~_among(points, known) & ~whole).any(1) & finite).nonzero().flatten()[:_COPIES]


def _on_a_line(points: Tensor, results: Tensor) -> bool:
    """Whether some of the points lie on a line, and their results do not."""
    if len(points) < _FEW:
        return False
    points, results = _shadow(points), _shadow(results)
    steps = points[None] - points[:, None]  # from each to each
    lengths = steps.norm(dim=-1, keepdim=True)
    far = lengths > _NEAR * (1 + points.norm(dim=1).max())
    ways = torch.where(far, steps / lengths.clamp(min=1e-300), 0.0)
    alike = (ways @ ways.mT).abs() > 1 - _STRAIGHT  # of each point, which two ways from it are one
    start, way = divmod(int(alike.sum(-1).argmax()), len(points))
    line = [start, *alike[start, way].nonzero().flatten().tolist()]
    places, order = (steps[start, line] @ ways[start, way]).sort()
    apart = torch.cat([torch.ones(1), places.diff()]) > _NEAR
    if int(apart.sum()) < _FEW:
        return False
    across = points[line] @ ways[start, way]
    if bool(
        (points[line] - across[:, None] * ways[start, way]).norm(dim=1).max() < _NEAR
    ) and float(across.abs().max()) > 2 * float(across.abs().min()):
        return False  # multiples of one point, as in cos(kx): steps of a quotient are shorter than that
    there = results[line][order][apart]
    straight = torch.stack([torch.ones_like(places[apart]), places[apart]], 1)
    off = there - straight @ torch.linalg.lstsq(straight, there).solution
    return _is_bent(off, there, _CURVED)


def _around(points: Tensor, results: Tensor, run: Run, middles: Iterable[Tensor]) -> bool:
    """Whether two of the points lie symmetrically around something that was computed, and the operation curves there."""
    shape = run.given[0].shape
    fits = [m.flatten() for m in middles if m.shape == shape and m.unique().numel() > 1]
    if len(points) < 2 or not fits:
        return False
    ones, others = torch.triu_indices(len(points), len(points), 1)
    ends, centres = points[others] - points[ones], (points[others] + points[ones]) / 2
    off = (_shadow(centres)[:, None] - _shadow(torch.stack(fits))).norm(dim=-1).min(1).values
    found = (off <= _MIDDLE * ends.norm(dim=1)) & (ends.norm(dim=1) > _NEAR * centres.norm(dim=1))
    for pair in found.nonzero().flatten().tolist():
        with suppress(Exception):  # it may not run outside of its place
            middle = run.again(centres[pair].reshape(shape)).flatten()
            low, high = results[ones[pair]], results[others[pair]]
            if _is_bent(low + high - 2 * middle, torch.stack([low, high]), _BENT):
                return True
    return False


def _is_bent(off: Tensor, results: Tensor, share: float) -> bool:
    """Whether some results (a row each) are off a line by this share of their range, and more than rounding explains."""
    ranges = (results.max(0).values - results.min(0).values).max()
    return bool(off.abs().max() > share * ranges + _ROUNDING * results.abs().max())


@functools.cache
def _directions(numbers: int) -> Tensor:
    generator = torch.Generator().manual_seed(numbers)
    return torch.randn(numbers, _SHADOW, generator=generator, dtype=torch.float64)


def _shadow(rows: Tensor) -> Tensor:
    """A few numbers for each row, of which lines are lines and bends are bends."""
    return rows if rows.shape[1] <= _SHADOW else rows @ _directions(rows.shape[1])


def _runs(forward: Forward, args: Sequence[Any]) -> list[Run]:
    """All that forward's operations take and give; what comes before it stops, where it does."""
    results = Results()
    with suppress(Exception), torch.no_grad(), results, results.arrays:
        forward(*args)
    return [run for run in results.runs if run.given]


def _way(tensor: Tensor) -> tuple[float, ...]:
    """The same numbers for all multiples of a tensor, few enough to be looked up."""
    (shadow,) = _shadow(tensor.flatten()[None])
    return tuple((shadow / shadow[0]).nan_to_num().mul(1e8).round().tolist())


def _sorted(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([t.flatten() for t in tensors] or [torch.empty(0, dtype=torch.float64)]).sort().values  # fmt: skip


def _among(values: Tensor, numbers: Tensor) -> Tensor:
    """Which of these values are among sorted numbers."""
    if not numbers.numel():
        return torch.zeros_like(values, dtype=torch.bool)
    after = torch.searchsorted(numbers, values).clamp(max=len(numbers) - 1)
    near = torch.stack([numbers[after], numbers[(after - 1).clamp(min=0)]])
    return ((near - values).abs() <= _SAME * (1 + values.abs())).any(0) | ~values.isfinite()
