"""Forward: the values."""

from __future__ import annotations

import ast

import torch
from torch import Tensor

from autograder.causes.argument_order import other_order
from autograder.causes.arithmetic_words import happened
from autograder.causes.changed_arguments import changed_forward
from autograder.causes.forward_terms import changed_output
from autograder.causes.known_functions import other_function
from autograder.causes.one_memory import one_tensor
from autograder.causes.other_calls import other_call
from autograder.causes.precision import difference_quotient, few_digits
from autograder.causes.regions import not_repeated, same_everywhere, wrong_region
from autograder.causes.rounded_constants import rounded_constant
from autograder.causes.shapes_of_outputs import summed_down
from autograder.causes.slips import known_slip, same_outputs
from autograder.compare import (
    close,
    first_difference,
    mismatch,
    ratio,
    show_apart,
    single_inside,
)
from autograder.evidence import Evidence, Finding, Pair
from autograder.exercise import ForwardSlip
from autograder.rules.honesty import builds_it_itself
from autograder.rules.outputs import inputs_of, line_of, tensors_of, value_rule
from autograder.rules.registry import NOT_ASKED, Verdict, rule


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
        known = known or same_everywhere(ev, ev.plain)
        known = known or changed_forward(ev, ev.plain) or other_function(ev, ev.plain)
    if known is None and (other := other_order(ev)) is not None:
        known = other[:2]
    known = known or summed_down(ev)
    if (
        slip is not None
        and known is not None
        and known[0].startswith("The result is zero everywhere")
    ):
        known = _of_one_tensor(ev) or known
    odd = torch.isfinite(right) & ~torch.isfinite(output)
    place = next(i for i, (o, _) in enumerate(tensors_of(pair)) if o is output)
    cause = happened(ev, pair, "outputs", place, odd) if known is None and bool(odd.any()) else None
    if cause is not None:
        what = "the result" if ev.exercise.is_function else "the output"
        known = f"{cause.beginning}: {what} should be finite there.", cause.hint
    message, hint = known or _explain_value(ev, pair, output, right)
    rule_name = value_rule(ev, "forward-value")
    if pair.answer.inputs_changed and not ev.exercise.is_function:
        position = pair.answer.inputs_changed[0]
        message += f" It also writes to its input {ev.argument(position)}."
    mine, good = show_apart(output, right)
    evidence = {
        "case": pair.where, **inputs_of(ev, pair), "actual": mine, "expected": good,
        **_line(ev, pair, slip), **(cause.line if cause else {}),
    }  # fmt: skip
    difference = first_difference(output, right)
    if difference is not None:
        evidence["index"] = difference[0]
    return Finding(rule_name, message, hint, evidence)


def _line(ev: Evidence, pair: Pair, slip: ForwardSlip | None) -> dict[str, object]:
    """The line to show: of a known formula no ``return`` that hands on what earlier lines made."""
    line = line_of(ev, pair, slip.call if slip is not None else "")
    node = ev.source.methods.get("forward")
    if slip is None or node is None or line.get("line") is None:
        return line
    if slip.call and ev.source.first_call("forward", slip.call) is not None:
        return line
    parts = list(ast.walk(node))
    made = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for part in parts:
        if isinstance(part, ast.Return) and ev.source.line_of(part)[0] == line["line"]:
            names = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
            return {} if names & made else line
    return line


def _of_one_tensor(ev: Evidence) -> tuple[str, str] | None:
    """A difference of f with itself: both sides were moved through two names of one tensor."""
    method = ev.exercise.name
    found = one_tensor(ev.source, method) if ev.exercise.is_function else None
    return found and (
        f"The result is zero everywhere: {found[0]}, so f gets the same numbers on both sides.",
        "Make a copy for each side: x.detach().clone(). What is written to one is then not seen in the other, nor in x.",
    )


# Factors that another base of the logarithm brings.
_LOGARITHMS = {
    1.4427: ": that is 1 / ln 2, and log2 gives it where the natural logarithm is meant",
    0.4343: ": that is 1 / ln 10, and log10 gives it where the natural logarithm is meant",
    0.6931: ": that is ln 2, as exp2 or log2 bring it in",
}


def _explain_value(ev: Evidence, pair: Pair, output: Tensor, right: Tensor) -> tuple[str, str]:
    what = _which(ev, output, pair)
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    if words := few_digits(what, output, right, ev.source, method):
        return difference_quotient(ev, what) or words
    place = _place(output, pair)
    factors = [_factor(p, place) for p in ev.plain]
    if all(f is not None for f in factors) and factors[0] is not None and len(set(factors)) == 1:
        if factors[0] == -1.0:
            return (
                f"{what} has the wrong sign everywhere.",
                "Look for a minus sign too many or too few.",
            )
        source = _LOGARITHMS.get(round(factors[0], 4), "")
        return (
            f"{what} is {factors[0]:.4f} × the expected one everywhere{source}.",
            "Look for a factor that is missing or that is there twice.",
        )
    if not torch.isfinite(output[torch.isfinite(right)]).all():
        return (
            f"{what} has nan or inf where the expected value is finite.",
            "Print the intermediate results.",
        )
    if words := not_repeated(ev, ev.plain):
        return words
    if words := rounded_constant(ev, what, [o for p in ev.plain for o in tensors_of(p)], "forward"):
        return words
    if place == 0 and (
        words := wrong_region(ev, what, ev.plain) or changed_output(ev, what, ev.plain)
    ):
        return words
    wrong = mismatch(output, right)
    count = int(wrong.sum())
    if wrong.numel() == 1:
        message = f"{what} is not the expected value."
    else:
        message = f"{what} differs from the expected values ({count} of {wrong.numel()} elements)."
    return (
        message,
        f"The contract is: {ev.exercise.summary} Compute the smallest case by hand.",
    )


def _place(output: Tensor, pair: Pair) -> int:
    """Which of the outputs that are tensors this one is."""
    return next((k for k, (mine, _) in enumerate(tensors_of(pair)) if mine is output), 0)


def _which(ev: Evidence, output: Tensor, pair: Pair) -> str:
    """The words for this output: of several it is said which one is wrong, by its place."""
    if ev.exercise.is_function:
        return "The result"
    if len(list(tensors_of(pair))) < 2:
        return "The output"
    place = _place(output, pair)
    return f"The {('first', 'second', 'third')[place] if place < 3 else 'last'} output"


def _factor(pair: Pair, place: int) -> float | None:
    for k, (output, right) in enumerate(tensors_of(pair)):
        found = ratio(output, right) if k == place and output.is_floating_point() else None
        if found is not None:
            return round(found, 6)
    return None


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))
