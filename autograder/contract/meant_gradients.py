"""Gradients that are meant to be no derivatives: recognised by numbers, never by names. All that decides it stands here.

Two kinds of forward have no derivative that anybody would train with: one that moves in steps (a sign, a
quantiser, a spike), and one that hands its argument on as it is, which is only written to change the
gradient. A Function whose backward differs from the derivative of any other forward is wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple, same_draws
from autograder.contract.handed_on import BOUNDS, IDENTITY, Gradients, handed_on
from autograder.contract.led_by_steps import Steps
from autograder.contract.measured import Measured
from autograder.contract.real_numbers import flat_of
from autograder.contract.rows_apart import Rows
from autograder.observation.observation import Question

MASK, STEPS, NOISE = "mask", "steps", "noise"
_KINDS = (MASK, STEPS, BOUNDS, IDENTITY, NOISE)  # of several, the first is told
# Meant straight through, or a mask in the wrong place: the numbers are the same.
_MASKS = (MASK, BOUNDS)
TURNED, ROWS = "turned", "rows"
_DRAWS = 64  # times that a backward which draws random numbers is asked
_FAR = 5.0  # standard errors that a right one is off by on average, at most

# A question, its arguments, and by position the gradients that are no derivatives.
Off = tuple[Question, Sequence[Any], Mapping[int, Gradients]]


@dataclass(frozen=True)
class Meant:
    """Which gradients are no derivatives, and may be meant so.

    kind     one of the kinds above, or "" for none
    linear   backward is linear in the upstream gradient, as it has to be
    noisy    backward gives another gradient for other random numbers
    excused  by position, of gradients that are wrong, the outputs of which they may be no derivatives
    doubts   by position, of gradients along steps, why they are mistakes
    """

    kind: str = ""
    excused: Mapping[int, frozenset[int]] = field(default_factory=dict)
    noisy: bool = False
    linear: bool = True
    doubts: Mapping[int, str] = field(default_factory=dict)

    @property
    def along(self) -> list[int]:
        """The arguments whose gradients these are, where others are wrong."""
        return [] if all(self.excused.values()) else [p for p, of in self.excused.items() if of]

    @property
    def severity(self) -> Literal["advice", "note"]:
        return "advice" if self.kind in _MASKS else "note"


def gradients_meant(
    wrong: Sequence[Off], reference: Callable[..., Any], own: Measured, said: bool
) -> Meant:
    """What backward gives and how forward moves tell of gradients that are no derivatives.

    said  somebody is strict, or says which gradient is right: then a mask in the wrong place is one
    """
    values = own if isinstance(reference, Measured) else Measured(reference)
    none: frozenset[int] = frozenset()
    excused: dict[int, frozenset[int]] = {}
    left: set[int] = set()
    natures: dict[int, Nature] = {}
    kinds = set()
    for question, args, off in wrong:
        with same_draws(question):
            known = natures.get(id(question.args))
            nature = natures[id(question.args)] = known or Nature(values, own, args)
            kind, found = nature.excuses(question.upstream, off)
            derived = known or values is own or all(_is_derivative(values, question, i, off[i][1]) for i in found)  # fmt: skip
        if not derived:
            return Meant()  # the reference says which gradient is meant
        kinds |= {kind} if found else set()
        left |= off.keys() - found.keys()
        excused |= {p: excused.get(p, none) | found.get(p, none) for p in off}
    kind = next((kind for kind in _KINDS if kind in kinds), "")
    doubts = {p: doubt for n in natures.values() for p, doubt in n.doubts.items()}
    if not kind or (said and kind in _MASKS) or (left and kind == IDENTITY):
        return Meant(doubts=doubts)
    noisy, linear = any(n.noisy for n in natures.values()), all(n.linear for n in natures.values())
    return Meant(kind, excused, noisy, linear, doubts)


def _is_derivative(values: Measured, question: Question, position: int, right: Tensor) -> bool:
    """Whether the reference's gradient is the derivative of its own values."""
    args = list(question.args)
    args[position] = args[position].detach().clone().requires_grad_(True)
    made = as_tuple(values(*args))
    pairs = [(o, g) for o, g in zip(made, question.upstream, strict=False) if g is not None]
    roots, grads = zip(*pairs, strict=True)
    (found,) = torch.autograd.grad(roots, args[position], grads)
    error = roots[0].grad_fn.run.errors[position]
    return bool(((found - right).abs() <= error + 1e-6 * right.abs() + 1e-8).all())


class Nature:
    """What kind of forward this is, around some arguments and far from them.

    Steps alone excuse no gradient: what backward adds to the derivative has to point to where forward's steps
    lead over longer distances. A sign with a minus is wrong, and so is a relu that forgets its mask. And where the
    rows of an output do not depend on other rows, neither does what they add to a gradient: a mean is wrong.

    doubts  what makes a gradient along steps a mistake, by position: TURNED or ROWS
    linear  in the upstream gradient, as any gradient has to be that is no interpolation of a solver's steps
    noisy   backward gives another gradient for other random numbers
    """

    def __init__(self, measured: Measured, own: Measured, args: Sequence[Any]):
        self.measured, self.own, self.args = measured.repeated(), own.repeated(), args
        self.steps = Steps(self.measured, self.own, args)
        self.doubts: dict[int, str] = {}
        self.linear, self.noisy = True, False

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
            if (handed := handed_on(self.measured, self.args)) is not None:
                kind, found = handed.excuses(upstream, off)
                # What is not handed on may get a gradient of what is, and none where nothing comes from above.
                return kind, {
                    p: of for p, of in found.items() if p in handed.places or self._vanishes(p)
                }
            return self._along_steps(off)
        except Exception:  # a forward that stops elsewhere is not known there
            return "", {}

    def _along_steps(self, off: Mapping[int, Gradients]) -> tuple[str, dict[int, frozenset[int]]]:
        steps = self.steps
        led = {p: of for p in off if (of := steps.led(p))}
        self.doubts |= dict.fromkeys(steps.turned, TURNED)
        with contextlib.suppress(Exception):  # so far away a forward may stop
            self.linear = not any(map(steps.interpolates, led))
        # Of what draws, fewer rows draw other numbers.
        settled = self.linear and not self.noisy and len(steps.draws) == 1
        rows = Rows(self.measured, self.own, self.args, steps.run.outputs)
        for p in filter(rows.mixed, [*led] * settled):
            self.doubts[p] = ROWS
            del led[p]
        # What forward does not follow at all is a parameter of the surrogate beside it.
        shaping = [p for p in off if led and p not in led and steps.stands_still(p)]
        # Beside other steps a gradient that is stopped is part of their surrogate: a zero point's is 0.
        kind = MASK if led and led.keys() <= steps.masked else STEPS
        return kind, led | dict.fromkeys(shaping, frozenset[int]().union(*led.values()))

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
        nothing = [torch.zeros_like(o) for o in self.steps.run.outputs]
        (given,) = self.own.gradients(self.args, [position], nothing)
        return not bool(given.any())
