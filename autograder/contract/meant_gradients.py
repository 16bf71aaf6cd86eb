"""Gradients that are meant to be no derivatives: recognised by numbers, never by names.

Two kinds of forward have no derivative that anybody would train with: one that moves in steps (a sign, a
quantiser, a spike), and one that hands its argument on as it is, which is only written to change the
gradient. A Function whose backward differs from the derivative of any other forward is wrong.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws, as_tuple, draws_of
from autograder.contract.handed_on import Gradients, Handed, handed_on
from autograder.contract.measured import Measured, Run
from autograder.contract.real_numbers import all_flat, flat_of, is_differentiable
from autograder.contract.steps import ALIKE, TINY, Line, far_slope, line_through, reaches
from autograder.observation.compare import close

STEPS, NOISE = "steps", "noise"
TURNED, ROWS = "turned", "rows"
_TIMES = 24  # that a forward which draws random numbers is asked
_DRAWS = 64  # times that a backward which draws random numbers is asked
_FAR = 5.0  # standard errors that a right one is off by on average, at most
_ASKED = 4  # upstream gradients of each output
_AS_FAR = (
    0.25  # what a factor of the derivative may be apart from what jumps add, as a share of that
)
_ONE_FACTOR = 1e-4  # what numbers that are one factor of others are off by, as measured
_MOST, _LEAST = 64, 8  # elements that are moved far: of a large tensor fewer,
_EFFORT = 10**7  # so that about as many numbers are computed for it


class Nature:
    """What kind of forward this is, around some arguments and far from them.

    Steps alone excuse no gradient: what backward adds to the derivative has to point to where forward's steps
    lead over longer distances. A sign with a minus is wrong, and so is a relu that forgets its mask. And where the
    rows of an output do not depend on other rows, neither does what they add to a gradient: a mean is wrong.

    doubts  what makes a gradient along steps a mistake, by position: TURNED or ROWS
    """

    def __init__(self, measured: Measured, own: Measured, args: Sequence[Any]):
        self.measured, self.own, self.args = measured.repeated(), own.repeated(), args
        self._found: dict[int, frozenset[int]] = {}
        self._lines: dict[int, list[Line]] = {}
        self.doubts: dict[int, str] = {}
        self.linear = True  # in the upstream gradient, as any gradient has to be that is no interpolation of a solver's steps
        self.noisy = False  # backward gives another gradient for other random numbers

    def excuses(
        self, upstream: Sequence[Tensor | None], off: Mapping[int, Gradients]
    ) -> tuple[str, dict[int, frozenset[int]]]:
        """The kind of forward, and of which outputs a gradient may be meant to be no derivative, by its position.

        off  the gradients that are no derivatives
        """
        try:
            on_average = [p for p in off if self._on_average(p, upstream, off[p][1])]
            if len(on_average) == len(off):
                return NOISE, dict.fromkeys(off, frozenset(range(len(upstream))))
            if (handed := self._handed) is not None:
                kind, found = handed.excuses(upstream, off)
                # What is not handed on may get a gradient of what is, and none where nothing comes from above.
                return kind, {
                    p: of for p, of in found.items() if p in handed.places or self._vanishes(p)
                }
            led = {p: of for p in off if (of := self._led(p))}
            with contextlib.suppress(Exception):  # so far away a forward may stop
                self.linear = not any(map(self._interpolates, led))
            # Of what draws, fewer rows draw other numbers.
            settled = self.linear and not self.noisy and len(self._draws) == 1
            for p in filter(self._mixes_rows, [*led] * settled):
                self.doubts[p] = ROWS
                del led[p]
            # What forward does not follow at all is a parameter of the surrogate beside it.
            shaping = [p for p in off if led and p not in led and self._stands_still(p)]
            return STEPS, led | dict.fromkeys(shaping, frozenset[int]().union(*led.values()))
        except Exception:  # a forward that stops elsewhere is not known there
            return "", {}

    def _on_average(self, p: int, upstream: Sequence[Tensor | None], right: Tensor) -> bool:
        """Whether backward draws random numbers, and gives the derivative on average."""

        def drawn(times: int) -> Tensor:
            assert self.own.draws is not None
            self.own.draws.again()
            return flat_of(self.own.gradients(self.args, [p], upstream, times)[0])

        few = torch.stack([drawn(times) for times in range(1, 5)])
        if bool((few == few[0]).all()):
            return False
        self.noisy = True
        some = torch.stack([*few, *map(drawn, range(5, _DRAWS + 1))])
        error = torch.maximum(some.std(0), some.std(0).mean()) / _DRAWS**0.5
        return bool(((some.mean(0) - flat_of(right)).abs() <= _FAR * error).all())

    def _vanishes(self, position: int) -> bool:
        """Whether an argument gets no gradient where none comes from above."""
        nothing = [torch.zeros_like(o) for o in self._run.outputs]
        (given,) = self.own.gradients(self.args, [position], nothing)
        return not bool(given.any())

    @cached_property
    def _handed(self) -> Handed | None:
        return handed_on(self.measured, self.args)

    @cached_property
    def _run(self) -> Run:
        run = self.measured.run(tuple(self.args))
        run.forward()
        return run

    def _led(self, position: int) -> frozenset[int]:
        if position not in self._found:
            self._found[position] = self._leading(position)
        return self._found[position]

    def _leading(self, position: int) -> frozenset[int]:
        """The outputs that jump along an argument, where backward's gradient of one of them leads as its jumps do."""
        lines = self._through(position)
        places = list(filter(self._differentiable, range(len(self._run.outputs))))
        stepping = {k: line for line in reversed(lines) for k in places if line.steps[k] is not None}  # fmt: skip
        leads, turns, jumping = False, False, set()
        for place in places if stepping else ():
            line = stepping.get(place)
            needed = None if line is None else line.steps[place]
            weights, added, slopes, jumped = self._on_the_whole(position, place, line)
            if not bool(added.any()):
                continue
            alike, apart = _likeness(jumped, added)
            # A factor of the derivative leads nowhere else, but as far as jumps do; of a single number any number is one.
            factor = max(len(added), len(weights)) > 1 and _is_multiple(added, slopes)
            if factor and apart > _AS_FAR:
                continue
            leads |= needed is not None and alike >= needed
            turns |= needed is not None and -alike >= max(needed, ALIKE)
            if needed is not None or any(line.jumps(place) for line in lines):
                jumping.add(place)
        if turns and not leads:
            self.doubts[position] = TURNED
        return frozenset(jumping) if leads else frozenset()

    def _mixes_rows(self, position: int) -> bool:
        """Whether what some rows of the outputs add to a gradient goes to other rows, or is another one without those."""
        with contextlib.suppress(Exception):  # another size, each refuses it in its own way
            return any(not self._as_alone(position, *some) for some in self._some_rows())
        return False

    def _some_rows(self) -> Iterator[tuple[list[int], Tensor, list[Any]]]:
        """The arguments that hold the rows of the outputs; some of those, where no output notices; all arguments with these alone."""
        (count,) = {o.shape[0] for o in self._run.outputs if is_differentiable(o)}
        first = torch.arange(count) < count // 2
        rows = [
            p for p, a in enumerate(self.args) if isinstance(a, Tensor) and a.shape[:1] == (count,)
        ]

        def with_rows(places: list[int], change: Callable[[Tensor], Tensor]) -> list[Any]:
            made = list(self.args)
            for p in places:
                made[p] = change(made[p].detach()).requires_grad_(made[p].requires_grad)
            return made

        def others(some: Tensor, a: Tensor) -> Tensor:
            return torch.cat(
                [a[some], (1.5 * a[~some]).flip(0) if is_differentiable(a) else a[~some]]
            )

        for places in (rows, *[[p] for p in rows] * (len(rows) > 1)) if count > 1 else ():
            for some in (first, ~first):
                few = with_rows(places, operator.itemgetter(some))
                changed = with_rows(places, functools.partial(others, some))
                with contextlib.suppress(Exception):
                    outputs = zip(
                        *map(as_tuple, map(self.measured.values, (few, changed))),
                        self._run.outputs,
                        strict=True,
                    )
                    if all(close(m, o[some]) and close(c[: len(m)], m) for m, c, o in outputs):
                        yield places, some, few

    def _as_alone(self, position: int, places: list[int], some: Tensor, few: list[Any]) -> bool:
        for place in filter(self._differentiable, range(len(self._run.outputs))):
            for grads in _upstreams(self._run.outputs, place):
                above = [g.clone().index_fill_(0, (~some).nonzero()[:, 0], 0) for g in grads]
                (beside,) = self.own.gradients(self.args, [position], above)
                if position in places:
                    if not _is_nothing(beside[~some], beside):
                        return False
                    beside = beside[some]
                (alone,) = self.own.gradients(few, [position], [g[some] for g in grads])
                # A learned scale's is divided by the root of how many numbers there are
                # (Esser and others, Learned Step Size Quantization, 2020).
                shares = 1.0, float(some.double().mean()) ** 0.5
                if not any(close(beside, share * alone) for share in shares):
                    return False
        return True

    def _interpolates(self, position: int) -> bool:
        """Whether backward is what forward changes by on the way that the upstream gradient leads, by an argument's length.

        Vlastelica and others, Differentiation of Blackbox Combinatorial Solvers, 2020.
        """
        at, made = self.args[position], self._run.outputs[0]
        ways = [float(a) for a in self.args if isinstance(a, int | float) and a] + [1.0]
        if len(self._run.outputs) > 1 or made.shape != at.shape:
            return False
        pairs = []
        for grads in _upstreams(self._run.outputs, 0):
            (given,) = self.own.gradients(self.args, [position], grads)
            moved = [
                self.measured.moved(self.args, position, at + way * grads[0])[0] for way in ways
            ]
            pairs.append(
                (given, torch.stack([(m - made) / way for m, way in zip(moved, ways, strict=True)]))
            )
        given, found = (
            torch.stack(each, dim)
            for each, dim in zip(zip(*pairs, strict=True), (0, 1), strict=True)
        )
        return bool(given.any()) and any(
            close(given, sign * each) for each in found for sign in (1, -1)
        )

    def _on_the_whole(
        self, position: int, place: int, line: Line | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What ``_added`` gives, and what jumps add (nan where nobody looked), on average over what forward draws."""
        found = []
        for draws in self._draws:
            self.measured.draws = self.own.draws = draws
            vars(self).pop("_run", None)
            weights, added, slopes = self._added(position, place)
            jumped = torch.full_like(added, torch.nan)
            if line is not None:
                most = min(_MOST, max(_LEAST, _EFFORT // (4 * max(1, len(added)))), len(added))
                chosen = (
                    added.abs().sum(1).topk(most).indices
                    if len(self._draws) == 1
                    else torch.arange(len(added))[:most]
                )
                far = torch.stack([far_slope(line, place, i) for i in chosen.tolist()]) @ weights
                jumped[chosen] = far - slopes[chosen]
            found.append((weights, added, slopes, jumped))
        return tuple(torch.stack(each).mean(0) for each in zip(*found, strict=True))  # type: ignore[return-value]

    @cached_property
    def _draws(self) -> list[Draws | None]:
        """What forward draws: as in the question, or, where its outputs are others for other numbers, many times."""
        first, many = self.measured.draws, [draws_of(f"nature {k}") for k in range(_TIMES)]
        made = []
        for draws in many[:4]:
            self.measured.draws = draws
            made.append(all_flat(as_tuple(self.measured.values(self.args))))
        self.measured.draws = first
        return [first] if all(torch.equal(m, made[0]) for m in made) else [*many]

    def _stands_still(self, position: int) -> bool:
        return all(bool((line.rows == line.rows[0]).all()) for line in self._through(position))

    def _through(self, position: int) -> list[Line]:
        """Lines along an argument, each as far as some numbers reach; measured once."""
        if position not in self._lines:
            ways = reaches(self.args[position])
            self._lines[position] = [line_through(self.measured, self.args, position, way) for way in ways]  # fmt: skip
        return self._lines[position]

    def _differentiable(self, place: int) -> bool:
        return is_differentiable(self._run.outputs[place])

    def _added(self, position: int, place: int) -> tuple[Tensor, Tensor, Tensor]:
        """For some upstream gradients of one output (m, k): what backward adds to the derivative, and that (n, k).

        One upstream gradient alone may lead somewhere by chance.
        """
        weights, more, slopes = [], [], []
        for grads in _upstreams(self._run.outputs, place):
            (given,) = self.own.gradients(self.args, [position], grads)
            (slope,) = self._run.gradients([position], grads)
            apart, error = (given - slope).abs(), self._run.errors[position]
            off = bool((apart > error + TINY * slope.abs()).any())
            weights.append(flat_of(grads[place]))
            more.append((flat_of(given) - flat_of(slope)) * off)
            slopes.append(flat_of(slope))
        return torch.stack(weights, 1), torch.stack(more, 1), torch.stack(slopes, 1)


def _likeness(jumped: Tensor, added: Tensor) -> tuple[float, float]:
    """What backward adds to the derivative of an output, and what jumps add: their cosine, and how far they are apart."""
    looked = ~jumped.isnan().any(1)
    jumped, added = jumped[looked], added[looked]
    sizes = float(jumped.norm() * added.norm())
    if sizes == 0:
        return 0.0, 1.0
    return float((jumped * added).sum()) / sizes, float((added - jumped).norm() / jumped.norm())


def _upstreams(outputs: Sequence[Any], place: int) -> Iterator[list[Tensor]]:
    """Some upstream gradients of one output, the same in each check; 0 for all others."""
    generator = torch.Generator().manual_seed(4177 + place)
    for _ in range(_ASKED):
        drawn = torch.randn(outputs[place].shape, generator=generator, dtype=torch.float64)
        yield [
            drawn.to(o.dtype) if i == place else torch.zeros_like(o) for i, o in enumerate(outputs)
        ]


def _is_nothing(numbers: Tensor, beside: Tensor) -> bool:
    """Whether numbers are what rounding leaves of 0."""
    return float(numbers.abs().max()) <= TINY * float(beside.abs().max())


def _is_multiple(numbers: Tensor, of: Tensor) -> bool:
    """Whether some numbers are one factor times others."""
    factor = (numbers * of).sum() / (of * of).sum()
    return bool((numbers - factor * of).norm() <= _ONE_FACTOR * numbers.norm())


class OwnGradient(Measured):
    """The submission's backward as its own reference: the same in every layout, call and combination.

    values   what the outputs are compared with
    linear   of a backward that is not linear in grad_output, the linear one that it should be
    excused  by position the outputs of which a wrong gradient may be no derivative: of all others it is
    """

    def __init__(
        self, own: Measured, excused: Mapping[int, frozenset[int]],
        values: Callable[..., Any] | None = None, linear: bool = True,
    ):  # fmt: skip
        vars(self).update(vars(own))
        self.right, self.linear, self.excused = values, linear, excused

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
        draws = Draws()
        far = self.gradients(args, wants, shifted)
        draws.again()
        near = self.gradients(args, wants, base)
        return tuple((f - n) / 3 for f, n in zip(far, near, strict=True))


class _OwnRun(Run):
    measured: OwnGradient

    def forward(self) -> list[Tensor]:
        with torch.no_grad():
            right = self.measured.right
            made = self.fill(right(*self.args) if right else self.measured.values(self.args))
        return [o for o in made if isinstance(o, Tensor) and not is_differentiable(o)]

    def gradients(self, wanted: Sequence[int], grads: Sequence[Any]) -> Sequence[Tensor]:
        made = []
        for p in wanted:
            excused = self.measured.excused.get(p, range(len(grads)))
            given = [g if g is None or i in excused else 0 * g for i, g in enumerate(grads)]
            exact = [None if i in excused else g for i, g in enumerate(grads)]
            found = torch.zeros_like(self.args[p])
            if any(g is not None for g in exact):
                (found,) = super().gradients([p], exact)
            if excused:
                self.draws.again()
                found = found + self.measured.linearised(self.args, [p], given)[0]
            made.append(found)
        return made
