"""Forward: the values."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.arithmetic_words import happened
from autograder.changed_arguments import changed_forward
from autograder.compare import (
    close,
    first_difference,
    mismatch,
    ratio,
    show_apart,
    single_inside,
    where_wrong,
)
from autograder.evidence import Evidence, Finding, Pair
from autograder.other_calls import other_call
from autograder.precision import few_digits
from autograder.rules.honesty import builds_it_itself
from autograder.rules.outputs import inputs_of, line_of, tensors_of, value_rule
from autograder.rules.registry import NOT_ASKED, Verdict, rule
from autograder.rules.slips import known_slip, same_outputs


@rule("forward-value", needs=("forward_runs", "output_has_value", "output_shape"))
def output_value(ev: Evidence) -> Verdict:
    """The output values agree with the reference."""
    if not ev.plain:
        return NOT_ASKED
    odd_dtype = False
    for pair in sorted(ev.plain, key=_size):
        for output, right in tensors_of(pair):
            odd_dtype = odd_dtype or output.dtype != right.dtype
            if output.dtype == right.dtype and (
                not close(output, right) or _single_by_oneself(ev, output, right)
            ):
                return _wrong_value(ev, pair, output, right)
    return NOT_ASKED if odd_dtype else None  # what was cut off or rounded with the dtype is unknown


def _single_by_oneself(ev: Evidence, output: Tensor, right: Tensor) -> bool:
    """Whether it went through float32, and not in a forbidden function, which has its own rule."""
    return single_inside(output, right) and not isinstance(builds_it_itself.judge(ev), Finding)


def _wrong_value(ev: Evidence, pair: Pair, output: Tensor, right: Tensor) -> Finding:
    slip, known = None, None
    # Where all are nearly right, what changes nothing would seem to explain them.
    if not all(same_outputs(p, p.expected.outputs) for p in ev.plain):
        slip = known_slip(ev, ev.plain)
        known = (slip.message, slip.hint) if slip is not None else other_call(ev, ev.plain)
        known = known or changed_forward(ev, ev.plain)
    odd = torch.isfinite(right) & ~torch.isfinite(output)
    place = next(i for i, (o, _) in enumerate(tensors_of(pair)) if o is output)
    cause = happened(ev, pair, "outputs", place, odd) if known is None and bool(odd.any()) else None
    if cause is not None:
        what = "the result" if ev.exercise.is_function else "the output"
        known = f"{cause.words}: {what} should be finite there.", cause.hint
    message, hint = known or _explain_value(ev, pair, output, right)
    rule_name = value_rule(ev, "forward-value")
    if pair.answer.inputs_changed and not ev.exercise.is_function:
        position = pair.answer.inputs_changed[0]
        message += f" It also writes to its input {ev.argument(position)}."
    mine, good = show_apart(output, right)
    evidence = {
        "case": pair.where, **inputs_of(ev, pair), "actual": mine, "expected": good,
        **line_of(ev, pair, slip.call if slip is not None else ""), **(cause.line if cause else {}),
    }  # fmt: skip
    difference = first_difference(output, right)
    if difference is not None:
        evidence["index"] = difference[0]
    return Finding(rule_name, message, hint, evidence)


def _explain_value(ev: Evidence, pair: Pair, output: Tensor, right: Tensor) -> tuple[str, str]:
    what = "The result" if ev.exercise.is_function else "The output"
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    if words := few_digits(what, output, right, ev.source, method):
        return words
    factors = [_factor(p) for p in ev.plain]
    if all(f is not None for f in factors) and factors[0] is not None and len(set(factors)) == 1:
        if factors[0] == -1.0:
            return (
                f"{what} has the wrong sign everywhere.",
                "Look for a minus sign too many or too few.",
            )
        return (
            f"{what} is {factors[0]:.4f} × the expected one everywhere.",
            "Look for a factor that is missing or that is there twice.",
        )
    if not torch.isfinite(output[torch.isfinite(right)]).all():
        return (
            f"{what} has nan or inf where the expected value is finite.",
            "Print the intermediate results.",
        )
    wrong = mismatch(output, right)
    for position in pair.question.wants:
        region = where_wrong(pair.question.args[position], wrong)
        if region:
            name = ev.argument(position)
            return (
                f"{what} is wrong exactly where {name} is {region}.",
                f"Work out by hand what should come out for one {name} that is {region}.",
            )
    count = int(wrong.sum())
    if wrong.numel() == 1:
        message = f"{what} is not the expected value."
    else:
        message = f"{what} differs from the expected values ({count} of {wrong.numel()} elements)."
    return (
        message,
        f"The contract is: {ev.exercise.summary} Compute the smallest case by hand.",
    )


def _factor(pair: Pair) -> float | None:
    for output, right in tensors_of(pair):
        found = ratio(output, right) if output.is_floating_point() else None
        if found is not None:
            return round(found, 6)
    return None


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))
