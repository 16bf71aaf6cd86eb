"""Whether backward runs an operation at several points of the same thing, as difference quotients do.

An answer is run again with inputs that are a little other, in a few directions: each number that an operation is given
moves, and numbers that move alike are functions of the same thing. A derivative written by hand needs each of its
operations there once. Shapes, layouts, steps, companions and what forward did make no difference to that, and what
cannot be followed so is said to be: numbers that Python computed, operations that are others each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from autograder.running.operation_runs import Results, Run

_PRODUCTS = frozenset(["mul", "mm", "bmm", "addmm", "baddbmm", "addcmul", "multiply"])
_OF_MATRICES = frozenset(["mm", "bmm", "matmul"])
_POINTS = 10_000  # of one kind that are compared
_SAME = 1e-9  # of a number: what is no further from it is the same point
_STILL = 1e-12  # of a number: what rounding moves it by
_SMOOTH, _ROUGH = (
    0.05,
    1e-11,
)  # what the sum of all ways may be off by: of a way, and beside that of a number
_FEW = 3  # more points than move alike by chance


class _Near(NamedTuple):
    """When two points move alike.

    alike, parallel  cosines of the angles between their ways
    as_far           how much further one may move than the other
    """

    alike: float
    parallel: float
    as_far: float


_LAST = _Near(0.999, 0.99999, 1.3)
_EARLY = _Near(0.99, 0.9999, 1.4)  # by few ways nobody is cleared who is not

QUOTIENT = "quotient"
UNLIKE = "runs other operations, or runs them at quite other points, where x is a millionth off"
BY_PYTHON = (
    "computes with numbers of x that no operation of torch made there, where nobody can follow them"
)
TOO_MUCH = "runs operations on more numbers than anybody looks at"


def followed(results: Sequence[Results], last: bool) -> str:
    """QUOTIENT where operations ran at several points of the same thing, a reason where nobody can tell; else "".

    results  of a run, of runs with inputs that are a little other in several ways, and of one in all those ways at once
    last     whether these are all; of fewer, QUOTIENT says that there may be one
    """
    near = _LAST if last else _EARLY
    if any(each.full for each in results):
        return TOO_MUCH
    if len({_form(each) for each in results}) > 1:
        return UNLIKE
    entered = [_flat(each.entered) for each in results]
    own = torch.stack([(each - entered[0]).abs() > 0 for each in entered]).any(0)
    if bool((own & ~_among(entered[0], _flat(results[0].told))).any()):
        return BY_PYTHON
    every: list[tuple[Tensor, Tensor]] = []
    for name, (points, moves) in _points(results).items():
        if len(points) > _POINTS:
            return TOO_MUCH
        ways = moves
        if last:
            ways, together = moves[..., :-1], moves[..., -1]
            off = (ways.sum(-1) / ways.shape[-1] ** 0.5 - together).abs()
            if bool((off > _SMOOTH * ways.norm(dim=-1) + _ROUGH * (1 + points.abs())).any()):
                return UNLIKE
        if _is_product(name):
            alike, parallel = 2, _POINTS
        elif "@" in name:
            alike, parallel = _POINTS, 3
        else:
            alike, parallel = 1, 3
            every += [(points, ways)] if points.shape[1] == 1 else []
        if _meet(points, ways, near, alike, parallel, torch.all if alike == 2 else torch.any):
            return QUOTIENT
    if every:
        points, ways = (torch.cat(each) for each in zip(*every, strict=True))
        unlike = _unlike(points)  # one point may be given to many operations
        return QUOTIENT if _meet(points[unlike], ways[unlike], near, 3, 8) else ""
    return ""


def _is_product(name: str) -> bool:
    return name.partition("/")[0] in _PRODUCTS


def _form(results: Results) -> tuple[object, ...]:
    runs = [(run.operation, run.shape, *(each.shape for each in run.given)) for run in results.runs]
    return *runs, *(each.shape for each in results.entered)


def _flat(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([torch.zeros(1, dtype=torch.float64), *(each.flatten() for each in tensors)])


def _among(values: Tensor, numbers: Tensor) -> Tensor:
    """Which of these values are among the numbers, but for what a coarser dtype cuts off."""
    known = numbers[~numbers.isnan()].sort().values  # a search ends beside one that is nan
    after = torch.searchsorted(known, values).clamp(max=len(known) - 1)
    near = torch.stack([known[after], known[(after - 1).clamp(min=0)]])
    return ((near - values).abs() <= 1e-6 * values.abs()).any(0)


def _points(results: Sequence[Results]) -> dict[str, tuple[Tensor, Tensor]]:
    """By operation: each point that it was given, a row, and how far each of its numbers moved in each run.

    Only points where the operation is curved: of a product all numbers move, of a quotient the last one.
    """
    found = defaultdict(list)
    for runs in zip(*(each.runs for each in results), strict=True):
        run = runs[0]
        for name, given in _laid_out(run, [each.given for each in runs]):
            found[f"{name}/{given.shape[-1]}"].append(given)
    every = {}
    for name, parts in found.items():
        points = torch.cat(parts, 1).movedim(0, -1)  # point, number, run
        moves = points[..., 1:] - points[..., :1]
        moving = moves.norm(dim=-1) > _STILL * points[..., 0].abs()
        fine = points.isfinite().all(-1).all(-1)
        fine &= moving.all(-1) if _is_product(name) else moving.any(-1)
        unlike = _unlike(points[fine][..., 0])
        if len(unlike):
            every[name] = points[fine][unlike][..., 0], moves[fine][unlike]
    return every


def _laid_out(run: Run, given: Sequence[Sequence[Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """What an operation was given in all runs: run, point, number. With its name, or that and the place of one tensor."""
    name, numbers = run.operation, len(run.given)
    if (
        name in ("mul", "convolution") and numbers == 2 and all(map(_alike, given))
    ):  # x * x is x ** 2
        name, numbers, given = "pow", 1, [each[:1] for each in given]
        run = Run(name, run.given[:1], run.given[0].shape)
    if name == "convolution" or (name in ("mul", "div") and numbers == 1):  # by a number of Python
        return
    if name in _OF_MATRICES and numbers == 2:  # a number of the first, and what it is multiplied by
        name, given = "mul", [(a, _shadow(b).unsqueeze(-2)) for a, b in given]
    elif not _fit(run):
        for place in range(numbers):
            yield f"{name}@{place}", torch.stack([g[place].reshape(-1, 1) for g in given])
        return
    if name == "div":
        given = [each[-1:] for each in given]
    rows = [torch.stack([t.flatten() for t in torch.broadcast_tensors(*each)], 1) for each in given]
    yield name, torch.stack(rows)


def _alike(given: Sequence[Tensor]) -> bool:
    """Whether both are the same numbers, in whatever shape."""
    return given[0].flatten().equal(given[1].flatten())


def _fit(run: Run) -> bool:
    """Whether an operation gave a number for each that it was given."""
    try:
        return torch.broadcast_shapes(*(each.shape for each in run.given)) == run.shape
    except RuntimeError:
        return False


def _shadow(matrix: Tensor) -> Tensor:
    """A number for each row, which stands for the whole."""
    generator = torch.Generator().manual_seed(matrix.shape[-1])
    return matrix @ torch.randn(matrix.shape[-1], generator=generator, dtype=torch.float64)


def _unlike(points: Tensor) -> Tensor:
    """The places of points of which no two are the same."""
    digits = torch.frexp(points)
    rounded = torch.cat([(digits.mantissa / _SAME).round(), digits.exponent.double()], 1)
    return torch.from_numpy(numpy.unique(rounded.numpy(), axis=0, return_index=True)[1])


def _meet(
    points: Tensor,
    ways: Tensor,
    near: _Near,
    alike: int,
    parallel: int,
    apart: Callable[..., Tensor] = torch.any,
) -> bool:
    """Whether points have so many others that move alike, or so many that move to and fro with them.

    A few points at least: of many numbers two move alike by chance.

    apart  how much of two points has to be another number: torch.any or torch.all of them
    """
    alikes, far = 0, ways.norm(dim=-1)
    still = far <= _STILL * points.abs()
    far = far.clamp(min=1e-300)
    for some in torch.arange(len(points)).split(256):
        other = apart((points[some, None] - points).abs() > _SAME * points.abs(), dim=-1)
        cosine = torch.einsum("skw,nkw->snk", ways[some], ways) / (far[some, None] * far)
        further = far[some, None] / far
        close = (cosine > near.alike) & (further < near.as_far) & (further > 1 / near.as_far)
        both = still[some, None] & still
        alikes += int((((close | both).all(-1) & other).sum(1) >= alike).sum())
        lines = ((cosine.abs() > near.parallel) | both).all(-1) & other
        if alikes >= _FEW or bool((lines.sum(1) >= parallel).any()):
            return True
    return False
