"""What comes out of forward: how many outputs, of which shape and dtype. The values: ``forward``."""

from __future__ import annotations

import ast
from itertools import permutations

from torch import Tensor

from autograder.causes.argument_order import other_order
from autograder.causes.dtype_sources import joined, made_by
from autograder.causes.shapes_of_outputs import why_the_shape
from autograder.compare import close, shape_words, show
from autograder.evidence import Evidence, Finding, Pair
from autograder.exercises import is_exercise
from autograder.rules.registry import NOT_ASKED, Verdict, rule

_GRAD_GIVES_A_TUPLE = " And torch.autograd.grad gives a tuple, also where one gradient is asked for: take its entry [0]."


def value_rule(ev: Evidence, name: str) -> str:
    """Plain functions have values, not forwards."""
    return "value" if ev.exercise.is_function else name


def line_of(ev: Evidence, pair: Pair, call: str = "") -> dict[str, object]:
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
                value_rule(ev, "forward-value"),
                f"{'The function' if ev.exercise.is_function else 'forward'} returns nothing.",
                "The last line must be `return` and the result.",
                {"case": pair.where},
            )
        if len(outputs) != len(right) or pair.answer.single != pair.expected.single:
            kind = "list" if pair.answer.data.get("returned_list") else "tuple"
            got = "one value" if pair.answer.single else f"a {kind} of {len(outputs)}"
            want = "one value" if pair.expected.single else f"a tuple of {len(right)}"
            comma = len(outputs) == 1 and not pair.answer.single
            if len(outputs) == 2 and (taken := _number_for_dim(ev)) is not None:
                call, line, text = taken
                return Finding(
                    "output-count",
                    f"In {call} of line {line} the number is taken for a dimension: it gives the largest (smallest) values "
                    "along it, and their indices.",
                    "To compare each element with a number: clamp(min=…), torch.where, or torch.maximum with a tensor.",
                    {"case": pair.where, "line": line, "source": text},
                )
            return Finding(
                "output-count",
                f"{'The function' if ev.exercise.is_function else 'forward'} returns {got}; "
                f"{want} is asked for.",
                "A comma at the end of the line makes a tuple: `return y,` is `return (y,)`."
                + (_GRAD_GIVES_A_TUPLE if ev.exercise.may_use_autograd else "")
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
                {"case": pair.where, **line_of(ev, pair)},
            )
        for output, expected in zip(outputs, right, strict=True):
            if isinstance(expected, Tensor) and not isinstance(output, Tensor | float | int):
                kind = output if isinstance(output, str) else type(output).__name__
                name = kind.strip("<>")
                return Finding(
                    value_rule(ev, "forward-value"),
                    f"The result is no tensor but {kind}.",
                    f"A Function is called through apply: {name}.apply(…) gives its output, {name}(…) does not."
                    if is_exercise(name)
                    else "Return a tensor.",
                    {"case": pair.where},
                )
            if isinstance(expected, Tensor) and not isinstance(output, Tensor):
                if (other := other_order(ev)) is not None:
                    return Finding(
                        value_rule(ev, "forward-value"), other[0], other[1],
                        {"case": pair.where, **other[2]},
                    )  # fmt: skip
                return Finding(
                    value_rule(ev, "forward-value"),
                    "The result is a Python number, not a tensor.",
                    "Stay with tensor operations: float() and .item() leave torch.",
                    {"case": pair.where},
                )
    return _in_another_order(ev)


def _number_for_dim(ev: Evidence) -> tuple[str, int, str] | None:
    """(the call, its line, its text) of a torch.max(x, 0) in forward."""
    node = ev.source.methods.get("forward")
    for call in ast.walk(node) if node is not None else ():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        last = call.args[-1] if call.args else None
        if call.func.attr in ("max", "min") and isinstance(last, ast.Constant) and last.value == 0:
            return ast.unparse(call)[:40], *ev.source.line_of(call)
    return None


def _in_another_order(ev: Evidence) -> Finding | None:
    """All outputs are right, but they stand in another order than the contract's."""
    right = ev.plain[0].expected.outputs
    for order in permutations(range(len(right))):
        if order == tuple(range(len(right))) or not all(_is_ordered(p, order) for p in ev.plain):
            continue
        place = {"case": ev.plain[0].where, **line_of(ev, ev.plain[0])}
        return Finding(
            "output-count",
            f"{'The function' if ev.exercise.is_function else 'forward'} returns the right outputs in the "
            f"wrong order: what stands first belongs to place {order[0] + 1}.",
            f"The contract is {ev.exercise.name}{ev.exercise.signature}: {ev.exercise.summary} backward gets "
            "its upstream gradients in the same order.",
            place,
        )
    return None


def _is_ordered(pair: Pair, order: tuple[int, ...]) -> bool:
    """Whether each output is the one that belongs to the place named in ``order``."""
    outputs, right = pair.answer.outputs, pair.expected.outputs
    if outputs is None or len(outputs) != len(right) or len(right) != len(order):
        return False
    return all(
        isinstance(o, Tensor)
        and isinstance(right[place], Tensor)
        and o.dtype == right[place].dtype
        and close(o, right[place])
        for o, place in zip(outputs, order, strict=True)
    )


@rule("forward-shape", needs=("forward_runs", "output_has_value"))
def output_shape(ev: Evidence) -> Verdict:
    """The output has the right shape."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        for output, right in tensors_of(pair):
            if output.shape != right.shape:
                return _wrong_shape(ev, pair, output, right)
    return None


def _wrong_shape(ev: Evidence, pair: Pair, output: Tensor, right: Tensor) -> Finding:
    """The cause where all cases show one, else the two shapes."""
    got, wanted = shape_words(output.shape), shape_words(right.shape)
    message = f"The output has shape {got}; it should have {wanted}."
    hint = "Compare the shapes of input and output on paper before you look at values."
    evidence: dict[str, object] = {"case": pair.where, **inputs_of(ev, pair)}
    if (other := other_order(ev)) is not None:
        evidence |= {"actual": f"shape {got}", "expected": f"shape {wanted}", **other[2]}
        return Finding(value_rule(ev, "forward-shape"), other[0], other[1], evidence)
    if (cause := why_the_shape(ev)) is None:
        return Finding(
            value_rule(ev, "forward-shape"), message, hint, {**evidence, **line_of(ev, pair)}
        )
    message, hint, call = cause
    evidence |= {"actual": f"shape {got}", "expected": f"shape {wanted}", **line_of(ev, pair, call)}
    return Finding(value_rule(ev, "forward-shape"), message, hint, evidence)


@rule("forward-dtype", needs=("forward_runs", "output_has_value", "output_shape"))
def output_dtype(ev: Evidence) -> Verdict:
    """The output has the dtype of the input."""
    if not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        for output, right in tensors_of(pair):
            if output.dtype != right.dtype:
                return _odd_dtype(ev, pair, _dtype(output), _dtype(right))
    return None


def _odd_dtype(ev: Evidence, pair: Pair, got: str, wanted: str) -> Finding:
    message = f"The output is {got}; the input asks for {wanted}."
    hint, line = _OF_KIND.get(got, _OF_FLOAT), line_of(ev, pair)
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    if got == "bool":
        message = f"{message.removesuffix('.')}: a comparison gives True and False, no numbers."
    if (made := made_by(ev.source, got, method)) is not None:
        message, hint = joined(message, made), made.hint
        line = {"line": made.line, "source": made.text}
    return Finding(value_rule(ev, "forward-dtype"), message, hint, {"case": pair.where, **line})


_OF_FLOAT = (
    "Look for .float(), for dtype=torch.float32, and for a tensor made without a dtype (torch.zeros, torch.ones, "
    "torch.where with two numbers). x.new_zeros, torch.zeros_like(x) and .to(x.dtype) keep to the dtype of the input."
)
_OF_KIND = {
    "bool": "A comparison gives True and False: .to(x.dtype) makes numbers of them.",
    "int64": "What counts or names places (F.one_hot, argmax) gives whole numbers: .to(x.dtype) brings them "
    "to the dtype of the input.",
}


def tensors_of(pair: Pair) -> list[tuple[Tensor, Tensor]]:
    """(output, right output) for every output that is a tensor on both sides."""
    if pair.answer.outputs is None:
        return []
    both = zip(pair.answer.outputs, pair.expected.outputs, strict=False)
    return [(o, r) for o, r in both if isinstance(o, Tensor) and isinstance(r, Tensor)]


def inputs_of(ev: Evidence, pair: Pair) -> dict[str, object]:
    named = {ev.argument(i): show(a) for i, a in enumerate(pair.question.args)}
    return {"inputs": named}


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
