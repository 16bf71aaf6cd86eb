"""Forward: the values, and finite values where the reference has them."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.changed_arguments import changed_forward
from autograder.compare import (
    both,
    close,
    first_difference,
    mismatch,
    ratio,
    show,
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
    message, hint = known or _explain_value(ev, pair, output, right)
    rule_name = value_rule(ev, "forward-value")
    if pair.answer.inputs_changed and not ev.exercise.is_function:
        position = pair.answer.inputs_changed[0]
        message += f" It also writes to its input {ev.argument(position)}."
    mine, good = show_apart(output, right)
    evidence = {
        "case": pair.where, **inputs_of(ev, pair), "actual": mine, "expected": good,
        **line_of(ev, pair, slip.call if slip is not None else ""),
    }  # fmt: skip
    difference = first_difference(output, right)
    if difference is not None:
        evidence["index"] = difference[0]
    return Finding(rule_name, message, hint, evidence)


def _explain_value(ev: Evidence, pair: Pair, output: Tensor, right: Tensor) -> tuple[str, str]:
    what = "The result" if ev.exercise.is_function else "The output"
    if words := few_digits(what, output, right):
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


@rule("forward-unstable", needs=("forward_runs", "output_shape", "output_value"))
def output_stable(ev: Evidence) -> Verdict:
    """The output stays finite for very large and very small inputs."""
    pairs = list(ev.pairs("run", "function", role="extreme"))
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        if pair.answer.outputs is None:
            continue
        for output, right in tensors_of(pair):
            if output.shape != right.shape or not output.is_floating_point():
                continue
            bad = torch.isfinite(right) & ~torch.isfinite(output)
            if bool(bad.any()):
                return _unstable(ev, pair, output, right, bad)
            if not close(output, right, torch.float32):
                wrong = mismatch(output, right, torch.float32)
                return _unstable(ev, pair, output, right, wrong)
    return None


def _unstable(ev: Evidence, pair: Pair, output: Tensor, right: Tensor, bad: Tensor) -> Finding:
    at = ""
    for position in pair.question.wants:
        value = pair.question.args[position]
        if value.shape == bad.shape:
            at = f" at {ev.argument(position)} = {show(value[bad][0])}"
            break
    hint = (
        "exp overflows above about 88 in float32, and log of something that underflowed to 0 is -inf. "
        "Rewrite the formula so that exp only ever sees numbers that are not positive."
    )
    if bool((output[bad] == -torch.inf).any()):
        hint = (
            "Every exp of that sum underflowed to 0, and log(0) is -inf. Subtract the maximum of the very "
            "numbers that are summed (a row's own, not that of the whole tensor): then one of them is exp(0)."
        )
    message = (
        f"In float32 the output is {show(output[bad][0])}{at}, where the exact value is "
        f"{show(right[bad][0])}"
    )
    finite = bool(torch.isfinite(output).all())  # too many formulas give inf or nan there
    slip = known_slip(ev, [pair]) if finite else None
    return Finding(
        "forward-unstable",
        f"{message}: {slip.message}" if slip is not None else f"{message}.",
        slip.hint if slip is not None else ev.advice(pair.where) or hint,
        {"case": pair.where, **both(output, right, torch.float32), **line_of(ev, pair)},
    )


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))
