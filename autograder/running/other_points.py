"""Where backward evaluates what forward computes at points other than the arguments, as difference quotients do.

However wide the step is and however it is written: with minus signs, as one matrix product, as a
convolution. A derivative written by hand needs the forward's own results at the arguments at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.running.watching import Watching, note_imaginary

_LARGEST = 4096  # elements of a result; larger ones are not looked at
_MOST = 400  # results that are remembered
_WORK = 800  # operations that forward runs, all repetitions together
_COPIES = 64  # points in one tensor
_SAME = 1e-10  # of a number, and beside it
_WHOLE = 1e-9
_ENOUGH = 2  # numbers found again; fewer may be alike by chance

Forward = Callable[..., Any]


class Results(Watching):
    """Remembers the numbers that operations gave; with ``arrays``, those of NumPy on a tensor's numbers too."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[Tensor] = []
        self.arrays = _Arrays(self)

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for each in tensors:
            note_imaginary(self, each)
            numbers = each.dtype == torch.float64 and 0 < each.numel() <= _LARGEST
            if numbers and len(self.tensors) < _MOST:
                with torch.utils._python_dispatch._disable_current_modes():
                    self.tensors.append(each.detach().clone())


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
        made = getattr(ufunc, method)(*map(_plain, given), **more)
        if isinstance(made, numpy.ndarray) and made.dtype in (numpy.float64, numpy.complex128):
            self.results.saw(ufunc, [torch.from_numpy(made)])
        return _told(made, self.results) if isinstance(made, numpy.ndarray) else made


def _told(array: numpy.ndarray, results: Results) -> _Array:
    made = array.view(_Array)
    made.results = results
    return made


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, _Array) else value


def evaluated_elsewhere(forward: Forward, args: Sequence[Any], seen: list[Tensor]) -> bool:
    """Whether among these results are forward's own, at two points on one line through an argument.

    One point alone may belong to a formula: a product without one factor is the product where that is 1.
    """
    numbers = _sorted(seen)
    for place, x in enumerate(args):
        if not isinstance(x, Tensor) or x.dtype != torch.float64 or x.numel() < _ENOUGH:
            continue
        x = x.detach()
        if not (points := _on_one_line(list(_points(seen, x)), x)):
            continue
        here = _results(forward, args, place, x)
        bent = _bent(forward, args, place, x, here)
        steps: list[Tensor] = []
        for point in points[: _WORK // max(1, len(here)) if bent else 0]:
            there = _results(forward, args, place, point)
            known = _sorted([point, x, *here])
            if len(there) == len(here) and any(_is_among(there[i], numbers, known) for i in bent):
                step = torch.nn.functional.normalize((point - x).flatten(), dim=0)
                if any(abs(float(step @ other)) > 1 - _SAME for other in steps):
                    return True
                steps.append(step)
    return False


def _is_among(result: Tensor, numbers: Tensor, known: Tensor) -> bool:
    """Whether the numbers of a result that are not known already are all among these."""
    values = result.flatten()
    whole = (values - values.round()).abs() < _WHOLE  # alike by chance, as 0 and 1 are
    new = values[~whole & ~_among(values, known)]
    return new.numel() >= _ENOUGH and bool(_among(new, numbers).all())


def _bent(
    forward: Forward, args: Sequence[Any], place: int, x: Tensor, here: list[Tensor]
) -> list[int]:
    """Which results are no affine functions of x: those would be alike by chance."""
    step = torch.linspace(0.5, 1.5, x.numel(), dtype=x.dtype, device=x.device).reshape(x.shape)
    along = [here, *(_results(forward, args, place, x + times * step) for times in (1, 2))]
    if len({len(each) for each in along}) > 1:
        return []
    ends = [(low + high, 2 * middle) for low, middle, high in zip(*along, strict=True)]
    return [i for i, (mean, middle) in enumerate(ends) if not torch.allclose(mean, middle)]


def _on_one_line(points: list[Tensor], x: Tensor) -> list[Tensor]:
    """Those of the points that lie with another one on a line through x, which few do by chance."""
    steps = torch.stack([x, *points]).sub(x).flatten(1)
    steps = torch.nn.functional.normalize(steps, dim=1)
    alike = ((steps @ steps.T).abs() > 1 - _SAME).sum(1) > 1
    return list(itertools.compress(points, alike[1:].tolist()))


def _points(seen: list[Tensor], x: Tensor) -> Iterator[Tensor]:
    """What lies in these results in the shape of x, where it has other numbers; several in one tensor first."""
    known = [x, -x]
    for each in sorted(seen, key=lambda t: t.numel() == x.numel()):
        for point in _copies(each, x):
            if bool(point.isfinite().all()) and not any(map(point.equal, known)):
                known.append(point)
                yield point


def _copies(tensor: Tensor, x: Tensor) -> Iterator[Tensor]:
    """Each part of a tensor that has the shape of x; axes of x stay in their order."""
    more = tensor.dim() - x.dim()
    if not 0 <= more <= 3 or tensor.numel() > _COPIES * x.numel():
        return
    for axes in itertools.combinations(range(tensor.dim()), more):
        rest = [size for axis, size in enumerate(tensor.shape) if axis not in axes]
        if rest == list(x.shape):
            yield from tensor.movedim(axes, tuple(range(more))).reshape(-1, *x.shape)


def _results(forward: Forward, args: Sequence[Any], place: int, point: Tensor) -> list[Tensor]:
    """What each operation of forward gives, with this in place of one argument; nothing where it stops."""
    moved = [point if i == place else a for i, a in enumerate(args)]
    results = Results()
    with suppress(Exception), torch.no_grad(), results, results.arrays:
        forward(*moved)
        return results.tensors
    return []


def _sorted(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([t.flatten() for t in tensors] or [torch.empty(0, dtype=torch.float64)]).sort().values  # fmt: skip


def _among(values: Tensor, numbers: Tensor) -> Tensor:
    """Which of these values are among sorted numbers."""
    if not numbers.numel():
        return torch.zeros_like(values, dtype=torch.bool)
    after = torch.searchsorted(numbers, values).clamp(max=len(numbers) - 1)
    near = torch.stack([numbers[after], numbers[(after - 1).clamp(min=0)]])
    return ((near - values).abs() <= _SAME * (1 + values.abs())).any(0) | ~values.isfinite()
