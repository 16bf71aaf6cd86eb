"""Forward: shape, dtype, values, and finite values where the reference has them."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.compare import (
    both,
    close,
    first_difference,
    mismatch,
    ratio,
    shape_words,
    show,
    show_apart,
    single_inside,
    where_wrong,
)
from autograder.evidence import Evidence, Finding, Pair
from autograder.exercises import is_exercise
from autograder.precision import few_digits
from autograder.rules.honesty import builds_it_itself
from autograder.rules.registry import NOT_ASKED, Verdict, rule
from autograder.rules.slips import known_slip


def _value_rule(ev: Evidence, name: str) -> str:
    """Plain functions have values, not forwards."""
    return "value" if ev.exercise.is_function else name


def _line(ev: Evidence, pair: Pair, call: str = "") -> dict[str, object]:
    """The line of ``call``, else the one that returned; of a longer plain function only the former."""
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    if view := ev.source.view_put_back(method):
        return {"line": view[0][0], "source": view[0][1]}
    place = ev.source.first_call(method, call) if call else None
    if place is None and (not ev.exercise.is_function or ev.source.is_one_return(method)):
        place = ev.source.returned(method, pair.answer.returned_at)
    return {"line": place[0], "source": place[1]} if place else {}


@rule("output-count", needs=("forward_runs",))
def output_has_value(ev: Evidence) -> Verdict:
    """Forward returns what it should: tensors, and as many as it should."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        outputs, right = pair.answer.outputs, pair.expected.outputs
        if outputs is None:
            continue
        if outputs == (None,):
            return Finding(
                _value_rule(ev, "forward-value"),
                f"{'The function' if ev.exercise.is_function else 'forward'} returns nothing.",
                "The last line must be `return` and the result.",
                {"case": pair.where},
            )
        if len(outputs) != len(right) or pair.answer.single != pair.expected.single:
            kind = "list" if pair.answer.data.get("returned_list") else "tuple"
            got = "one value" if pair.answer.single else f"a {kind} of {len(outputs)}"
            want = "one value" if pair.expected.single else f"a tuple of {len(right)}"
            comma = len(outputs) == 1 and not pair.answer.single
            return Finding(
                "output-count",
                f"{'The function' if ev.exercise.is_function else 'forward'} returns {got}; "
                f"{want} is asked for.",
                "A comma at the end of the line makes a tuple: `return y,` is `return (y,)`."
                if comma
                else f"The contract is {ev.exercise.name}{ev.exercise.signature}: {ev.exercise.summary}",
                {"case": pair.where},
            )
        if pair.answer.data.get("returned_list") and not ev.exercise.is_function:
            return Finding(
                "output-count",
                "forward returns a list; torch takes it for one value that is no tensor, and cuts it off "
                "the graph.",
                "Return the outputs as a tuple: return a, b.",
                {"case": pair.where, **_line(ev, pair)},
            )
        for output, expected in zip(outputs, right, strict=True):
            if isinstance(expected, Tensor) and not isinstance(output, Tensor | float | int):
                kind = output if isinstance(output, str) else type(output).__name__
                name = kind.strip("<>")
                return Finding(
                    _value_rule(ev, "forward-value"),
                    f"The result is no tensor but {kind}.",
                    f"A Function is called through apply: {name}.apply(…) gives its output, {name}(…) does not."
                    if is_exercise(name)
                    else "Return a tensor.",
                    {"case": pair.where},
                )
            if isinstance(expected, Tensor) and not isinstance(output, Tensor):
                return Finding(
                    _value_rule(ev, "forward-value"),
                    "The result is a Python number, not a tensor.",
                    "Stay with tensor operations: float() and .item() leave torch.",
                    {"case": pair.where},
                )
    return None


@rule("forward-shape", needs=("forward_runs", "output_has_value"))
def output_shape(ev: Evidence) -> Verdict:
    """The output has the right shape."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        for output, right in _outputs(pair):
            if output.shape != right.shape:
                return Finding(
                    _value_rule(ev, "forward-shape"),
                    f"The output has shape {shape_words(output.shape)}; it should have "
                    f"{shape_words(right.shape)}.",
                    "Compare the shapes of input and output on paper before you look at values.",
                    {"case": pair.where, **_inputs(ev, pair), **_line(ev, pair)},
                )
    return None


@rule("forward-dtype", needs=("forward_runs", "output_has_value", "output_shape"))
def output_dtype(ev: Evidence) -> Verdict:
    """The output has the dtype of the input."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        for output, right in _outputs(pair):
            if output.dtype != right.dtype:
                return Finding(
                    _value_rule(ev, "forward-dtype"),
                    f"The output is {_dtype(output)}; the input asks for {_dtype(right)}.",
                    "Make new tensors from the input (x.new_zeros, torch.zeros_like). What is made of Python "
                    "numbers alone, as by torch.where with two numbers, and what counts or compares "
                    "(F.one_hot, x > 0) needs .to(x.dtype).",
                    {"case": pair.where, **_line(ev, pair)},
                )
    return None


@rule("forward-value", needs=("forward_runs", "output_has_value", "output_shape"))
def output_value(ev: Evidence) -> Verdict:
    """The output values agree with the reference."""
    if not ev.plain:
        return NOT_ASKED
    odd_dtype = False
    for pair in sorted(ev.plain, key=_size):
        for output, right in _outputs(pair):
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
    slip = known_slip(ev, ev.plain)
    known = (slip.message, slip.hint) if slip is not None else None
    message, hint = known or _explain_value(ev, pair, output, right)
    rule_name = _value_rule(ev, "forward-value")
    if pair.answer.inputs_changed and not ev.exercise.is_function:
        position = pair.answer.inputs_changed[0]
        message += f" It also writes to its input {ev.argument(position)}."
    mine, good = show_apart(output, right)
    evidence = {
        "case": pair.where, **_inputs(ev, pair), "actual": mine, "expected": good,
        **_line(ev, pair, slip.call if slip is not None else ""),
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
    for output, right in _outputs(pair):
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
        for output, right in _outputs(pair):
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
        {"case": pair.where, **both(output, right, torch.float32), **_line(ev, pair)},
    )


def _outputs(pair: Pair) -> list[tuple[Tensor, Tensor]]:
    """(output, right output) for every output that is a tensor on both sides."""
    if pair.answer.outputs is None:
        return []
    both = zip(pair.answer.outputs, pair.expected.outputs, strict=False)
    return [(o, r) for o, r in both if isinstance(o, Tensor) and isinstance(r, Tensor)]


def _inputs(ev: Evidence, pair: Pair) -> dict[str, object]:
    named = {ev.argument(i): show(a) for i, a in enumerate(pair.question.args)}
    return {"inputs": named}


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
