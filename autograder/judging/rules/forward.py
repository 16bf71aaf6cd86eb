"""Forward: the values."""

from __future__ import annotations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.honesty import builds_it_itself
from autograder.judging.rules.outputs import inputs_of, outputs_of, value_rule
from autograder.judging.rules.problems import apart, what_of
from autograder.judging.rules.registry import NOT_ASKED, Verdict, rule
from autograder.observation.compare import (
    close,
    first_difference,
    mismatch,
    show_apart,
    single_inside,
)


@rule("forward-value", needs=("forward_runs", "output_has_value", "output_shape"))
def output_value(ev: Evidence) -> Verdict:
    """The output values agree with the reference."""
    if not ev.plain:
        return NOT_ASKED
    found = outputs_of(ev)
    for pair, place, output, right in sorted(found, key=lambda each: _size(each[0])):
        if output.dtype == right.dtype and (
            not close(output, right) or _single_by_oneself(ev, output, right)
        ):
            return _wrong(ev, pair, place, output, right)
    # What was cut off or rounded with another dtype is unknown.
    return NOT_ASKED if any(o.dtype != r.dtype for _, _, o, r in found) else None


def _single_by_oneself(ev: Evidence, output: Tensor, right: Tensor) -> bool:
    """Whether it went through float32, and not in a forbidden function, which has its own rule."""
    return single_inside(output, right) and not isinstance(builds_it_itself.judge(ev), Finding)


def _wrong(ev: Evidence, pair: Pair, place: int, output: Tensor, right: Tensor) -> Finding:
    mine, good = show_apart(output, right)
    evidence = {**inputs_of(ev, pair), "actual": mine, "expected": good}
    if (difference := first_difference(output, right)) is not None:
        evidence["index"] = difference[0]
    changed = pair.answer.inputs_changed if not ev.exercise.is_function else ()
    return fault(
        value_rule(ev, "forward-value"), "forward/wrong", pair, evidence=evidence, symptom=True,
        place=place, count=int(mismatch(output, right).sum()), elements=right.numel(),
        written=ev.argument(changed[0]) if changed else "",
        **apart(ev, pair, what_of(ev, pair, place), output, right),
    )  # fmt: skip


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))
