"""Far out, where exp overflows and underflows; and what forward gives while backward is not written yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple, gradients_of
from autograder.contract.references import applied, reference_arguments
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import Problem, at_index, problems, what_of
from autograder.judging.rules.ranges import (
    batch_dimensions,
    empty_tensors,
    single_precision,
    special_points,
)
from autograder.judging.rules.registry import NOT_ASKED, RIGHT, Rule, Verdict, rule, to
from autograder.observation.compare import alike, both

_PRECISE, _LOST = 1e-4, 0.05  # as a share of the number itself
_TINY = 2e-5  # what a number may be off by all the same where nothing is said of tiny ones


@rule("forward-unstable", needs=("output_value",), of=to("run", "function", role="extreme"))
def output_stable(ev: Evidence, pair: Pair) -> Verdict:
    """The output stays finite for very large and very small inputs."""
    off = (each for each in _far_out(ev, pair) if each.code == "output-value")
    return next((_off(ev, pair, each) for each in off), None)


@rule("gradient-unstable", needs=(*RIGHT, "output_stable"), of=to("run", role="extreme"))
def gradient_stable(ev: Evidence, pair: Pair) -> Verdict:
    """The gradient stays finite for very large and very small inputs."""
    special = ev.pairs("run", role="special", variant="")
    known = {_number(p, found) for p in special for found in problems(ev, p)} - {None}
    for found in _far_out(ev, pair):
        # What x = 0 shows in float64 too is not for the range of numbers.
        if found.code == "gradient-value" and _number(pair, found) not in known:
            return _off(ev, pair, found)
    return None


def _far_out(ev: Evidence, pair: Pair) -> list[Problem]:
    """What is wrong with an extreme case; both rules ask for it."""
    if "far out" not in pair.known:
        pair.known["far out"] = [*problems(ev, pair), *_without_digits(ev, pair)]
    return pair.known["far out"]


def _number(pair: Pair, found: Problem) -> tuple[int, float] | None:
    """Of which argument a gradient is wrong, and for which number most; None where that is no one number."""
    position, index = found.position, found.index
    if position is None or index is None:
        return None
    return position, float(pair.question.args[position][index].real)


def _without_digits(ev: Evidence, pair: Pair) -> Iterator[Problem]:
    """Outputs and gradients in which a number has lost its digits beside larger ones, though torch's own has them."""
    tiny = any(case.digits for case in ev.exercise.cases if case.name == pair.question.case)
    unsaid = 0.0 if tiny else _TINY * pair.question.more.get("times", 1)
    made, slopes = _torch_itself(ev, pair)
    outputs = zip(pair.answer.outputs or (), pair.expected.outputs, made, strict=False)
    looked: list[tuple[Any, ...]] = [
        ("output-value", what_of(ev, pair, place), place, None, *numbers)
        for place, numbers in enumerate(outputs)
    ]
    looked += [
        ("gradient-value", f"the gradient for {ev.argument(position)}", None, position,
         pair.raw(position), pair.right(position), precise)
        for position, precise in zip(pair.question.wants, slopes, strict=False)
    ]  # fmt: skip
    for code, what, place, position, got, right, precise in looked:
        if (index := _lost(got, right, precise, unsaid)) is not None:
            facts = {**at_index(ev, pair, got, right, index, position), "what": what}
            yield Problem(code, facts, both(got, right), place, position, index)


def _lost(got: Any, right: Any, precise: Tensor | None, tiny: float) -> tuple[int, ...] | None:
    """The first element in which a number has no digits left, and torch's own has four."""
    if precise is None or not alike(got, right):
        return None
    kept = (precise.double() - right).abs() <= _PRECISE * right.abs()
    lost = (got.double() - right).abs() > (_LOST * right.abs()).clamp(min=tiny)
    bad = ((right.abs() > torch.finfo(torch.float32).tiny) & kept & lost).nonzero()
    return tuple(map(int, bad[0])) if len(bad) else None


def _torch_itself(ev: Evidence, pair: Pair) -> tuple[tuple[Any, ...], tuple[Tensor | None, ...]]:
    """The reference's outputs and gradients in the dtype of the question: no answer has to be more precise."""
    question = pair.question
    args = [
        a.to(given.dtype).detach().requires_grad_(a.requires_grad) if isinstance(given, Tensor) else a
        for a, given in zip(reference_arguments(question), question.args, strict=True)
    ]  # fmt: skip
    with torch.enable_grad():
        made = as_tuple(applied(ev.exercise, question, args))
    return made, gradients_of(made, question.upstream, [args[i] for i in question.wants])


def _off(ev: Evidence, pair: Pair, found: Problem) -> Finding:
    kind, place, position = found.code.removesuffix("-value"), found.place, found.position
    if position is not None:
        place = pair.question.wants.index(position)
        shape = pair.question.args[position].shape
    else:
        shape = pair.expected.outputs[place or 0].shape
    steps = torch.empty(shape).stride()
    element = sum(at * step for at, step in zip(found.index or (), steps, strict=False))
    facts = {**found.facts, "place": place, "index": element}
    evidence = {name: found.evidence[name] for name in ("actual", "expected")}
    name = "forward" if kind == "output" else kind
    return fault(f"{name}-unstable", f"unstable/{kind}", pair, position, evidence=evidence, symptom=True, **facts)  # fmt: skip


# What forward alone can get wrong beyond the ordinary cases, in the order in which all rules ask.
_OF_FORWARD: tuple[Rule, ...] = (
    output_stable, special_points, batch_dimensions, empty_tensors, single_precision,
)  # fmt: skip


class _ForwardAlone(Evidence):
    """The same evidence, as if nobody had asked for gradients."""

    def pair(self, id: str) -> Pair:
        pair = super().pair(id)
        failure = pair.answer.failure
        if failure is None or failure.stage not in ("backward", "engine"):
            return pair
        question = replace(pair.question, wants=())
        return replace(pair, question=question, answer=replace(pair.answer, failure=None))


@rule("forward-value", needs=("output_value",))
def forward_of_a_half(ev: Evidence) -> Verdict:
    """While backward is not written yet: forward is right in every case."""
    failures = [p.answer.failure for p in ev.plain if p.answer.failure is not None]
    stops = any(f.stage != "forward" and f.unwritten for f in failures)
    unwritten = ev.source.has_stub("backward") or "backward" not in ev.source.methods
    if ev.exercise.is_function or not stops or not unwritten:
        return NOT_ASKED
    alone = _ForwardAlone(ev.exercise, ev.questions, ev.observation, ev.source, ev.references)
    verdicts = (current.judge(alone) for current in _OF_FORWARD)
    return next((found for found in verdicts if isinstance(found, Finding)), None)
