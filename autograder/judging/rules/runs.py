"""It runs: forward and backward come to their end, on a node of your own, with one gradient an argument."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.registry import NOT_ASKED, Verdict, of_classes, plain, rule
from autograder.observation.compare import close
from autograder.observation.observation import Failure
from autograder.observation.source import at

# Failures of the engine that have a rule of their own; the raises rule leaves them to it.
_COUNT = "returned an incorrect number of gradients"
_SHAPE = "returned an invalid gradient at index"
_NON_TENSOR = "returned a gradient different than None at position"
_NOT_PASSED = (
    "returned a non-None gradient for an input that was not passed"  # operators, torch 2.14
)
_NOT_VARIABLE = "expected Variable or None"
_ELSEWHERE = (_COUNT, _SHAPE, _NON_TENSOR, _NOT_PASSED, _NOT_VARIABLE)


@rule("raises", of=plain)
def forward_runs(ev: Evidence, pair: Pair) -> Verdict:
    """Forward runs."""
    failure = pair.answer.failure
    stops = failure and (failure.stage == "forward" or ev.exercise.is_function)
    return stopped(ev, pair) if stops else None


@rule("raises", needs=("forward_runs",), promise="gradients")
def backward_runs(ev: Evidence) -> Verdict:
    """Backward runs."""
    answers = of_classes(ev)
    for pair in answers:
        failure = pair.answer.failure
        if failure is None or failure.stage not in ("backward", "engine"):
            continue
        if failure.stage == "backward" or not any(t in failure.message for t in _ELSEWHERE):
            return stopped(ev, pair)
    arrived = (a.backward or any(g is not None for g in a.gradients or ()) for a in (p.answer for p in answers))  # fmt: skip
    return None if any(arrived) else NOT_ASKED


def stopped(ev: Evidence, pair: Pair, rule: str = "raises", case: str = "") -> Finding:
    """The finding for a call that stopped with an error; why, its words and its line may tell.

    case  words for the case ("for an empty tensor"), where it stops in this one alone
    """
    failure = pair.answer.failure
    assert failure is not None
    given, method = ev.exercise.strictness.as_given, method_of(ev, failure)
    said = re.split(r"\n|, but expected one of", failure.message)[0][:100].rstrip(".:")
    unasked = given and (pair.question.kind != "run" or pair.question.variant in _UNASKED)
    if case and unasked and said and (failure.refused or _LACKS.search(failure.message)):
        return fault(rule, "stops/refused", pair, evidence={"original": failure.original}, case=case, method=method, said=said)  # fmt: skip
    if failure.unwritten and (not given or "You must implement" in failure.message):
        return _unwritten(ev, pair, failure)
    helper = _helper(ev, failure, method)
    place = f"{helper}, which {method} calls," if helper else method
    return fault(
        rule, "stops/error", pair, symptom=True,
        seen_at=failure.place, evidence={"original": failure.original},
        where=f"{case}, {place}" if case else place, method=method, kind=failure.kind,
        said=said,
        at_line=failure.line if failure.own_frame else None, function=ev.exercise.is_function,
    )  # fmt: skip


# Circumstances that nobody gave: who refuses them in words of its own has said so.
_UNASKED = ("transposed", "consumer", "expanded", "float32")
# What torch says of a Function that never claimed to be transformed.
_LACKS = re.compile(r"must override the setup_context|generate_vmap_rule|You must implement|not implement")  # fmt: skip


def method_of(ev: Evidence, failure: Failure) -> str:
    """What stopped, as the learner calls it: "forward", "backward", or the name of a plain function."""
    if ev.exercise.is_function:
        return ev.exercise.name
    if failure.stage == "forward":
        return "forward"
    inside = failure.stage in ("backward", "engine", "second") or failure.function == "backward"
    return "backward" if inside else failure.function or ev.exercise.name


def _helper(ev: Evidence, failure: Failure, method: str) -> str:
    """The function of the learner's in which it stopped, where that is not the method itself."""
    own, node = failure.function, ev.source.methods.get(method)
    known = ("forward", "backward", "setup_context", "vjp", method, getattr(node, "name", ""))
    return own if failure.own_frame and own.isidentifier() and own not in known else ""


def _unwritten(ev: Evidence, pair: Pair, failure: Failure) -> Finding:
    """A stub, or a method that is not there."""
    name, source = ev.exercise.name, ev.source
    stub = failure.function or method_of(ev, failure)
    wanted = re.search(r"You must implement (?:either )?the (\w+)", failure.message)
    if wanted:
        return fault("raises", "start/no-method", pair, evidence={"not_started": True},
                     symptom=True, name=name, method=wanted[1])  # fmt: skip
    if ev.exercise.is_function and source.methods and stub not in source.methods:
        return fault("raises", "start/earlier", pair, name=name, stub=stub)
    if source.methods and not source.is_stub(stub) and source.has_stub(stub):
        return fault("raises", "start/stub-left", pair, seen_at=failure.place, method=stub)
    halves = [m for m in ("forward", "backward") if m != stub and m in source.methods]
    done = [m for m in halves if not source.has_stub(m)] if stub != name else []
    return fault("raises", "start/nothing", pair, seen_at=failure.place, evidence={"not_started": True},
                 name=name, method=stub, done=done[0] if done else "")  # fmt: skip


@rule("not-a-function", needs=("output_has_value",), of=of_classes)
def output_is_connected(ev: Evidence, pair: Pair) -> Verdict:
    """The output is connected to your own backward."""
    answer = pair.answer
    if answer.outputs is None or not pair.question.wants:
        return None
    if not any(answer.requires_grad):
        return fault("not-a-function", "graph/cut-off", pair, symptom=True)
    return None if answer.custom else fault("not-a-function", "graph/no-backward", pair)


@rule("gradient-count", needs=("output_is_connected", "backward_runs"), of=of_classes)
def one_gradient_an_argument(ev: Evidence, pair: Pair) -> Verdict:
    """Backward returns one gradient an argument, None for what is no tensor."""
    text = pair.answer.failure.message if pair.answer.failure is not None else ""
    last = pair.answer.backward[-1].returned_type if pair.answer.backward else ""
    if _COUNT in text or (_NOT_VARIABLE in text and last == "list"):
        return _miscounted(ev, pair, last)
    if _NON_TENSOR in text or _NOT_PASSED in text:
        return _for_a_value(ev, pair)
    return _no_tensor(ev, pair, text) if _NOT_VARIABLE in text else None


def _count(
    ev: Evidence, pair: Pair, cause: str, rule: str = "gradient-count", **facts: Any
) -> Finding:
    place = ev.source.returned("backward", pair.answer.returned_at) or ev.source.ends("backward")
    said = pair.answer.failure.message[:300] if pair.answer.failure else ""
    names = [ev.argument(i) for i in range(len(pair.question.args))]
    return fault(
        rule, cause, pair, seen_at=place, evidence={"original": said}, names=names, **facts
    )


def _miscounted(ev: Evidence, pair: Pair, last: str) -> Finding:
    if last == "list":
        return _count(ev, pair, "returns/list")
    if last == "NoneType":
        return _count(ev, pair, "returns/nothing", "gradient-missing")
    passed, calls = len(pair.question.args), pair.answer.backward
    got = len(calls[0].returned or ()) if calls else 0
    if passed < got <= len(ev.exercise.argument_names):
        return _count(ev, pair, "returns/left-out", argument=ev.argument(got - 1))
    left_out = passed < len(ev.exercise.argument_names)
    return _count(ev, pair, "returns/wrong", returned=got, expected=passed, some=left_out)


def _for_a_value(ev: Evidence, pair: Pair) -> Finding:
    """A gradient where a plain value was given; perhaps that of a tensor, in the wrong place."""
    raw = pair.answer.raw or ()
    values = [j for j, v in enumerate(raw) if v is not None and not _is_tensor(pair, j)]
    for j in values:
        for i in pair.question.wants:
            right, own = pair.right(i), raw[i] if i < len(raw) else None
            if close(raw[j], right) and not close(own, right):
                return _count(ev, pair, "returns/other-place", argument=ev.argument(i), place=ev.argument(j))  # fmt: skip
    return _count(ev, pair, "returns/for-value", values=[ev.argument(j) for j in values])


def _is_tensor(pair: Pair, position: int) -> bool:
    args = pair.question.args
    return position < len(args) and isinstance(args[position], Tensor)


def _no_tensor(ev: Evidence, pair: Pair, text: str) -> Finding:
    odd = [i for i, v in enumerate(pair.answer.raw or ()) if not isinstance(v, Tensor | None)]
    kind = re.search(r"\(got (.*?)\)", text)
    found = _count(ev, pair, "returns/no-tensor", argument=ev.argument(odd[0]) if odd else "",
                   kind=kind[1] if kind else "")  # fmt: skip
    if odd:
        place = ev.source.returned_expression("backward", odd[0], pair.answer.returned_at)
        found.evidence |= at(place)
    return found
