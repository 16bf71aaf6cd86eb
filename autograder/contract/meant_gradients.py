"""Gradients that are meant to be no derivatives: recognised by numbers, never by names.

Two kinds of forward have no derivative that anybody would train with: one that moves in steps (a sign, a
quantiser, a spike), and one that hands its argument on as it is, which is only written to change the
gradient. A Function whose backward differs from the derivative of any other forward is wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws, as_tuple
from autograder.contract.measured import Measured, Run, flat_of, is_differentiable

STEPS, IDENTITY = "steps", "identity"
_NODES = 33  # places on a line through the arguments
_TINY = 1e-7  # a move that no smooth function takes unnoticed
_FLAT = 0.6  # of all that an output moves on a line: more of it in jumps, and it is flat in between
_JUMP = 0.2  # of a move over a stretch that is left when the stretch is halved to nothing
_ALIKE = 0.5  # the cosine of what backward adds to the derivative and what forward's jumps add
_BETWEEN = 20  # lines between an argument's own numbers that are tried
_MOST = 64  # elements that are moved far


def nature(
    measured: Measured, args: Sequence[Any], upstream: Sequence[Tensor | None],
    off: Mapping[int, tuple[Tensor, Tensor]],
) -> str:  # fmt: skip
    """STEPS, IDENTITY or "": what kind of forward this is, around these arguments and far from them.

    Steps alone excuse no gradient: what backward adds to the derivative has to point to where forward's steps
    lead over longer distances. A sign with a minus is wrong, and so is a relu that forgets its mask.

    off  by position: the gradient that backward gives, and the derivative
    """
    measured = _Repeated(measured)
    try:
        if any(
            _identity(measured, args, p) for p in range(len(args)) if is_differentiable(args[p])
        ):
            return IDENTITY
        stepping = any(_leads_along(measured, args, p, upstream, *both) for p, both in off.items())
        return STEPS if stepping else ""
    except Exception:  # a forward that stops elsewhere is not known there
        return ""


def _identity(measured: Measured, args: Sequence[Any], position: int) -> bool:
    """Whether forward gives back one argument, whatever that and all others are."""
    for scale, shift in ((1.0, 0.0), (-1.7, 0.3), (12.0, -0.1)):
        moved = [_moved(a, scale, shift) if i == position else a for i, a in enumerate(args)]
        for others in (moved, [_other(a) if i != position else a for i, a in enumerate(moved)]):
            try:
                made = measured.values(others)
            except Exception:
                if scale == 1.0 and others is moved:
                    raise
                continue  # another value of an option need not make sense
            same = isinstance(made, Tensor) and made.shape == args[position].shape
            if not same or not torch.equal(made, others[position]):
                return False
    return True


def _leads_along(
    measured: Measured, args: Sequence[Any], position: int, upstream: Sequence[Tensor | None],
    given: Tensor, slopes: Tensor,
) -> bool:  # fmt: skip
    """Whether forward jumps along an argument, and backward's gradient leads where the jumps do."""
    line = _line(measured, args, position)
    flat = line.is_flat()
    if not flat and not line.jumps():
        return False
    more = flat_of(given) - flat_of(slopes)
    chosen = more.abs().topk(min(_MOST, more.numel())).indices.tolist()
    far = torch.stack([_far_slope(measured, args, position, upstream, i) for i in chosen])
    jumped, more = far - flat_of(slopes)[chosen], more[chosen]
    sizes = float(jumped.norm() * more.norm())
    alike = float((jumped * more).sum()) / sizes if sizes > 0 else 0.0
    return alike >= (0.0 if flat else _ALIKE)


class _Repeated(Measured):
    """The same forward with the same random numbers each time."""

    def __init__(self, measured: Measured):
        super().__init__(measured.call)
        self.draws = Draws()

    def values(self, args: Sequence[Any]) -> Any:
        self.draws.again()
        return super().values(args)


def _far_slope(
    measured: Measured,
    args: Sequence[Any],
    position: int,
    upstream: Sequence[Tensor | None],
    i: int,
) -> Tensor:
    """The slope of the weighted outputs along one element, over the size of the tensor, both ways."""
    at = args[position].detach()
    size = max(float(at.abs().nan_to_num(posinf=1.0).max()), 1e-3)
    start, total = as_tuple(measured.values(args)), torch.zeros((), dtype=torch.float64)
    for reach in (0.5 * size, 2.0 * size):
        for sign in (-1.0, 1.0):
            moved = at.clone()
            moved.view(-1)[i] += sign * reach
            try:
                made = measured.moved(args, position, moved)
            except Exception:  # a probability ends at 0 and at 1
                continue
            for output, before, g in zip(made, start, upstream, strict=False):
                if g is not None:
                    more = flat_of(output) - flat_of(before)
                    total += sign * (more * flat_of(g)).sum() / (4 * reach)
    return total


def _line(measured: Measured, args: Sequence[Any], position: int) -> _Line:
    """A long line on which forward runs: past its own numbers, else between them (probabilities end at 1)."""
    at = args[position].detach()
    # No seed that somebody draws inputs with: their own direction leads through 0.
    generator = torch.Generator().manual_seed(7919 + position)
    line = torch.randn(at.shape, generator=generator, dtype=torch.float64).to(at.dtype)
    size = max(float(at.abs().nan_to_num(posinf=1.0).max()), 1e-3)
    with contextlib.suppress(Exception):
        far = line * (2.0 * size / max(float(line.abs().max()), 1e-9))
        return _Line(measured, args, position, at, far)
    for _ in range(_BETWEEN):
        other = at.reshape(-1)[torch.randperm(at.numel(), generator=generator)].reshape(at.shape)
        made = _Line(measured, args, position, (at + other) / 2, (other - at) / 2)
        if bool((made.rows != made.rows[0]).any()):
            break  # nothing is learned where nothing moves
    return made


class _Line:
    """Forward along a line through one argument, at places from -1 to 1."""

    def __init__(
        self, measured: Measured, args: Sequence[Any], position: int, at: Tensor, line: Tensor
    ):
        self.measured, self.args, self.position = measured, args, position
        self.at, self.line = at, line
        self.nodes = torch.linspace(-1.0, 1.0, _NODES, dtype=torch.float64).tolist()
        self.rows = torch.stack([self.values(t) for t in self.nodes])
        self.places = [o.numel() for o in self.outputs(0.0)]

    def outputs(self, t: float) -> list[Tensor]:
        made = self.measured.moved(self.args, self.position, self.at + t * self.line)
        return [flat_of(o) for o in made if is_differentiable(o)]

    def values(self, t: float) -> Tensor:
        return torch.cat(self.outputs(t))

    def is_flat(self) -> bool:
        """Whether some output moves on the line, and mostly in jumps."""
        apart = 2.0 / (_NODES - 1)
        near = torch.stack([self.values(t + _TINY) for t in self.nodes])
        steps = (self.rows[1:] - self.rows[:-1]).abs()
        slopes = (near - self.rows).abs() / _TINY
        # A jump that lies between the two by chance is no slope.
        slopes = torch.where(slopes * apart > 100 * steps.amax(0), 0.0, slopes)[1:] * apart
        totals = [part.sum() for part in steps.split(self.places, 1)]
        smooth = [part.sum() for part in slopes.split(self.places, 1)]
        return any(t > 0 and 1 - s / t >= _FLAT for t, s in zip(totals, smooth, strict=True))

    def jumps(self) -> bool:
        """Whether some output jumps: halved again and again, a stretch keeps its move."""
        steps = (self.rows[1:] - self.rows[:-1]).abs()
        for element in steps.amax(0).topk(min(4, steps.shape[1])).indices.tolist():
            row = int(steps[:, element].argmax())
            left, right = self.nodes[row], self.nodes[row + 1]
            low, high = (float(self.rows[r, element]) for r in (row, row + 1))
            whole = abs(high - low)
            while right - left > _TINY and whole > 0:
                middle = (left + right) / 2
                value = float(self.values(middle)[element])
                if abs(value - low) > abs(high - value):
                    right, high = middle, value
                else:
                    left, low = middle, value
            if whole > 0 and abs(high - low) > _JUMP * whole:
                return True
        return False


def _moved(value: Any, scale: float, shift: float) -> Any:
    return scale * value + shift if scale != 1.0 else value


def _other(value: Any) -> Any:
    """Another value of an option: another number, the other flag."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float | int):
        return type(value)(1.7 * value + 1)
    return 1.3 * value + 0.2 if is_differentiable(value) else value


class OwnGradient(Measured):
    """The submission's backward as its own reference: the same in every layout, call and combination.

    values  what the outputs are compared with
    linear  of a backward that is not linear in grad_output, the linear one that it should be
    """

    def __init__(
        self, own: Measured, values: Callable[..., Any] | None = None, linear: bool = True
    ):
        super().__init__(own.call, own.eps, own.stop)
        self.right, self.linear = values, linear

    def run(self, args: tuple[Any, ...]) -> Run:
        return _OwnRun(self, args)

    def linearised(
        self, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """The gradients as a linear function of the upstream gradients has them."""
        if not self.linear:
            return self.gradients(args, wants, upstream)
        generator = torch.Generator().manual_seed(1)
        base = [None if g is None else torch.randn(g.shape, generator=generator, dtype=torch.float64).to(g.dtype) for g in upstream]  # fmt: skip
        shifted = [None if g is None or b is None else 3 * g + b for g, b in zip(upstream, base, strict=True)]  # fmt: skip
        far, near = self.gradients(args, wants, shifted), self.gradients(args, wants, base)
        return tuple((f - n) / 3 for f, n in zip(far, near, strict=True))


class _OwnRun(Run):
    measured: OwnGradient

    def forward(self, wanted: Sequence[int]) -> list[Tensor]:
        with torch.no_grad():
            right = self.measured.right
            made = self.fill(right(*self.args) if right else self.measured.values(self.args))
        return [o for o in made if isinstance(o, Tensor) and not is_differentiable(o)]

    def gradients(self, wanted: Sequence[int], grads: Sequence[Any]) -> Sequence[Tensor]:
        self.draws.again()
        return self.measured.linearised(self.args, wanted, grads)
