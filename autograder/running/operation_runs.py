"""What operations took and gave while they were watched, those of NumPy on a tensor's numbers too; and whether backward
runs one of them at several points of a line, as difference quotients do.

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
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.running.watching import Watching, note_imaginary

_LARGEST = 4096  # elements of a tensor; larger ones are not looked at
_MOST = 400  # runs of operations that are remembered

# Affine in all that they are given: what they give tells nothing.
_AFFINE = frozenset(
    {"add", "add_", "sub", "sub_", "rsub", "neg", "sum", "mean", "detach", "alias", "clone", "_to_copy", "copy_", "view",
     "_unsafe_view", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice", "cat", "stack"}
)  # fmt: skip


class Run(NamedTuple):
    """One run of an operation: what it was given, tensors of numbers and all else, and what it gave."""

    operation: Any
    given: tuple[Tensor, ...]
    beside: list[Any]
    result: Tensor


class Results(Watching):
    """Remembers what operations took and gave; with ``arrays``, those of NumPy on a tensor's numbers too."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []
        self.arrays = _Arrays(self)
        self.takes(())

    @property
    def tensors(self) -> list[Tensor]:
        return [each.result for each in self.runs]

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = func.__name__.partition(".")[0]
        self.takes(() if name in _AFFINE else _leaves((*args, *kwargs.values())))
        return super().run(func, args, kwargs)

    def takes(self, given: Iterable[Any]) -> None:
        """What the next operation takes, as it is before that may write to it."""
        tensors, beside = [], []
        for each in given if len(self.runs) < _MOST else ():
            if not isinstance(each, Tensor):
                beside.append(each)
            elif 1 < each.numel() <= _LARGEST and not each.is_meta:
                tensors.append(_copy(each))  # places and masks too
            else:
                beside.append(each.item() if has_numbers(each) else type(each))
        self._given = tuple(tensors), beside

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for each in tensors:
            note_imaginary(self, each)
            if has_numbers(each) and len(self.runs) < _MOST:
                self.runs.append(Run(operation, *self._given, _copy(each)))


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """What an operation was given; tree_leaves takes as long as the operation."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each


def has_numbers(value: Any) -> bool:
    fits = isinstance(value, Tensor) and 0 < value.numel() <= _LARGEST
    return fits and value.dtype in (torch.float64, torch.complex128) and not value.is_meta


def _copy(tensor: Tensor) -> Tensor:
    real = tensor.detach().real if tensor.is_complex() else tensor.detach()
    return real.to(torch.float64, copy=True)


class _Arrays(TorchFunctionMode):
    """Makes ``x.numpy()`` an array that tells the results of what NumPy and SciPy compute from it."""

    def __init__(self, results: Results):
        super().__init__()
        self.results = results

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        return _told(made, self.results) if func is Tensor.numpy else made


class _Array(numpy.ndarray):
    results: Results

    def __array_finalize__(self, of: Any) -> None:
        if isinstance(of, _Array):  # a part of one tells as well
            self.results = of.results

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        if "out" in more:
            more["out"] = tuple(map(_plain, more["out"]))
        call, plain = getattr(ufunc, method), [*map(_plain, given)]
        before = [*map(_as_tensor, plain)]
        made = call(*plain, **more)
        if isinstance(made, numpy.ndarray) and made.dtype in (numpy.float64, numpy.complex128):
            # No operation of torch runs here, in which the results would not see their own work.
            with torch.utils._python_dispatch._disable_current_modes():
                self.results.takes(before)
                self.results.saw(ufunc, [torch.from_numpy(made)])
        return _told(made, self.results) if isinstance(made, numpy.ndarray) else made


def _told(array: numpy.ndarray, results: Results) -> _Array:
    made = array.view(_Array)
    made.results = results
    return made


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, _Array) else value


def _as_tensor(value: Any) -> Any:
    numbers = isinstance(value, numpy.ndarray) and value.dtype == numpy.float64
    return torch.from_numpy(value.copy()) if numbers else value


# ---- other points than forward's -------------------------------------------------------------
_COPIES = 64  # points of one kind that are compared
_SAME = 1e-10  # of a number, and beside it
_WHOLE = 1e-9
_STRAIGHT = 1e-12  # what the cosine of an angle may be off by
_MIDDLE = 1e-6  # of a step
_NEAR = 1e-7  # of a point; quotients with shorter steps are inexact, and seen by that
_CURVED = 1e-5  # of the range of results along a line, which may be off by an angle of 1e-6 itself
_ROUNDING = 4e-15  # of results
_FAR = 1e6  # numbers beside which others are lost, and everything lies on a line
_SHORTEST, _SHORT = 1e-10, 1e-2  # steps of a quotient that is short
_FEW = 4  # points of a line; with fewer that are not symmetric no quotient has all digits
_NUMBERS = 3  # of a point; two are on a line more often
_SHADOW = 8  # numbers that stand for those of a point, which would be many


def evaluated_elsewhere(
    forward: Callable[..., Any], args: Sequence[Any], seen: Sequence[Run]
) -> bool:
    """Whether one operation ran a short step beside another run, or at points of a line that forward does not have and curves there."""
    ran = [run for run in seen if run.given]
    if not ran:
        return False
    before = _runs(forward, args)
    own = [a.detach() for a in args if has_numbers(a)]
    here = [*own, *(t for run in before for t in (run.result, *run.given))]
    sizes = {each.numel() for each in here}
    some = torch.cat([torch.zeros(1), *(each.flatten() for each in here)])
    known = torch.cat([some, -some]).sort().values
    lengths = {length for each in own for length in each.shape}
    within = (family for run in ran for family in _within(run, sizes, lengths))
    for points, results in itertools.chain(_apart([*ran, *before]), within):
        new = _new(points, results, known)
        first = (~new).int().argsort(stable=True)[:_COPIES]
        points, results, new = points[first], results[first], new[first]
        if _short_step(points, new) or _on_a_line(points[new], results[new]):
            return True
    return False


def _apart(seen: Iterable[Run]) -> Iterator[tuple[Tensor, Tensor]]:
    """(points, results), a row each, of every operation that ran several times."""
    found: dict[Any, list[Run]] = defaultdict(list)
    for run in seen:
        shapes = *(each.shape for each in run.given), run.result.shape
        found[run.operation, repr(run.beside), shapes].append(run)
    for runs in found.values():
        if len(runs) > 1:
            points = [torch.cat([g.flatten() for g in run.given]) for run in runs]
            yield torch.stack(points), torch.stack([run.result.flatten() for run in runs])


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


def _new(points: Tensor, results: Tensor, known: Tensor) -> Tensor:
    """Which of the points have a number that forward does not have, and that is not whole."""
    whole = (points - points.round()).abs() < _WHOLE  # alike by chance, as 0 and 1 are
    finite = (points.abs() < _FAR).all(1) & results.isfinite().all(1)
    enough = points.shape[1] >= _NUMBERS
    return (~_among(points, known) & ~whole).any(1) & finite & enough


def _short_step(points: Tensor, new: Tensor) -> bool:
    """Whether a new point is a short step beside another that is the same, or the same share, in all numbers."""
    apart = points[None] - points[:, None]
    for steps in (apart, apart / points[:, None]):
        low, high = steps.aminmax(dim=-1)
        alike = (low > _SHORTEST) & (high < _SHORT) & (high - low < _MIDDLE * high + _ROUNDING)
        if bool((alike & (new | new[:, None])).any()):
            return True
    return False


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
    ranges = (there.max(0).values - there.min(0).values).max()
    return bool(off.abs().max() > _CURVED * ranges + _ROUNDING * there.abs().max())


@functools.cache
def _directions(numbers: int) -> Tensor:
    generator = torch.Generator().manual_seed(numbers)
    return torch.randn(numbers, _SHADOW, generator=generator, dtype=torch.float64)


def _shadow(rows: Tensor) -> Tensor:
    """A few numbers for each row, of which lines are lines and bends are bends."""
    return rows if rows.shape[1] <= _SHADOW else rows @ _directions(rows.shape[1])


def _runs(forward: Callable[..., Any], args: Sequence[Any]) -> list[Run]:
    """All that forward's operations take and give; what comes before it stops, where it does."""
    results = Results()
    with suppress(Exception), torch.no_grad(), results, results.arrays:
        forward(*args)
    return [run for run in results.runs if run.given]


def _among(values: Tensor, numbers: Tensor) -> Tensor:
    """Which of these values are among sorted numbers."""
    after = torch.searchsorted(numbers, values).clamp(max=len(numbers) - 1)
    near = torch.stack([numbers[after], numbers[(after - 1).clamp(min=0)]])
    return ((near - values).abs() <= _SAME * (1 + values.abs())).any(0) | ~values.isfinite()
