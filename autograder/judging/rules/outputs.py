"""What comes out of forward: how many outputs, of which shape and dtype, and their values."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.honesty import builds_it_itself
from autograder.judging.rules.problems import (
    Problem,
    inputs_of,
    kind_of,
    problems,
    size_of,
)
from autograder.judging.rules.registry import NOT_ASKED, Verdict, finds, plain, rule
from autograder.observation.compare import close, mismatch

_MOST_ORDERED = 6  # outputs whose orders are tried


def value_rule(ev: Evidence, name: str) -> str:
    """Plain functions have values, not forwards."""
    return "value" if ev.exercise.is_function else name


@rule("output-count", needs=("forward_runs",))
def output_has_value(ev: Evidence) -> Verdict:
    """Forward returns what it should: tensors, and as many as it should."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        if (found := _other_count(ev, pair) or _no_tensor(ev, pair)) is not None:
            return found
    return _in_another_order(ev)


def _other_count(ev: Evidence, pair: Pair) -> Finding | None:
    outputs, right, answer = pair.answer.outputs, pair.expected.outputs, pair.answer
    method, name = method_of(ev), value_rule(ev, "forward-value")
    if outputs is None:
        return None
    if outputs == (None,):
        return fault(name, "count/nothing", pair, method=method)
    listed = bool(answer.data.get("returned_list"))
    if len(outputs) != len(right) or answer.single != pair.expected.single:
        return fault(
            "output-count", "count/other", pair, symptom=True, method=method, mine=len(outputs),
            right=len(right), one=answer.single, one_asked=pair.expected.single,
            comma=len(outputs) == 1 and not answer.single and not listed, listed=listed,
        )  # fmt: skip
    if listed and not ev.exercise.is_function:
        return fault("output-count", "count/list", pair)
    return None


def _no_tensor(ev: Evidence, pair: Pair) -> Finding | None:
    for output, right in zip(pair.answer.outputs or (), pair.expected.outputs, strict=False):
        if isinstance(right, Tensor) and not isinstance(output, Tensor):
            number = isinstance(output, float | int)
            return fault(
                value_rule(ev, "forward-value"), "count/number" if number else "count/no-tensor", pair,
                symptom=True, kind=kind_of(output), method=method_of(ev),
            )  # fmt: skip
    return None


def method_of(ev: Evidence) -> str:
    return ev.exercise.name if ev.exercise.is_function else "forward"


def _in_another_order(ev: Evidence) -> Finding | None:
    """All outputs are right, but they stand in another order than the contract's."""
    places = tuple(range(len(ev.plain[0].expected.outputs)))
    if len(places) > _MOST_ORDERED or all(_is_ordered(p, places) for p in ev.plain):
        return None
    for order in permutations(places):
        if all(_is_ordered(p, order) for p in ev.plain):
            return fault("output-count", "count/order", ev.plain[0], method=method_of(ev), place=order[0] + 1)  # fmt: skip
    return None


def _is_ordered(pair: Pair, order: tuple[int, ...]) -> bool:
    """Whether each output is the one that belongs to the place named in ``order``."""
    outputs, right = pair.answer.outputs, pair.expected.outputs
    if outputs is None or len(outputs) != len(right) or len(right) != len(order):
        return False
    both = [(o, right[place]) for o, place in zip(outputs, order, strict=True)]
    return all(close(o, r) and o.dtype == r.dtype for o, r in both)


@rule("forward-shape", needs=("output_has_value",), of=plain)
def output_shape(ev: Evidence, pair: Pair) -> Verdict:
    """The output has the right shape."""
    found = _first(ev, pair, "output-shape")
    if found is not None:
        said = {
            "actual": f"shape {found.facts['mine']}",
            "expected": f"shape {found.facts['right']}",
        }
        found = replace(found, evidence=inputs_of(ev, pair) | said)
    return _wrong(ev, pair, found)


@rule("forward-dtype", needs=("output_shape",), of=plain)
def output_dtype(ev: Evidence, pair: Pair) -> Verdict:
    """The output has the dtype of the input."""
    return _wrong(ev, pair, _first(ev, pair, "output-dtype"))


@rule("forward-value", needs=("output_shape",), of=lambda ev: sorted(ev.plain, key=size_of))
def output_value(ev: Evidence, pair: Pair) -> Verdict:
    """The output values agree with the reference."""
    if _first(ev, pair, "output-value") is None and _first(ev, pair, "output-dtype"):
        return NOT_ASKED  # what was cut off or rounded with another dtype is unknown
    return wrong_output(ev, pair)


def wrong_output(ev: Evidence, pair: Pair) -> Finding | None:
    """The finding that the numbers of an output are wrong in a case."""
    if (number := _first(ev, pair, "output-number")) is not None:
        return _wrong(ev, pair, number)
    found = _first(ev, pair, "output-value")
    if found is None:
        return None
    output, right = tensors_of(pair)[found.place or 0]
    # A forbidden function that goes through float32 has its own rule.
    if close(output, right) and finds(ev, builds_it_itself):
        return None
    evidence = inputs_of(ev, pair) | found.evidence
    if found.index is not None:
        evidence["index"] = found.index
    changed = pair.answer.inputs_changed if not ev.exercise.is_function else ()
    counts = {"count": int(mismatch(output, right).sum()), "elements": right.numel()}
    written = {"written": ev.argument(changed[0]) if changed else ""}
    return _wrong(ev, pair, replace(found, evidence=evidence, facts=found.facts | counts | written))


def _first(ev: Evidence, pair: Pair, code: str) -> Problem | None:
    return next((each for each in problems(ev, pair) if each.code == code), None)


def _wrong(ev: Evidence, pair: Pair, found: Problem | None) -> Finding | None:
    if found is None:
        return None
    aspect = found.code.removeprefix("output-")
    return fault(
        value_rule(ev, f"forward-{aspect.replace('number', 'value')}"),
        f"forward/{aspect.replace('value', 'wrong')}", pair, symptom=True, evidence=found.evidence,
        place=found.place, **found.facts,
    )  # fmt: skip


def tensors_of(pair: Pair) -> list[tuple[Tensor, Tensor]]:
    """(output, right output) for every output that is a tensor on both sides."""
    if pair.answer.outputs is None:
        return []
    both = zip(pair.answer.outputs, pair.expected.outputs, strict=False)
    return [(o, r) for o, r in both if isinstance(o, Tensor) and isinstance(r, Tensor)]
