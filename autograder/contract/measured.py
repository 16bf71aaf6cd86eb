"""A submission's own forward as a reference: its values are believed, its slopes are measured."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from autograder.contract.around import FEW, MOST, MOST_NUMBERS, Around, or_nan
from autograder.contract.differentiation import Draws, as_tuple, gradients_of
from autograder.contract.ending import between_calls, errors_only, slow
from autograder.contract.not_finite import finite, not_judged, told_of
from autograder.contract.real_numbers import (
    all_flat,
    errors_like,
    flat_of,
    is_differentiable,
    unflat,
)
from autograder.contract.rounding_noise import Precision, Values, precision_of
from autograder.observation.compare import close
from autograder.observation.snapshot import dense


class Measured:
    """Called as forward is, it gives forward's outputs with gradients that are central differences.

    call  forward, as a learner applies it
    eps   the step; None: chosen by what is measured
    most  elements of one argument that are moved
    dtype what it computes in; None: looked at
    seen  dtypes that it makes tensors in; None: nobody looked
    """

    own = True  # what it raises, the submission raises

    def __init__(
        self, call: Callable[..., Any], eps: float | None = None, most: int = MOST,
        seen: frozenset[torch.dtype] | None = None,
    ):  # fmt: skip
        self.call, self.eps, self.most, self.seen = call, eps, most, seen
        self.dtype: torch.dtype | None = None
        # By the arguments and the one that was moved.
        self.known: dict[Any, list[Around]] = {}
        self.precisions: dict[Any, Precision] = {}
        # Arguments that are symmetric matrices to forward and to backward.
        self.folded: set[int] = set()
        self.believed = False  # backward, where calls are slow: measured where it matters, it is right elsewhere
        # By position and shape: the elements that nobody could tell there.
        self.untold: dict[Any, Tensor] = {}
        self.twice: dict[Any, Any] = {}  # what second derivatives are known of
        self.draws: Draws | None = None  # of each call; None: it goes on drawing

    def repeated(self) -> Measured:
        """The same forward with the same random numbers each time; what is measured is known to both."""
        again = copy.copy(self)
        again.draws = Draws()
        return again

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
        if self.draws is not None:
            self.draws.again()
        with torch.enable_grad():
            made = self.call(*map(leaf, args))
        return pytree.tree_map_only(Tensor, Tensor.detach, made)

    def moved(self, args: Sequence[Any], position: int, value: Tensor) -> tuple[Any, ...]:
        """The outputs with another value of one argument."""
        value = value.detach().requires_grad_(args[position].requires_grad)
        return as_tuple(self.values([*args[:position], value, *args[position + 1 :]]))

    def along(self, args: Sequence[Any], positions: Sequence[int], draws: Draws) -> Values:
        """All numbers of the outputs as a function of those of some arguments, with what was drawn."""
        counts, at = [len(flat_of(args[p])) for p in positions], all_flat([args[p] for p in positions])  # fmt: skip

        def values(flat: Tensor) -> Tensor:
            draws.again()
            now = list(args)
            flat = torch.where(at.isfinite(), flat, at)
            for p, part in zip(positions, flat.split(counts), strict=True):
                now[p] = unflat(part, args[p]).requires_grad_(args[p].requires_grad)
            return all_flat(as_tuple(self.values(now)))

        return values

    def precision(
        self, args: Sequence[Any], positions: Sequence[int], values: Values | None = None
    ) -> Precision:
        """How exactly forward computes where some arguments move; one look is all where calls are slow."""
        few = slow()
        key = None if few else (*positions,), *map(told_apart, args)
        if key not in self.precisions:
            values = values or self.along(args, positions, Draws())
            at = finite(all_flat([args[p] for p in positions]))
            seen = self.seen and self.seen | {torch.float32}  # in NumPy, where nobody looked
            self.precisions[key] = precision_of(values, at, self.dtype, few, seen)
        return self.precisions[key]

    def computes_in(self, args: Sequence[Any], positions: Sequence[int]) -> torch.dtype | None:
        """The coarsest dtype that it rounds to inside, whatever dtype its outputs have; None for float64."""
        found = {self.precision(args, [i]).dtype for i in positions} - {torch.float64}
        return max(found, key=lambda dtype: torch.finfo(dtype).eps, default=None)

    @property
    def share(self) -> float:
        """What it rounds to along one argument, a factor of the others' slopes has too; at most float32's."""
        shares = [p.share for p in self.precisions.values()]
        return min(max(shares, default=0.0), torch.finfo(torch.float32).eps)

    @errors_only()
    def gradients(
        self, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None],
        drawn: int = 1,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """What the submission's own backward gives; zeros for None.

        drawn  random numbers that are drawn before it: one where a submission is asked, too
        """
        copies, upstream = list(map(leaf, args)), list(map(_copied, upstream))
        for i in wants:
            copies[i].requires_grad_(True)
        with torch.enable_grad():
            made = as_tuple(self.call(*copies))
        for _ in range(drawn):
            torch.rand(())
        leaves = [copies[i] for i in wants]
        found = gradients_of(made, upstream, leaves)
        return tuple(
            torch.zeros_like(x) if g is None else dense(g.detach())
            for x, g in zip(leaves, found, strict=True)
        )


class Run:
    """One call of forward: its arguments, its outputs, and what was measured of it so far.

    errors  by position: how far a gradient may be off, in the shape of the argument
    sizes   by position: how large the numbers are that it is the sum of
    """

    def __init__(self, measured: Measured, args: tuple[Any, ...]):
        self.measured, self.args = measured, tuple(map(leaf, args))
        self.draws = Draws()
        self.single = True
        self.outputs: tuple[Any, ...] = ()
        self.errors: dict[int, Tensor] = {}
        self.sizes: dict[int, Tensor] = {}

    @errors_only()
    def forward(self) -> list[Tensor]:
        """Fills the outputs; gives those of them that carry no gradient."""
        if self.measured.draws is not None:
            self.measured.draws.again()
        with torch.enable_grad():
            out = self.measured.call(*map(leaf, self.args))
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
        weights, made = all_flat(given), []
        own = cache(lambda: self._own(wanted, grads))
        few = MOST_NUMBERS if slow() else FEW  # where all at once did not fit, each by itself
        if slow() and (known := self._together(wanted, own(), weights)) is not None:
            return known
        unknown = not_judged(self.args, wanted, self.outputs, grads, own, self.measured.gradients)
        for position in wanted:
            target, around = self.args[position], self._around([position])
            symmetric = _is_symmetric(target)
            mine = own().get(position) if symmetric or len(around.at) > FEW else None
            told = None if mine is None else told_of(mine, target)
            slope, error, added = around.gradient(weights, told, self.measured.share, few)
            found, off = unflat(slope, target), errors_like(error, target)
            if symmetric and mine is not None and _shared_otherwise(mine, found, off):
                found, off = mine, (off + off.mT) / 2
                self.measured.folded.add(position)
            still, never = unknown.get(position, (False, False))
            off = torch.where(found.isnan() | never | (found == 0) & still, torch.nan, off)
            self.errors[position], self.sizes[position] = off, errors_like(added, target)
            self.measured.untold[position, target.shape] = ~off.isfinite()
            made.append(found)
        return made

    def _together(
        self, wanted: Sequence[int], own: dict[int, Tensor], weights: Tensor
    ) -> Sequence[Tensor] | None:
        """What backward says, where lines along which all arguments move at once bear it out."""
        if len(own) < len(wanted):
            return None
        told = torch.cat([told_of(own[p], self.args[p]) for p in wanted])
        if self.measured.believed:
            borne_out = torch.zeros_like(told)
        else:
            _, borne_out, _ = self._around(wanted).borne_out(told, weights, self.measured.share, 1)
        if bool(borne_out.isinf().any()):
            return None
        counts = [len(flat_of(own[p])) for p in wanted]
        for p, off in zip(wanted, borne_out.split(counts), strict=True):
            untold = self.measured.untold.get((p, self.args[p].shape), ~self.args[p].isfinite())
            self.errors[p] = torch.where(untold, torch.nan, errors_like(off, self.args[p]))
            self.sizes[p] = errors_like(flat_of(own[p]).abs(), self.args[p])
        return [own[p] for p in wanted]

    def _own(self, wanted: Sequence[int], grads: Sequence[Any]) -> dict[int, Tensor]:
        """What backward says they are; nothing where it stops."""
        with contextlib.suppress(Exception):
            self.draws.again()
            found = self.measured.gradients(self.args, wanted, grads)
            return dict(zip(wanted, found, strict=True))
        return {}

    def _around(self, positions: Sequence[int]) -> Around:
        of, key = self.measured, ((*positions,), *map(told_apart, self.args))
        known = of.known.setdefault(key, [])
        # Another forward runs, perhaps, where another argument requires grad.
        now = all_flat(self.outputs)
        found = next((each for each in known if close(each.made, finite(now))), None)
        if found is None:
            values = or_nan(of.along(self.args, positions, self.draws), now)
            precision = of.precision(self.args, positions, values)
            most = max(2, of.most // 20) if slow() else of.most
            at = finite(all_flat([self.args[p] for p in positions]))
            found = Around(values, at, finite(now), precision, of.eps, most)
            known.append(found)
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
        between_calls()
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        found = dict(zip(wanted, ctx.run.gradients(wanted, grads), strict=True))
        return None, *map(found.get, range(len(ctx.run.args)))


def _is_symmetric(at: Tensor) -> bool:
    return at.dim() > 1 and at.shape[-1] == at.shape[-2] and torch.equal(at, at.mH)


def _shared_otherwise(given: Tensor, slopes: Tensor, errors: Tensor) -> bool:
    """Whether backward shares the slopes along a symmetric matrix between both triangles in another way than forward.

    Of a function of symmetric matrices, Cholesky's or a solver's, gradients that are alike once they are made symmetric
    are the same one. That of a function of any matrix is transposed by mistake.
    """
    apart, least = given - slopes, 1e-6 * slopes.abs().max() + 1e-12
    read = (slopes != 0) | (errors != 0)
    whole = bool(read.triu(1).any()) == bool(read.tril(-1).any())
    if bool((apart.abs() <= errors + least).all()) or (whole and close(given, slopes.mH)):
        return False
    return bool(((apart + apart.mH).abs() <= errors + errors.mT + least).all())


def told_apart(value: Any) -> Any:
    """What tells one argument from another: of a tensor its numbers, of other objects which they are."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.detach().cpu().numpy().tobytes()
    return value if isinstance(value, bool | int | float | str | None) else id(value)


def leaf(value: Any) -> Any:
    """A copy that requires grad where the tensor does, and draws what a generator draws: forward may ask."""
    if isinstance(value, torch.Generator):
        return value.clone_state()
    return (
        _copied(value).requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value
    )


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value
