"""Gradients that are meant to be no derivatives: recognised by numbers, never by names.

Two kinds of forward have no derivative that anybody would train with: one that moves in steps (a sign, a
quantiser, a spike), and one that hands its argument on as it is, which is only written to change the
gradient. A Function whose backward differs from the derivative of any other forward is wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differences import flat_of, precision_of
from autograder.contract.differentiation import Draws, as_tuple
from autograder.contract.measured import Measured, Run, is_differentiable

STEPS, IDENTITY = "steps", "identity"
_NODES = 33  # places on a line through the arguments
_FEWER = 9  # where thousands of numbers are seen at each of them
_TINY = 1e-7  # a move that no smooth function takes unnoticed
_FLAT = 0.6  # of all that an output moves on a line: more of it in jumps, and it is flat in between
_JUMPED = 0.1  # of what it moves: less in jumps is beside the point
_ALIKE = 0.5  # the cosine of what backward adds to the derivative and what forward's jumps add
_WITHIN, _BEYOND = 0.8, 2.0  # how far a line goes, as a share of an argument's numbers
_LEAST_JUMP = 1e-3  # of the largest number; a solver that stops a step earlier jumps by less
_BETWEEN = 20  # lines between an argument's own numbers that are tried
_MOST, _LEAST = 64, 8  # elements that are moved far: of a large tensor fewer,
_EFFORT = 10**7  # so that about as many numbers are computed for it
_SEEN = 4000  # numbers of an output that are looked at on a line


class Nature:
    """What kind of forward this is, around some arguments and far from them.

    Steps alone excuse no gradient: what backward adds to the derivative has to point to where forward's steps
    lead over longer distances. A sign with a minus is wrong, and so is a relu that forgets its mask.
    """

    def __init__(self, measured: Measured, args: Sequence[Any]):
        self.measured, self.args = _Repeated(measured), args
        self._ways: dict[int, _Line | None] = {}

    def excuses(
        self, upstream: Sequence[Tensor | None], off: Mapping[int, tuple[Tensor, Tensor]]
    ) -> dict[int, str]:
        """STEPS or IDENTITY by position: those gradients that may be meant to be no derivatives.

        off  by position: the gradient that backward gives, and the derivative
        """
        try:
            if (handed := self._handed) is not None:
                # To what is handed on as one output, another output's upstream gradient is nothing.
                without = [p for p, place in handed.items() if upstream[place] is None]
                return {} if any(p in off for p in without) else dict.fromkeys(off, IDENTITY)
            return {p: STEPS for p, both in off.items() if self._leads(p, upstream, *both)}
        except Exception:  # a forward that stops elsewhere is not known there
            return {}

    @cached_property
    def _handed(self) -> dict[int, int] | None:
        return _handed_on(self.measured, self.args)

    def _leads(
        self, position: int, upstream: Sequence[Tensor | None], given: Tensor, slopes: Tensor
    ) -> bool:
        """Whether forward jumps along an argument, and backward's gradient leads where the jumps do."""
        if position not in self._ways:
            lines = (_line(self.measured, self.args, position, r) for r in _reaches(self.args[position]))  # fmt: skip
            self._ways[position] = next((line for line in lines if line.steps is not None), None)
        if (line := self._ways[position]) is None or line.steps is None:
            return False
        more = flat_of(given) - flat_of(slopes)
        most = min(_MOST, max(_LEAST, _EFFORT // (4 * max(1, more.numel()))), more.numel())
        chosen = more.abs().topk(most).indices.tolist()
        far = torch.stack([_far_slope(line, upstream, i) for i in chosen])
        jumped, more = far - flat_of(slopes)[chosen], more[chosen]
        sizes = float(jumped.norm() * more.norm())
        return (float((jumped * more).sum()) / sizes if sizes > 0 else 0.0) >= line.steps


def _handed_on(measured: Measured, args: Sequence[Any]) -> dict[int, int] | None:
    """Which argument each output is, whatever they all are: {argument: output}; None where one is none.

    In their order: two arguments that change places are more than an identity.
    """
    floats = [p for p, a in enumerate(args) if is_differentiable(a)]
    found: dict[int, int] = {}
    for scale, shift in ((-1.7, 0.2), (12.0, 0.2), (1.0, 0.0)):
        moved = [scale * a + p * shift if p in floats else a for p, a in enumerate(args)]
        for given in (moved, [a if p in floats else _other(a) for p, a in enumerate(moved)]):
            try:
                made = as_tuple(measured.values(given))
            except Exception:  # far from the given ones, arguments need not make sense
                if scale == 1.0 and given is moved:
                    raise
                continue
            outputs = {place: o for place, o in enumerate(made) if is_differentiable(o)}
            found = found or _in_order(outputs, given, floats)
            as_before = all(_same(outputs.get(place), given[p]) for p, place in found.items())
            if not found or not as_before or len(found) != len(outputs):
                return None
    return found


def _in_order(outputs: Mapping[int, Tensor], args: Sequence[Any], floats: Sequence[int]) -> dict[int, int]:  # fmt: skip
    rest = iter(floats)
    pairs = {place: next((p for p in rest if _same(o, args[p])), None) for place, o in outputs.items()}  # fmt: skip
    return {p: place for place, p in pairs.items() if p is not None}


def _same(output: Tensor | None, argument: Tensor) -> bool:
    alike = output is not None and output.shape == argument.shape
    return alike and torch.equal(output, argument)  # type: ignore[arg-type]


class _Repeated(Measured):
    """The same forward with the same random numbers each time."""

    def __init__(self, measured: Measured):
        super().__init__(measured.call)
        self.draws = Draws()

    def values(self, args: Sequence[Any]) -> Any:
        self.draws.again()
        return super().values(args)


def _far_slope(line: _Line, upstream: Sequence[Tensor | None], i: int) -> Tensor:
    """The slope of the weighted outputs along one element, over the size of the tensor or its own, both ways."""
    measured, args, at = line.measured, line.args, line.args[line.position].detach()
    size = float(at.view(-1)[i].abs()) if line.reach < 1 else _size(at)
    start, total = as_tuple(measured.values(args)), torch.zeros((), dtype=torch.float64)
    for reach in (0.5 * size, line.reach * size):
        for sign in (-1.0, 1.0):
            moved = at.clone()
            moved.view(-1)[i] += sign * reach
            try:
                made = measured.moved(args, line.position, moved)
            except Exception:  # a probability ends at 0 and at 1
                continue
            for output, before, g in zip(made, start, upstream, strict=False):
                if g is not None:
                    more = flat_of(output) - flat_of(before)
                    total += sign * (more * flat_of(g)).sum() / (4 * reach)
    return total


def _size(at: Tensor) -> float:
    return max(float(at.abs().nan_to_num(posinf=1.0).max()), 1e-3)


def _reaches(at: Tensor) -> tuple[float, ...]:
    """How far to go, as shares of the size: where all numbers have one sign, as scales have, first within it."""
    one_sign = not at.is_complex() and bool((at > 0).all() | (at < 0).all())
    return (_WITHIN, _BEYOND) if one_sign else (_BEYOND,)


def _line(measured: Measured, args: Sequence[Any], position: int, reach: float) -> _Line:
    """A line on which forward runs: past its own numbers, else between them (probabilities end at 1)."""
    at = args[position].detach()
    # No seed that somebody draws inputs with: their own direction leads through 0.
    generator = torch.Generator().manual_seed(7919 + position)
    line = torch.randn(at.shape, generator=generator, dtype=torch.float64).to(at.dtype)
    far = line / max(float(line.abs().max()), 1e-9) * (at if reach < 1 else _size(at))
    with contextlib.suppress(Exception):
        return _Line(measured, args, position, at, reach * far, reach)
    for _ in range(_BETWEEN):
        other = at.reshape(-1)[torch.randperm(at.numel(), generator=generator)].reshape(at.shape)
        made = _Line(measured, args, position, (at + other) / 2, (other - at) / 2, reach)
        if bool((made.rows != made.rows[0]).any()):
            break  # nothing is learned where nothing moves
    return made


class _Line:
    """Forward along a line through one argument, at places from -1 to 1."""

    def __init__(
        self, measured: Measured, args: Sequence[Any], position: int, at: Tensor, line: Tensor,
        reach: float,
    ):  # fmt: skip
        self.measured, self.args, self.position = measured, args, position
        self.at, self.line, self.reach = at, line, reach
        self.places = [o.numel() for o in self.outputs(0.0)]
        count = _NODES if sum(self.places) < _SEEN // 2 else _FEWER
        self.nodes = torch.linspace(-1.0, 1.0, count, dtype=torch.float64).tolist()
        self.rows = torch.stack([self.values(t) for t in self.nodes])

    def outputs(self, t: float) -> list[Tensor]:
        """Each output in a row; of a large one some thousand numbers, spread over it."""
        made = self.measured.moved(self.args, self.position, self.at + t * self.line)
        rows = map(flat_of, filter(is_differentiable, made))
        return [row[:: max(1, len(row) // _SEEN)] for row in rows]

    def values(self, t: float) -> Tensor:
        return torch.cat(self.outputs(t))

    @cached_property
    def steps(self) -> float | None:
        """How alike backward's gradient and the jumps on the line have to be; None: there are none to speak of.

        What an output moves, and its slopes do not, it does in jumps, or on curves too short for the places.
        """
        exact = precision_of(lambda t: self.values(float(t)), torch.zeros(1, dtype=torch.float64))
        tiny = max(_TINY, 100 * exact.share)  # a move beyond all rounding
        near = torch.stack([self.values(t + tiny) for t in self.nodes])
        moves, apart = self.rows.diff(dim=0), self.nodes[1] - self.nodes[0]
        slopes = apart * (near - self.rows) / tiny
        # A jump that lies between the two by chance is no slope.
        slopes = torch.where(slopes.abs() > 100 * moves.abs().amax(0), 0.0, slopes)
        off = moves - (slopes[1:] + slopes[:-1]) / 2
        parts = [each.abs().split(self.places, 1) for each in (moves, slopes[1:], off)]
        shares = [tuple(float(part.sum()) for part in each) for each in zip(*parts, strict=True)]
        if any(moved > 0 and 1 - smooth / moved >= _FLAT for moved, smooth, _ in shares):
            return 0.0
        if not any(more > _JUMPED * max(moved, smooth) > 0 for moved, smooth, more in shares):
            return None
        most_off = off.abs().amax(0).topk(min(4, off.shape[1])).indices.tolist()
        least = max(_LEAST_JUMP, 100 * exact.share) * float(self.rows.nan_to_num(posinf=0.0).abs().max())  # fmt: skip
        jumps = (self._jumps(e, off[:, e], slopes[:, e] / apart, least) for e in most_off)
        return _ALIKE if any(jumps) else None

    def _jumps(self, element: int, off: Tensor, slopes: Tensor, least: float) -> bool:
        """Whether an output jumps: halved to nothing, a stretch keeps what its slope does not explain."""
        row = int(off.abs().argmax())
        left, right, slope = self.nodes[row], self.nodes[row + 1], float(slopes[row])
        low, high = (float(self.rows[r, element]) for r in (row, row + 1))
        kept = 0.0
        while right - left > _TINY:
            middle = (left + right) / 2
            value = float(self.values(middle)[element])
            half, kept = slope * (middle - left), abs(high - low)
            if abs(value - low - half) > abs(high - value - half):
                right, high = middle, value
            else:
                left, low = middle, value
        return abs(high - low) > max(0.75 * kept, least)


def _other(value: Any) -> Any:
    """Another value of an option: another number, the other flag."""
    if isinstance(value, bool):
        return not value
    return type(value)(1.7 * value + 1) if isinstance(value, float | int) else value


class OwnGradient(Measured):
    """The submission's backward as its own reference: the same in every layout, call and combination.

    values    what the outputs are compared with
    linear    of a backward that is not linear in grad_output, the linear one that it should be
    measured  positions of arguments whose gradients nothing excuses: those are the derivatives
    """

    def __init__(
        self, own: Measured, values: Callable[..., Any] | None = None, linear: bool = True,
        measured: frozenset[int] = frozenset(),
    ):  # fmt: skip
        super().__init__(own.call, own.eps, own.stop)
        self.right, self.linear, self.measured, self.known = values, linear, measured, own.known
        self.share, self.precisions = own.share, own.precisions

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

    def forward(self) -> list[Tensor]:
        with torch.no_grad():
            right = self.measured.right
            made = self.fill(right(*self.args) if right else self.measured.values(self.args))
        return [o for o in made if isinstance(o, Tensor) and not is_differentiable(o)]

    def gradients(self, wanted: Sequence[int], grads: Sequence[Any]) -> Sequence[Tensor]:
        exact = [p for p in wanted if p in self.measured.measured]
        found = dict(zip(exact, super().gradients(exact, grads), strict=True))
        meant = [p for p in wanted if p not in found]
        self.draws.again()
        found |= zip(meant, self.measured.linearised(self.args, meant, grads), strict=True)
        return [found[p] for p in wanted]
