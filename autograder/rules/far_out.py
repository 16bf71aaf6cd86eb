"""Far out, where exp overflows and underflows: finite and right values of forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.causes.arithmetic_words import happened
from autograder.causes.slips import slip_at
from autograder.compare import as_far_as, both, close, digits_apart, mismatch, show
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.outputs import line_of, tensors_of
from autograder.rules.registry import NOT_ASKED, Verdict, rule

_FORWARD = (
    "Look for the first intermediate result that is inf, or 0 where it should not be: exp overflows above "
    "about 88 in float32, and it and the sigmoid underflow to 0. Rewrite the formula so that exp only sees "
    "numbers that are not positive, and each sum of them has one exp(0)."
)
_BACKWARD = (
    "Look for the first intermediate result of backward that is inf, or 0 where it should not be: exp "
    "overflows, a quotient has the divisor 0, a difference of nearly equal numbers has no digits left. Write "
    "the derivative with quantities that stay between 0 and 1."
)


@rule("forward-unstable", needs=("forward_runs", "output_shape", "output_value"))
def output_stable(ev: Evidence) -> Verdict:
    """The output stays finite for very large and very small inputs."""
    pairs = list(ev.pairs("run", "function", role="extreme"))
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        for place, (output, right) in enumerate(tensors_of(pair)):
            if output.shape != right.shape or not output.is_floating_point():
                continue
            bad = torch.isfinite(right) & ~torch.isfinite(output)
            if not bool(bad.any()) and not close(output, right, torch.float32):
                bad = mismatch(output, right, torch.float32)
            if bool(bad.any()):
                return _output_off(ev, pair, place, output, right, bad)
    return None


def _output_off(
    ev: Evidence, pair: Pair, place: int, output: Tensor, right: Tensor, bad: Tensor
) -> Finding:
    at = ""
    for position in pair.question.wants:
        value = pair.question.args[position]
        if value.shape == bad.shape:
            at = f" at {ev.argument(position)} = {show(value[bad][0])}"
            break
    asked = as_far_as(output.dtype, right)
    mine, exact = digits_apart(output[bad][0], asked[bad][0])
    evidence = {"case": pair.where, **both(output, right, torch.float32), **line_of(ev, pair)}
    finite = bool(torch.isfinite(output).all())  # too many formulas give inf or nan there
    slip = slip_at(ev, [pair]) if finite else None
    cause = happened(ev, pair, "outputs", place, bad) if slip is None else None
    message = f"In float32 the output is {mine}{at}, where the exact value is {exact}."
    if slip is not None:
        message = f"{message.removesuffix('.')}: {slip.message}"
    elif cause is not None:
        message = f"{cause.beginning}: the output is {mine}{at}, where {exact} is right."
        evidence |= cause.line
    hint = slip.hint if slip is not None else ev.advice(pair.where)
    hint = hint or (_FORWARD if cause is None else cause.hint)
    return Finding("forward-unstable", message, hint, evidence)


@rule(
    "gradient-unstable",
    needs=(
        "forward_runs", "output_shape", "output_value", "output_is_connected", "backward_runs",
        "one_gradient_an_argument", "leaves_inputs", "leaves_saved", "leaves_upstream",
        "output_stable", "gradients_agree",
    ),
)  # fmt: skip
def gradient_stable(ev: Evidence) -> Verdict:
    """The gradient stays finite for very large and very small inputs."""
    pairs = [p for p in ev.pairs("run", role="extreme") if p.question.wants]
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        for position in pair.question.wants:
            got, right = pair.raw(position), pair.right(position)
            if not isinstance(got, Tensor) or right is None or got.shape != right.shape:
                continue
            bad = torch.isfinite(right) & ~torch.isfinite(got)
            if not bool(bad.any()):
                bad = mismatch(got, right, torch.float32)
            if bool(bad.any()) and not _is_wrong_in_float64_too(ev, pair, position, bad):
                return _gradient_off(ev, pair, position, got, right, bad)
    return None


def _is_wrong_in_float64_too(ev: Evidence, pair: Pair, position: int, bad: Tensor) -> bool:
    """Whether a special case (x = 0) shows the same: then the range of numbers is not the reason."""
    value = pair.question.args[position]
    if value.shape != bad.shape or len(set(value[bad].tolist())) != 1:
        return False
    for special in ev.pairs("run", role="special", variant=""):
        got, right = special.raw(position), special.right(position)
        if not isinstance(got, Tensor) or right is None or got.shape != right.shape:
            continue
        wrong = special.question.args[position][mismatch(got, right)]
        if wrong.numel() and bool((wrong == value[bad][0]).all()):
            return True
    return False


def _gradient_off(
    ev: Evidence, pair: Pair, position: int, got: Tensor, right: Tensor, bad: Tensor
) -> Finding:
    name, value = ev.argument(position), pair.question.args[position]
    at = f" at {name} = {show(value[bad][0])}" if value.shape == bad.shape else ""
    mine, exact = digits_apart(got[bad][0], as_far_as(got.dtype, right)[bad][0])
    off = f"the gradient for {name} is {mine}{at}, where {exact} is right."
    evidence = {"case": pair.where, "argument": name, **both(got, right, torch.float32)}
    cause = happened(ev, pair, "gradients", pair.question.wants.index(position), bad)
    if cause is None:
        return Finding("gradient-unstable", f"In float32 {off}", _BACKWARD, evidence)
    return Finding(
        "gradient-unstable", f"{cause.beginning}: {off}", cause.hint, {**evidence, **cause.line}
    )


RULES = (output_stable, gradient_stable)
