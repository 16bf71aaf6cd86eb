"""A submission's own forward as a reference: its values are believed, its slopes are measured."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from autograder.contract.differences import (
    Precision,
    Slopes,
    Stop,
    errors_like,
    flat_of,
    precision_of,
    slopes_at,
    unflat,
    unit_directions,
)
from autograder.contract.differentiation import Draws, as_tuple, gradients_of
from autograder.contract.ending import errors_only
from autograder.observation.compare import close, coarse_dtype

MOST = 1000  # elements of one argument that are moved, each with four calls of forward
MOST_NUMBERS = 2_000_000  # slopes that are kept of one argument
MOST_TWICE = 40  # elements that are moved for a second derivative, each with four calls of backward


class Measured:
    """Called as forward is, it gives forward's outputs with gradients that are central differences.

    call  forward, as a learner applies it
    eps   the step; None: chosen by what is measured
    stop  says that there is no time left: what was not measured has an infinite error
    most  elements of one argument that are moved
    dtype what it computes in; None: looked at
    """

    own = True  # what it raises, the submission raises

    def __init__(
        self, call: Callable[..., Any], eps: float | None = None, stop: Stop = lambda: False,
        most: int = MOST,
    ):  # fmt: skip
        self.call, self.eps, self.stop, self.most = call, eps, stop, most
        self.dtype: torch.dtype | None = None
        # What it rounds to along one argument, a factor of the others' slopes has too; at most float32's.
        self.share = 0.0
        # Outputs and slopes, by the arguments and the one that was moved.
        self.known: dict[Any, list[tuple[Tensor, _Placed]]] = {}
        self.precisions: dict[Any, Precision] = {}
        self.twice: dict[Any, _Twice] = {}

    def __call__(self, *args: Any) -> Any:
        run = self.run(args)
        made = _Slopes.apply(run, *(a if is_differentiable(a) else None for a in args))
        return made[0] if run.single else made

    def run(self, args: tuple[Any, ...]) -> Run:
        """What one call is: its outputs, and its gradients when they are asked for."""
        return Run(self, args)

    @errors_only()
    def values(self, args: Sequence[Any]) -> Any:
        """What forward gives for copies of the arguments: leaves that require grad where these do."""
        with torch.enable_grad():
            made = self.call(*map(_leaf, args))
        return pytree.tree_map_only(Tensor, Tensor.detach, made)

    def moved(self, args: Sequence[Any], position: int, value: Tensor) -> tuple[Any, ...]:
        """The outputs with another value of one argument."""
        value = value.detach().requires_grad_(args[position].requires_grad)
        return as_tuple(self.values([*args[:position], value, *args[position + 1 :]]))

    def computes_in(self, args: Sequence[Any], position: int) -> torch.dtype:
        """The dtype that it rounds to inside, whatever dtype its outputs have."""
        target, key, draws = args[position], _key(position, args), Draws()

        def values(flat: Tensor) -> Tensor:
            self._in_time()
            draws.again()
            return _all_flat(self.moved(args, position, unflat(flat, target)))

        if key not in self.precisions:
            self.precisions[key] = precision_of(values, flat_of(target))
        return self.precisions[key].dtype

    def _in_time(self) -> None:
        if self.stop():
            raise TimeoutError("nothing new is measured")

    @errors_only()
    def gradients(
        self, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """What the submission's own backward gives; zeros for None."""
        copies = [_copied(a) for a in args]
        for i in wants:
            copies[i].requires_grad_(True)
        with torch.enable_grad():
            made = as_tuple(self.call(*copies))
        leaves = [copies[i] for i in wants]
        found = gradients_of(made, upstream, leaves)
        return tuple(
            torch.zeros_like(x) if g is None else g.detach()
            for x, g in zip(leaves, found, strict=True)
        )

    def second(
        self, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None],
        directions: Sequence[Tensor | None], mixed: bool,
    ) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:  # fmt: skip
        """(second derivatives, their errors) for the inputs, then (not if ``mixed``) for the upstream gradients.

        Measured on backward, which is right where this is asked: the slopes of each gradient, weighted.
        """
        self._in_time()
        draws = Draws()
        asked = dict(zip(wants, directions, strict=True))
        key = tuple(map(_told_apart, (*args, *upstream)))
        first = dict(zip(wants, self.gradients(args, wants, upstream), strict=True))
        # Of some of the arguments they are known from a question about all.
        twice = self.twice.get(key)
        if twice is None or not twice.tells(asked, first):
            twice = self.twice[key] = _Twice(self, args, upstream, asked, first)
        places = [list(twice.directions).index(p) for p in wants]
        above = () if mixed else range(len(twice.directions), len(twice.leaves))
        weights = torch.zeros(len(twice.directions), dtype=torch.float64)
        weights[places] = 1.0
        draws.again()
        run = twice.total.run(twice.leaves)
        run.fill(torch.ones_like(weights))
        values = list(run.gradients([*places, *above], [weights]))
        self._in_time()
        for i, d in enumerate(directions if mixed else ()):
            if d is not None:
                values[i] = values[i] + 6 * (twice.leaves[places[i]] * d).conj()
        return tuple(values), tuple(run.errors[place] for place in (*places, *above))

    def slopes(
        self, values: Callable[[Tensor], Tensor], leaf: Tensor, made: Tensor, key: Any
    ) -> _Placed:
        """The slopes of a function of one tensor, given flat, that gives ``made``; nan where it stops."""

        def known(flat: Tensor) -> Tensor:
            with contextlib.suppress(Exception):  # beyond its domain: a probability above 1
                if not self.stop():
                    return values(flat)
            return torch.full_like(made, math.nan)

        at = flat_of(leaf)
        precision = self.precisions.get(key) or precision_of(known, at, self.dtype)
        self.precisions[key] = precision
        self.share = max(self.share, min(precision.share, torch.finfo(torch.float32).eps))
        room = max(4, min(self.most, MOST_NUMBERS // max(1, len(precision.noise))))
        places = list(unit_directions(len(at), room))
        along = torch.zeros(len(places), len(at), dtype=torch.float64)
        along[range(len(places)), places] = 1.0
        found = slopes_at(known, at, along, precision, self.eps, self.stop)
        return _Placed(found, places, len(at))


class _Placed:
    """Slopes along some of the unit directions of n elements."""

    def __init__(self, slopes: Slopes, places: list[int], count: int):
        self.slopes, self.places, self.count = slopes, places, count

    def weighted_into(self, weights: Tensor, share: float) -> tuple[Tensor, Tensor]:
        """(slopes, errors) of all n elements: 0 and inf for those that were not moved."""
        slopes, errors = self.slopes.weighted(weights, share)
        whole = torch.zeros(self.count, dtype=torch.float64)
        doubt = torch.full((self.count,), math.inf, dtype=torch.float64)
        whole[self.places], doubt[self.places] = slopes, errors
        return whole, doubt


class _Twice:
    """What backward gives for some arguments, each gradient weighted with its direction, as it follows what is moved.

    leaves  the arguments, then the upstream gradients
    """

    def __init__(
        self, of: Measured, args: Sequence[Any], upstream: Sequence[Tensor | None],
        directions: dict[int, Tensor | None], first: dict[int, Tensor],
    ):  # fmt: skip
        self.directions, self.first, wants = directions, first, list(directions)
        self.leaves = (*(args[i] for i in wants), *(g for g in upstream if g is not None))

        def weighted(*moved: Tensor) -> Tensor:
            now, rest = list(args), iter(moved[len(wants) :])
            for i, value in zip(wants, moved, strict=False):
                now[i] = value
            found = of.gradients(now, wants, [None if g is None else next(rest) for g in upstream])
            return torch.stack([
                flat_of(g) @ flat_of(torch.zeros_like(g) if d is None else d)
                for g, d in zip(found, directions.values(), strict=True)
            ])  # fmt: skip

        self.total = Measured(weighted, of.eps, of.stop, MOST_TWICE)
        # A weighted sum has more digits than what backward computes.
        given = next(filter(None, map(coarse_dtype, first.values())), None)
        inside = {of.computes_in(args, i) for i in wants} - {torch.float64}
        coarsest = max(inside, key=lambda d: torch.finfo(d).eps, default=None)
        self.total.dtype = given or coarsest

    def tells(self, directions: dict[int, Tensor | None], first: dict[int, Tensor]) -> bool:
        """Whether this is of the same directions and of the same backward: another one runs, perhaps, for other numbers drawn."""
        same = all(self.directions.get(p, p) is d for p, d in directions.items())
        return same and all(close(self.first[p], g) for p, g in first.items())


class Run:
    """One call of forward: its arguments, its outputs, and what was measured of it so far.

    errors  by position: how far a gradient may be off, in the shape of the argument
    """

    def __init__(self, measured: Measured, args: tuple[Any, ...]):
        self.measured, self.args = measured, tuple(map(_leaf, args))
        self.draws = Draws()
        self.single = True
        self.outputs: tuple[Any, ...] = ()
        self.errors: dict[int, Tensor] = {}

    @errors_only()
    def forward(self) -> list[Tensor]:
        """Fills the outputs; gives those of them that carry no gradient."""
        with torch.enable_grad():
            out = self.measured.call(*map(_leaf, self.args))
        untracked = [isinstance(o, Tensor) and not o.requires_grad for o in as_tuple(out)]
        return [o for o, without in zip(self.fill(out), untracked, strict=True) if without]

    def fill(self, out: Any) -> tuple[Any, ...]:
        self.single = not isinstance(out, tuple | list)
        self.outputs = tuple(map(_copied, as_tuple(out)))
        return self.outputs

    def gradients(self, wanted: Sequence[int], grads: Sequence[Any]) -> Sequence[Tensor]:
        """The measured gradients of some arguments for some upstream gradients."""
        given = [
            torch.zeros_like(o) if g is None else g
            for o, g in zip(self.outputs, grads, strict=True)
            if is_differentiable(o)
        ]
        weights, placed = _all_flat(given), list(map(self._placed, wanted))
        made = []
        for position, slopes in zip(wanted, placed, strict=True):
            slope, error = slopes.weighted_into(weights, self.measured.share)
            self.errors[position] = errors_like(error, self.args[position])
            made.append(unflat(slope, self.args[position]))
        return made

    def _placed(self, position: int) -> _Placed:
        target = self.args[position]

        def values(flat: Tensor) -> Tensor:
            self.draws.again()
            return _all_flat(self.measured.moved(self.args, position, unflat(flat, target)))

        key = _key(position, self.args)
        known = self.measured.known.setdefault(key, [])
        now = _all_flat(
            self.outputs
        )  # another forward runs, perhaps, where another argument requires grad
        found = next((placed for made, placed in known if close(made, now)), None)
        if found is None:
            found = self.measured.slopes(values, target, now, key)
            known.append((now, found))
        return found


class _Slopes(torch.autograd.Function):
    """forward as it is, with the gradients of a run. ``grad_fn.run`` knows their errors."""

    @staticmethod
    def forward(ctx: Any, run: Run, *leaves: Any) -> Any:
        ctx.run = run
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*run.forward())
        return run.outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        found = dict(zip(wanted, ctx.run.gradients(wanted, grads), strict=True))
        return None, *map(found.get, range(len(ctx.run.args)))


def is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _all_flat(values: Sequence[Any]) -> Tensor:
    """All real numbers of some tensors in a row; what is not differentiable has none."""
    rows = [flat_of(value) for value in values if is_differentiable(value)]
    return torch.cat(rows) if rows else torch.zeros(0, dtype=torch.float64)


def _told_apart(value: Any) -> Any:
    """What tells one argument from another: of a tensor its numbers, of other objects which they are."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.detach().cpu().numpy().tobytes()
    return value if isinstance(value, bool | int | float | str | None) else id(value)


def _key(position: int, args: Sequence[Any]) -> tuple[Any, ...]:
    """What tells one measurement from another: which argument is moved, and from where."""
    return position, *map(_told_apart, args)


def _leaf(value: Any) -> Any:
    """A copy that requires grad where the tensor does, and draws what a generator draws: forward may ask."""
    if isinstance(value, torch.Generator):
        return value.clone_state()
    return (
        _copied(value).requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value
    )


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value
