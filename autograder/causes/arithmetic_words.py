"""Sentences about the operation that made a nan, an infinity or lost a number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from autograder.causes.arithmetic_hints import (
    LIMITS,
    MATRIX,
    ROWS,
    has_no_value,
    next_step,
    row_is_lost,
    sums,
)
from autograder.compare import show
from autograder.evidence import Evidence, Pair

_SIGNS = {"div": "/", "mul": "·", "add": "+", "sub": "−", "rsub": "−", "pow": "**"}
_FUNCTIONS = {
    "acos", "acosh", "asin", "atanh", "celu", "cosh", "elu", "erf", "erfc", "erfinv", "exp", "exp2",
    "expm1", "gelu", "lgamma", "log", "log10", "log1p", "log2", "rsqrt", "sigmoid", "silu", "sinh",
    "softplus", "sqrt", "square", "tan", "tanh",
}  # fmt: skip
_LARGEST_IN_DOUBLE = 709.8  # exp of more is inf in float64 too


@dataclass(frozen=True)
class Happened:
    """What made a number what it is.

    words  "exp(1000) is inf in line 7, and inf / inf is nan"
    hint   the next step, which names no values
    line   where it began, as evidence has it
    """

    words: str
    hint: str
    line: dict[str, object] = field(default_factory=dict)

    @property
    def beginning(self) -> str:
        """The words where a sentence begins with them; a name keeps its small letter."""
        return f"W{self.words[1:]}" if self.words.startswith("what ") else self.words


def happened(ev: Evidence, pair: Pair, of: str, place: int, bad: Tensor) -> Happened | None:
    """What was measured on the way to the first of the elements ``bad`` of a result; None: nothing.

    of     outputs, gradients or second
    place  which of them
    """
    index = int(bad.reshape(-1).nonzero()[0]) if bad.numel() else -1
    try:
        steps = _steps(ev, pair, (of, place, index))
        return _told(ev, pair, steps) if steps else None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None  # what came out of a box and is no such step


def first_happened(ev: Evidence, pair: Pair) -> Happened | None:
    """The same for the first number that should be finite and is not, in outputs or gradients."""
    found = [
        ("outputs", place, output, right)
        for place, (output, right) in enumerate(
            zip(pair.answer.outputs or (), pair.expected.outputs, strict=False)
        )
    ] + [
        ("gradients", place, pair.reached(position), pair.right(position))
        for place, position in enumerate(pair.question.wants)
    ]
    for of, place, got, right in found:
        if not isinstance(got, Tensor) or not isinstance(right, Tensor) or got.shape != right.shape:
            continue
        odd = torch.isfinite(right) & ~torch.isfinite(got)
        if bool(odd.any()):
            return happened(ev, pair, of, place, odd)
    return None


def _steps(ev: Evidence, pair: Pair, element: tuple[str, int, int]) -> list[dict[str, Any]]:
    results = getattr(pair.answer, element[0]) or ()
    value = results[element[1]].reshape(-1)[element[2]]
    if not bool(torch.isfinite(value)):
        told = pair.answer.data.get("arithmetic", [])
    else:
        told = ev.follow(pair.question, element) if ev.follow is not None else []
    for entry in told:
        if (entry["of"], entry["place"], entry["index"]) == element:
            return list(entry["steps"])
    return []


def _told(ev: Evidence, pair: Pair, steps: list[dict[str, Any]]) -> Happened:
    parts: list[str] = []
    last: tuple[Any, Any] = (None, None)
    first = steps[0]
    gone = first["result"] == 0 and any(map(row_is_lost, steps[1:]))
    # Beside its own maximum no exp of a row is larger than 1, and one of them is 1.
    no_maximum = gone or (first["op"] == "exp" and math.isinf(first["result"]) and sums(ev))
    line = _line(ev, steps)
    if no_maximum and len(first["minus"]) == 2 and isinstance(first["line"], int):
        place = first.get("minus_line")
        place = place if isinstance(place, int) and ev.source.text_of(place) else first["line"]
        parts, last = (
            [f"what line {place} subtracts is not the row's own maximum"],
            (place, first["again"]),
        )
        line = _at(ev, place)
    bare = ""
    single = any(isinstance(a, Tensor) and a.dtype == torch.float32 for a in pair.question.args)
    for i, step in enumerate(steps):
        if i and row_is_lost(step) and first["result"] != 0:
            continue
        words = _phrase(step, single)
        if i and row_is_lost(step):
            if any(part.startswith("so are all") for part in parts):
                continue
            sums_products = "multiplied and " if step["op"] in MATRIX else ""
            words = f"so are all {int(step['count'])} numbers in that row, {sums_products}added up"
        at = step["line"], step["again"]
        if words == bare and at == (last[0], True):  # the same once more, in its derivative
            parts[-1] += " and in its derivative"
            last = at
            continue
        bare = words
        if at != last and isinstance(step["line"], int):
            words += f" in {'the derivative of ' if step['again'] else ''}line {step['line']}"
        last = at
        if words not in parts:
            parts.append(words)
    sentence = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    if parts[0].startswith("what line"):
        sentence = sentence.replace(", ", ": ", 1)
    return Happened(sentence, next_step(ev, steps), line)


def _phrase(step: dict[str, Any], single: bool) -> str:
    name, given, result = str(step["op"])[:40], [float(v) for v in step["operands"]], step["result"]
    is_what = f"is {show(float(result))}"
    if name in ROWS:
        alike = f" of {show(given[0])}" if given and len(set(given)) == 1 else ""
        return f"{ROWS[name]} of a row{alike} {is_what}"
    if name in ("sum", "mean", "logsumexp", "prod"):
        return f"the {name} of {int(step['count'])} numbers {is_what}"
    if name in LIMITS and len(given) > 1:
        return f"{name} makes {show(float(result))} of {show(given[0])}"
    if name == "reciprocal" and given:
        return f"1 / {_number(given[0])} {is_what}"
    if name in _SIGNS and len(given) == 2:
        a, b = reversed(given) if name == "rsub" else given
        base = _number(a) if name == "pow" else show(a)
        what = ", a fractional power of a negative number," if has_no_value(step) else ""
        return f"{base} {_SIGNS[name]} {_number(b)}{what} {is_what}"
    if name in MATRIX:
        product = (
            f"{show(given[0])} · {_number(given[1])} {is_what}" if len(given) == 2 else is_what
        )
        return f"in a matrix product {product}"
    argument = ", ".join(map(show, given))
    if len(step["minus"]) == 2:
        a, b = (float(v) for v in step["minus"])
        argument = f"{show(a)} − {_number(b)}"
    if name == "log_sigmoid_forward":
        name = "logsigmoid"
    where = ""
    if single and name == "exp" and math.isinf(result) and given[0] < _LARGEST_IN_DOUBLE:
        where = " in float32"
    if name in _FUNCTIONS or name.isidentifier():
        return f"{name}({argument}) {is_what}{where}"
    return f"one operation {is_what}"


def _number(value: float) -> str:
    """A number that may stand after a sign."""
    return f"({show(value)})" if value < 0 else show(value)


def _line(ev: Evidence, steps: list[dict[str, Any]]) -> dict[str, object]:
    number = next((s["line"] for s in steps if isinstance(s["line"], int)), None)
    return {} if number is None else _at(ev, number)


def _at(ev: Evidence, number: int) -> dict[str, object]:
    text = ev.source.text_of(number)
    return {"line": number, "source": text} if text else {}
