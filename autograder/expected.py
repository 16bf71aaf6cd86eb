"""What the reference gives for a question: the right outputs and derivatives, in float64 on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Exercise, Named
from autograder.functions import resolve
from autograder.materials import second_order  # the same measurement on both sides
from autograder.observation import Question


@dataclass
class Expected:
    """What the reference gives for a question, in float64 (or the output's own integer dtype)."""

    outputs: tuple[Any, ...]
    single: bool
    gradients: tuple[Tensor | None, ...] | None = None
    second: tuple[Tensor | None, ...] | None = None


@dataclass(frozen=True)
class Forward:
    """One run of the reference: the arguments it was given, its outputs and their graph.

    wants  positions of the arguments that require grad
    """

    args: list[Any]
    wants: tuple[int, ...]
    outputs: tuple[Any, ...]
    single: bool


class References:
    """The reference's answers to the questions of one exercise, each computed once.

    Many questions ask about the same arguments (in another layout, on another device, for one input
    alone): they share one run of the reference, and where the upstream gradient is the same too, one
    backward. Same arguments means the same tuple, which a plan hands to all its questions. Nothing
    that is remembered is ever written to: the reference works on copies, and rules only read.
    """

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        # By the identity of tuples, which stay in the values: no other object can get their id.
        self._forwards: dict[int, list[tuple[Question, Forward]]] = {}
        self._expected: dict[tuple[int | str, ...], tuple[Question, Expected]] = {}

    def forward(self, question: Question) -> Forward:
        """The run of the reference on the arguments of a question; its graph may be used again."""
        known = self._forwards.setdefault(id(question.args), [])
        for _, run in known:
            if set(question.wants) <= set(run.wants):
                return run
        run = run_reference(self.exercise, question)
        known.append((question, run))
        return run

    def expect(self, question: Question) -> Expected:
        """What the function of this name gives for the question, computed when it is first asked for."""
        run = self.forward(question)
        alone = question.id if question.kind == "second" else question.layout
        key = id(run), id(question.upstream), alone
        if key not in self._expected:
            whole = replace(question, wants=run.wants) if question.kind != "second" else question
            self._expected[key] = whole, expect(self.exercise, whole, run=run)
        whole, found = self._expected[key]
        if found.gradients is None or whole.wants == question.wants:
            return found
        kept = tuple(found.gradients[whole.wants.index(i)] for i in question.wants)
        return replace(found, gradients=kept)


def cast(args: Sequence[Any], dtype: torch.dtype) -> tuple[Any, ...]:
    """The same arguments with floating-point tensors in ``dtype``."""
    return tuple(
        a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args
    )


def reference_arguments(question: Question, args: Sequence[Any] | None = None) -> list[Any]:
    """The arguments as the reference gets them: float64, CPU, contiguous, with requires_grad."""
    made: list[Any] = []
    for i, value in enumerate(cast(question.args if args is None else args, torch.float64)):
        if isinstance(value, Tensor):
            value = value.detach().clone()
            if i in question.wants:
                value.requires_grad_(True)
        elif isinstance(value, Named):
            value = resolve(value)
        made.append(value)
    return made


def run_reference(exercise: Exercise, question: Question) -> Forward:
    """The reference applied to fresh copies of the arguments."""
    args = reference_arguments(question)
    with torch.enable_grad():
        output = exercise.reference(*args)
    single = not isinstance(output, tuple | list)
    return Forward(args, question.wants, (output,) if single else tuple(output), single)


def expected_upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    """The upstream gradients as the reference gets them."""
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is not None:
            given = given.to(torch.float64)
            given = given.expand(output.shape) if question.layout == "expanded" else given.clone()
        made.append(given)
    return made


def expect(
    exercise: Exercise,
    question: Question,
    upstream: Sequence[Tensor | None] | None = None,
    run: Forward | None = None,
) -> Expected:
    """What the reference gives for one question.

    upstream  another upstream gradient than the question's
    run       a run of the reference on these arguments, if there is one; its graph is kept
    """
    run = run or run_reference(exercise, question)
    expected = Expected(tuple(_detached(o) for o in run.outputs), run.single)
    grads = list(upstream) if upstream is not None else expected_upstream(question, run.outputs)
    wanted = [run.args[i] for i in question.wants]
    pairs = [(o, g) for o, g in zip(run.outputs, grads, strict=False) if g is not None]
    if question.kind == "second":
        leaves = [None if g is None else g.clone().requires_grad_(True) for g in grads]
        expected.gradients, expected.second = second_order(
            run.outputs, leaves, wanted, question.directions, bool(question.more.get("mixed")),
            keep_graph=True,
        )  # fmt: skip
    elif pairs and wanted:
        found = torch.autograd.grad(
            [o for o, _ in pairs], wanted, [g for _, g in pairs],
            retain_graph=True, allow_unused=True,
        )  # fmt: skip
        expected.gradients = tuple(map(_detached, found))
    return expected


def gradients_vary(run: Forward, question: Question) -> tuple[bool, ...]:
    """Whether each gradient of the reference is another for other arguments (a bias's never is)."""
    grads = expected_upstream(question, run.outputs)
    pairs = [(o, g) for o, g in zip(run.outputs, grads, strict=False) if g is not None]
    wanted = [run.args[i] for i in question.wants]
    if not pairs or not wanted:
        return ()
    found = torch.autograd.grad(
        [o for o, _ in pairs], wanted, [g for _, g in pairs],
        create_graph=True, allow_unused=True,
    )  # fmt: skip
    return tuple(g is not None and g.requires_grad for g in found)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
