"""Gradients that are no derivatives of forward, and may be all right: surrogates, and what is approximate."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.any_function import Terms
from autograder.contract.differences import through
from autograder.contract.differentiation import as_tuple, same_draws
from autograder.contract.exercise import Exercise
from autograder.contract.handed_on import BOUNDS, IDENTITY
from autograder.contract.meant_gradients import NOISE, STEPS, Nature, OwnGradient
from autograder.contract.measured import Measured
from autograder.contract.real_numbers import flat_of, is_differentiable, unflat
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.rules.problems import gradient_problem
from autograder.reporting.verdict import Asked
from autograder.running.submission import fresh_arguments
from autograder.running.watching import counted

_AGAIN = 8  # times
_ALIKE = 0.1  # as a share of the larger one
_ATOL, _RTOL = 1e-5, 9e-4  # nearly what gradcheck allows: of the largest number, and of each
_MANY = 1e-4  # of the largest number, where forward does one thing again and again
_MOST = 1e-2  # in any case
_STEPS_LEFT = 200  # what a solver leaves off is so many of its last steps, where it is slow
_CLOSE = 1e-9  # places between which forward stops a step later


@dataclass(frozen=True)
class Meant:
    """Which gradients are no derivatives, and may be meant so.

    kind     STEPS, BOUNDS, IDENTITY, NOISE, or "" for none
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


Wrong = Sequence[tuple[Pair, dict[int, tuple[Tensor, Tensor]]]]


def wrong_gradients(evidence: Evidence) -> Wrong:
    """Of each plain case in which some are: (what backward gives, what is right) by position. () where backward stops."""
    found = []
    for pair in evidence.plain:
        if pair.answer.failure is not None or pair.answer.gradients is None:
            return ()
        off = {}
        for i in pair.question.wants:
            given, right = pair.reached(i), pair.right(i)
            wrong = gradient_problem(evidence, pair, i)
            if right is not None and isinstance(given, Tensor) and wrong is not None:
                off[i] = given, right
        found.append((pair, off))
    return [(pair, off) for pair, off in found if off]


def gradients_meant(wrong: Wrong, asked: Asked, own: Measured, terms: Terms) -> Meant:
    """What backward gives and how forward moves tell of gradients that are no derivatives."""
    reference = asked.exercise.reference
    values = own if isinstance(reference, Measured) else Measured(reference)
    none: frozenset[int] = frozenset()
    excused: dict[int, frozenset[int]] = {}
    left: set[int] = set()
    natures: dict[int, Nature] = {}
    kinds = set()
    for pair, off in wrong:
        with same_draws(pair.question):
            known = natures.get(id(pair.question.args))
            nature = known or Nature(values, own, fresh_arguments(pair.question))
            natures[id(pair.question.args)] = nature
            kind, found = nature.excuses(pair.question.upstream, off)
            derived = known or values is own or all(_is_derivative(values, pair, i, off[i][1]) for i in found)  # fmt: skip
        if not derived:
            return Meant()  # the reference says which gradient is meant
        kinds |= {kind} if found else set()
        left |= off.keys() - found.keys()
        excused |= {p: excused.get(p, none) | found.get(p, none) for p in off}
    kind = next((kind for kind in (STEPS, BOUNDS, IDENTITY, NOISE) if kind in kinds), "")
    # Who is strict, or says which gradient is right, has a mask that is missing for one.
    said = terms.strict or terms.reference is not None
    none_is = {"": True, BOUNDS: said, IDENTITY: bool(left)}.get(kind, False)
    noisy, linear = any(n.noisy for n in natures.values()), all(n.linear for n in natures.values())
    doubts = {p: doubt for n in natures.values() for p, doubt in n.doubts.items()}
    return Meant(doubts=doubts) if none_is else Meant(kind, excused, noisy, linear, doubts)


def left_off(wrong: Wrong, own: Measured, args: Sequence[Any]) -> float | None:
    """What gradients may be off by where all are a little, nearly everywhere; as a share of the largest number.

    A mistake is larger, one factor, or in one place. None where there is one, and where forward does nothing again
    and again, as a solver that stops when it is exact enough, or in time steps.
    """
    off_at_all, most = [torch.ones(1)], [0.0]
    for got, right in (each for _, off in wrong for each in off.values()):
        if got.shape != right.shape or right.is_complex() or not bool(right.any()):
            return None
        apart, size = (got - right).abs(), right.abs()
        low, high = ((got - right) / right)[size > 0].aminmax()
        if not bool(got.isfinite().all()) or high - low < _ALIKE * max(high, -low):
            return None  # one factor
        off_at_all.append(
            (apart > 0).flatten().float()
        )  # within what was measured both are the same
        most.append(float((apart - _RTOL * size).max() / size.max()))
    if max(most) > _MOST or float(torch.cat(off_at_all).mean()) < 0.5:
        return None
    atol = _left_off(own, args, bool(wrong))
    return 2 * atol if atol is not None and max(most) <= atol else None


def how_far(wrong: Wrong) -> str:
    """What gradients are off by, at most, as a share of the largest number; "" where none is."""
    shares = [
        float((got - right).abs().max() / right.abs().max())
        for _, off in wrong for got, right in off.values() if got.shape == right.shape and bool(right.any())
    ]  # fmt: skip
    return f"{max(shares):.0e}" if shares else ""


def _left_off(own: Measured, args: Sequence[Any], more: bool) -> float | None:
    """What gradients may be off by; if ``more``, what a step more or less moves the outputs. None: there are no steps."""

    def ran(t: float) -> tuple[list[int], Tensor]:
        """How often operations and lines ran at a place on a line through all arguments, and the outputs."""
        moved = [
            unflat(flat_of(a) + t * through(flat_of(a)), a).requires_grad_(a.requires_grad)
            if is_differentiable(a) else a for a in args
        ]  # fmt: skip
        with counted(own.call.files) as work:  # type: ignore[attr-defined]
            outputs = as_tuple(own.values(moved))
        made = torch.cat([flat_of(o) for o in outputs if is_differentiable(o)])
        return [*work.ran.operations.values(), *work.places.values()], made

    with contextlib.suppress(Exception):
        here, made = ran(0.0)
        if max(here, default=0) < _AGAIN:
            return None
        for far in (0.1, -0.1, 0.5, -0.5) if more else ():
            near, there = 0.0, far
            while ran(there)[0] != here and abs(there - near) > _CLOSE:
                middle = (near + there) / 2
                near, there = (middle, there) if ran(middle)[0] == here else (near, middle)
            if there != far or ran(far)[0] != here:
                jump = float((ran(near)[1] - ran(there)[1]).abs().max() / made.abs().max())
                return min(_MOST, max(_MANY, _STEPS_LEFT * jump))
        return _MANY
    return None


def allowing(asked: Asked, terms: Terms, of_largest: float = _ATOL) -> Asked:
    """The same with gradcheck's tolerances, or more; what was measured is known.

    What a finer comparison sees is worth a word, and nobody's work. Who says what is right, or how exactly, is
    taken at the word.
    """
    if terms.exact:
        return asked
    exercise, references = asked.exercise, copy.copy(asked.references)
    allowed = replace(exercise.strictness, rtol=_RTOL, of_largest=of_largest)
    references.exercise = exercise = replace(exercise, strictness=allowed)
    return replace(asked, exercise=exercise, references=references)


def _is_derivative(values: Measured, pair: Pair, position: int, right: Tensor) -> bool:
    """Whether the reference's gradient is the derivative of its own values."""
    args = list(pair.question.args)
    args[position] = args[position].detach().clone().requires_grad_(True)
    made = as_tuple(values(*args))
    pairs = [(o, g) for o, g in zip(made, pair.question.upstream, strict=False) if g is not None]
    roots, grads = zip(*pairs, strict=True)
    (found,) = torch.autograd.grad(roots, args[position], grads)
    error = roots[0].grad_fn.run.errors[position]
    return bool(((found - right).abs() <= error + 1e-6 * right.abs() + 1e-8).all())


def judged_as_surrogate(asked: Asked, own: Measured, terms: Terms, meant: Meant) -> Asked:
    linear = meant.kind != IDENTITY and not meant.noisy and meant.linear
    reference = OwnGradient(own, meant.excused, terms.reference, linear)
    exercise: Exercise = replace(asked.exercise, reference=reference, linear_upstream=linear)
    questions = asked.questions
    if meant.noisy:  # two calls draw different numbers, and neither is wrong
        questions = tuple(q for q in questions if q.kind == "run")
    if not terms.second_order:  # what a surrogate's derivative is, nobody has said
        exercise = replace(exercise, second_order="not-judged")
        questions = tuple(q for q in questions if q.kind != "second")
    return Asked(exercise, questions, asked.hidden, asked.seed, asked.devices)
