"""Gradients that are no derivatives of forward, and may be all right: surrogates, and what is approximate."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.any_function import Terms
from autograder.contract.differentiation import as_tuple
from autograder.contract.exercise import Exercise
from autograder.contract.handed_on import IDENTITY
from autograder.contract.meant_gradients import Meant, gradients_meant
from autograder.contract.measured import Measured
from autograder.contract.not_finite import finite
from autograder.contract.own_gradient import OwnGradient
from autograder.contract.real_numbers import flat_of, is_differentiable, unflat
from autograder.contract.references import References
from autograder.contract.rounding_noise import through
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


def meant_in(wrong: Wrong, asked: Asked, own: Measured, terms: Terms) -> Meant:
    """Which of them may be meant."""
    off = [(pair.question, fresh_arguments(pair.question), off) for pair, off in wrong]
    return gradients_meant(off, asked.exercise.reference, own, terms.strict or terms.reference is not None)  # fmt: skip


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
        float(finite(got - right).abs().max() / finite(right).abs().max())
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
    references = References(exercise)
    return replace(asked, exercise=exercise, questions=questions, references=references)
