"""What the reference gives for a question: the right outputs and derivatives, in float64 on the CPU."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import (
    as_tuple,
    draws_kept,
    gradients_of,
    same_draws,
    second_order,
    transformed,
)
from autograder.contract.ending import TimeIsOver
from autograder.contract.exercise import Exercise, Sampler
from autograder.contract.functions import resolve
from autograder.contract.measured import Measured
from autograder.contract.measured_twice import second
from autograder.observation.observation import Named, Question
from autograder.observation.snapshot import Unseen


@dataclass
class Expected:
    """What the reference gives for a question, in float64 (or the output's own integer dtype).

    errors, second_errors  how far the derivatives may be off where they were measured, in their shapes;
                           infinite where nobody can tell; () where they are exact
    output_errors          the same of outputs, where somebody's reference rounds itself
    sizes                  how large the numbers are that the gradients are sums of, where that was measured
    """

    outputs: tuple[Any, ...]
    single: bool
    gradients: tuple[Tensor | None, ...] | None = None
    second: tuple[Tensor | None, ...] | None = None
    errors: tuple[Tensor | None, ...] = ()
    output_errors: tuple[Tensor | None, ...] = ()
    second_errors: tuple[Tensor | None, ...] = ()
    sizes: tuple[Tensor | None, ...] = ()


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
        self._forwards: dict[tuple[int, int], list[tuple[Question, Forward]]] = {}
        self._expected: dict[tuple[Any, ...], tuple[Question, Expected]] = {}
        self._experiments: dict[str, dict[str, Any]] = {}
        self._transformed: dict[int, tuple[Question, dict[str, list[Tensor] | str]]] = {}

    def experiment(self, question: Question) -> dict[str, Any]:
        """What an experiment gives with the reference in the submission's place; {} where it stops with an error."""
        if question.id not in self._experiments:
            scenario = next(s for s in self.exercise.scenarios if s.name == question.more["name"])
            data = self._experiments[question.id] = {}
            with draws_kept(), torch.enable_grad(), contextlib.suppress(Exception):
                data |= scenario.run(self.exercise.reference, Sampler(question.more["seed"]))
        return self._experiments[question.id]

    def forward(self, question: Question) -> Forward:
        """The run of the reference on the arguments of a question; its graph may be used again."""
        known = self._forwards.setdefault((id(question.args), id(question.more.get("drawn"))), [])
        # A submission's own forward may ask who requires grad, and draws other numbers in a case of another name.
        own = getattr(self.exercise.reference, "own", False) or self.exercise.drawn is not None
        for asked, run in known:
            alike = question.wants == run.wants and question.case == asked.case
            if alike if own else set(question.wants) <= set(run.wants):
                return run
        run = run_reference(self.exercise, question)
        known.append((question, run))
        return run

    def as_drawn(self, question: Question, outputs: Sequence[Any] | None) -> Question:
        """The question with what an answer drew at random, read off its outputs: what is right depends on it."""
        drawn, given = self.exercise.drawn, tuple(outputs or ())
        if drawn is None or not given or _shapes(given) != _shapes(self.forward(question).outputs):
            return question
        return replace(question, more={**question.more, "drawn": drawn(question.args, given)})

    def expect(self, question: Question) -> Expected:
        """What the function of this name gives for the question, computed when it is first asked for."""
        run, twice = self.forward(question), question.kind == "second"
        # Strides change no number; an upstream gradient that is expanded is another one.
        key: tuple[Any, ...] = id(run), id(question.upstream), question.layout == "expanded"
        if twice:
            key = *key, question.wants, id(question.directions), question.more["mixed"]
        if key not in self._expected:
            whole = question if twice else replace(question, wants=run.wants)
            self._expected[key] = whole, expect(self.exercise, whole, run=run)
        whole, found = self._expected[key]
        if found.gradients is None or whole.wants == question.wants:
            return found
        places = [whole.wants.index(i) for i in question.wants]
        return replace(
            found, gradients=tuple(found.gradients[place] for place in places),
            errors=tuple(found.errors[place] for place in places) if found.errors else (),
            sizes=tuple(found.sizes[place] for place in places) if found.sizes else (),
        )  # fmt: skip

    def transforms(self, question: Question) -> dict[str, list[Tensor] | str]:
        """What torch.func's transforms give of the reference, for the arguments of the question."""
        if id(question) not in self._transformed:
            found = transformed(lambda *args: applied(self.exercise, question, args), question)
            self._transformed[id(question)] = question, found
        return self._transformed[id(question)][1]


def cast(args: Sequence[Any], dtype: torch.dtype) -> tuple[Any, ...]:
    """The same arguments with floating-point tensors in ``dtype``."""
    return tuple(_cast(value, dtype) for value in args)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Unseen):
        return value.to(dtype)
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(dtype)
    if isinstance(value, Tensor) and value.is_complex():
        return value.to(torch.complex128 if dtype == torch.float64 else torch.complex64)
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def reference_arguments(
    question: Question, args: Sequence[Any] | None = None, dtype: torch.dtype = torch.float64
) -> list[Any]:
    """The arguments as the reference gets them: float64, CPU, contiguous, with requires_grad."""
    made: list[Any] = []
    first, last = question.more.get("same", (-1, -1))
    for i, value in enumerate(cast(question.args if args is None else args, dtype)):
        if isinstance(value, Tensor):
            value = value.detach().clone()
            if i in question.wants:
                value.requires_grad_(True)
        elif isinstance(value, Named):
            value = resolve(value)
        made.append(made[first] if i == last else value)
    return made


def applied(exercise: Exercise, question: Question, args: Sequence[Any]) -> Any:
    """What the reference gives for these arguments, with what was drawn for the question."""
    return exercise.reference(*args, *question.more.get("drawn", ()))


def run_reference(
    exercise: Exercise, question: Question, dtype: torch.dtype = torch.float64
) -> Forward:
    """The reference applied to fresh copies of the arguments."""
    args = reference_arguments(question, dtype=dtype)
    with torch.enable_grad(), same_draws(question):
        try:
            output = applied(exercise, question, args)
        except Exception as error:
            if isinstance(error, TimeIsOver) or not getattr(exercise.reference, "own", False):
                raise
            output = ()  # the submission itself stops: it will be asked, and said so
    return Forward(args, question.wants, as_tuple(output), not isinstance(output, tuple | list))


def expected_upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    """The upstream gradients as the reference gets them."""
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is not None:
            (given,) = cast((given,), torch.float64)
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
    with same_draws(question):
        found = _expected(exercise, question, upstream, run)
    if exercise.strictness.as_given and not isinstance(exercise.reference, Measured):
        with same_draws(question), contextlib.suppress(RuntimeError):  # it may not take every dtype
            return replace(found, **_rounding(exercise, question, found))
    return found


def _expected(
    exercise: Exercise, question: Question, upstream: Sequence[Tensor | None] | None, run: Forward
) -> Expected:
    expected = Expected(tuple(_detached(o) for o in run.outputs), run.single)
    grads = list(upstream) if upstream is not None else expected_upstream(question, run.outputs)
    wanted, mixed = [run.args[i] for i in question.wants], bool(question.more.get("mixed"))
    measured = exercise.reference if isinstance(exercise.reference, Measured) else None
    if question.kind == "second" and measured is not None:
        try:
            expected.second, expected.second_errors = second(
                measured, run.args, question.wants, grads, question.directions, mixed
            )
        except TimeIsOver:
            raise
        except Exception:  # the submission's own backward stops: that is told of it
            pass
    elif question.kind == "second":
        leaves = [None if g is None else g.clone().requires_grad_(True) for g in grads]
        asked = run.outputs, leaves, wanted, question.directions
        given = exercise.strictness.as_given
        # F.hardsigmoid has none: of somebody's own reference nobody promised one. Who is differentiable
        # once has no graph, not even to grad_output, which every gradient follows.
        with contextlib.suppress(*[RuntimeError] * given):
            both = second_order(*asked, mixed and not given, keep_graph=True)
            if not given or any(each is not None for each in both[1]):
                if given and mixed:
                    both = second_order(*asked, mixed, keep_graph=True)
                expected.gradients, expected.second = both
    elif wanted and any(g is not None for g in grads):
        found = gradients_of(run.outputs, grads, wanted, retain_graph=True)
        expected.gradients = tuple(map(_detached, found))
        slopes = next((o.grad_fn for o in run.outputs if isinstance(o, Tensor) and o.grad_fn), None)
        if measured is not None and slopes is not None and hasattr(slopes, "run"):
            expected.errors = tuple(slopes.run.errors.get(i) for i in question.wants)
            expected.sizes = tuple(slopes.run.sizes.get(i) for i in question.wants)
    return expected


def _rounding(exercise: Exercise, question: Question, exact: Expected) -> dict[str, Any]:
    """The fields that say what somebody's own reference is off by in the dtype of a question."""
    dtypes = {question.args[i].dtype for i in question.wants}
    if not dtypes or not dtypes.isdisjoint({torch.float64, torch.complex128}):
        return {}
    run = run_reference(exercise, question, dtypes.pop().to_real())
    upstream = [
        None if g is None else g.to(o.dtype)
        for g, o in zip(expected_upstream(question, run.outputs), run.outputs, strict=False)
    ]
    rounded = _expected(exercise, question, upstream, run)
    fields = {"outputs": "output_errors", "gradients": "errors", "second": "second_errors"}
    both = {e: (getattr(rounded, f) or (), getattr(exact, f) or ()) for f, e in fields.items()}
    return {e: tuple(map(_most, *values)) for e, values in both.items()}


def _most(rounded: Any, exact: Any) -> Tensor | None:
    """Twice the most that two tensors are apart, for each of their numbers; None for anything else."""
    tensors = isinstance(rounded, Tensor) and isinstance(exact, Tensor) and exact.numel()
    if not tensors or not (exact.is_floating_point() or exact.is_complex()):
        return None
    apart = (rounded.detach().to(exact.dtype) - exact).abs().nan_to_num(nan=0.0, posinf=torch.inf)
    return torch.full_like(apart, 2 * float(apart.max()))


def gradients_vary(run: Forward, question: Question) -> tuple[bool, ...]:
    """Whether each gradient of the reference is another for other arguments (a bias's never is)."""
    grads, wanted = expected_upstream(question, run.outputs), [run.args[i] for i in question.wants]
    found = gradients_of(run.outputs, grads, wanted, create_graph=True)
    return tuple(g is not None and g.requires_grad for g in found)


def _shapes(values: Sequence[Any]) -> list[Any]:
    return [v.shape if isinstance(v, Tensor) else None for v in values]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
