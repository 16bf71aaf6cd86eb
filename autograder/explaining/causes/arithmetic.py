"""Which operation made a nan, an infinity or lost a number: the way to one element, as clauses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.explaining.causes.numbers import infinite_numbers
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause
from autograder.observation.compare import show

_SIGNS = {"div": "/", "mul": "·", "add": "+", "sub": "−", "rsub": "−", "pow": "**"}
_GROW = ("exp", "exp2", "expm1", "pow", "sinh", "cosh", "square", "mul")
_MATRIX = ("addmm", "baddbmm", "bmm", "dot", "mm", "mv")
_LONG = ("mean", "sum")
_LIMITS = ("clamp", "clamp_max", "clamp_min")
_ROWS = {"_softmax": "softmax", "_log_softmax": "log-softmax"}
_LARGEST_IN_DOUBLE = 709.8  # exp of more is inf in float64 too

Step = dict[str, Any]


def what_happened(ev: Evidence, pair: Pair, of: str, place: int, index: int) -> dict[str, Any]:
    """The facts ``steps`` and ``next`` (clauses), ``line`` and ``source`` of what was measured on the way.

    of     outputs, gradients or second; place: which of them; index: which element, counted flat
    Empty where nothing was measured.
    """
    try:
        steps = _measured(ev, pair, (of, place, index))
        return _told(ev, pair, steps) if steps else {}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return {}  # what came out of a box and is no such step


def first_odd(ev: Evidence, pair: Pair) -> dict[str, Any]:
    """The same for the first number that should be finite and is not, in outputs or gradients."""
    for of, place, got, right in _results(pair):
        if isinstance(got, Tensor) and isinstance(right, Tensor) and got.shape == right.shape:
            odd = torch.isfinite(right) & ~torch.isfinite(got)
            if bool(odd.any()):
                return what_happened(ev, pair, of, place, int(odd.reshape(-1).nonzero()[0]))
    return {}


def _results(pair: Pair) -> Iterator[tuple[str, int, Any, Any]]:
    for place, (got, right) in enumerate(zip(pair.answer.outputs or (), pair.expected.outputs, strict=False)):  # fmt: skip
        yield "outputs", place, got, right
    for place, position in enumerate(pair.question.wants):
        yield "gradients", place, pair.reached(position), pair.right(position)


def _measured(ev: Evidence, pair: Pair, element: tuple[str, int, int]) -> list[Step]:
    value = (getattr(pair.answer, element[0]) or ())[element[1]].reshape(-1)[element[2]]
    if not bool(torch.isfinite(value)):
        told = pair.answer.data.get("arithmetic", [])
    else:
        told = ev.follow(pair.question, element) if ev.follow is not None else []
    found = (e["steps"] for e in told if (e["of"], e["place"], e["index"]) == element)
    return list(next(found, ()))


def _told(ev: Evidence, pair: Pair, steps: list[Step]) -> dict[str, Any]:
    first, clauses = steps[0], []
    single = any(isinstance(a, Tensor) and a.dtype == torch.float32 for a in pair.question.args)
    number = next((s["line"] for s in steps if isinstance(s["line"], int)), None)
    if _no_maximum(ev, steps) and len(first["minus"]) == 2 and isinstance(first["line"], int):
        place = first.get("minus_line")
        number = place if isinstance(place, int) and ev.source.text_of(place) else first["line"]
        clauses.append(Clause("step/not-the-maximum", {"line": number}))
    before: Any = clauses and (number, False)
    if len(steps) == 1 and math.inf in first["operands"] and isinstance(first["line"], int):
        for name, place in infinite_numbers(ev, pair.question, first["line"]).items():
            number = place[0]
            clauses.append(
                Clause("step/operation", {"formula": f"`{name}`", "result": "inf", "line": number})
            )
    for i, step in enumerate(steps):
        if i and _row_is_lost(step) and first["result"] != 0:
            continue
        clause = _step(step, single, lost=bool(i) and _row_is_lost(step))
        at = step["line"], bool(step["again"])
        if at != before and isinstance(step["line"], int):
            clause = Clause(clause.cause, {**clause.facts, "line": step["line"], "again": step["again"]})  # fmt: skip
        before = at
        if clause not in clauses:
            clauses.append(clause)
    told = (
        clauses if len(clauses) < 3 else [clauses[0], clauses[-1]]
    )  # where it began, what came of it
    facts: dict[str, Any] = {"steps": told, "next": _next(ev, steps)}
    if isinstance(number, int) and (text := ev.source.text_of(number)):
        facts |= {"line": number, "source": text}
    return facts


def _no_maximum(ev: Evidence, steps: list[Step]) -> bool:
    """Beside its own maximum no exp of a row is larger than 1, and one of them is 1."""
    first = steps[0]
    gone = first["result"] == 0 and any(map(_row_is_lost, steps[1:]))
    return gone or (first["op"] == "exp" and math.isinf(first["result"]) and _sums(ev))


def _step(step: Step, single: bool, lost: bool) -> Clause:
    name, given, result = str(step["op"])[:40], [float(v) for v in step["operands"]], step["result"]
    facts: dict[str, Any] = {"result": show(float(result)), "in_float32": single and name == "exp" and math.isinf(result) and given[0] < _LARGEST_IN_DOUBLE}  # fmt: skip
    if lost:
        return Clause("step/row-lost", {"count": int(step["count"]), "products": name in _MATRIX})
    if name in _LIMITS and len(given) > 1:
        return Clause("step/limit", facts | {"call": name, "given": show(given[0])})
    return Clause("step/operation", facts | {"formula": _formula(step, name, given)})


def _formula(step: Step, name: str, given: list[float]) -> str:
    if name in _ROWS:
        alike = f" of {show(given[0])}" if given and len(set(given)) == 1 else ""
        return f"{_ROWS[name]} of a row{alike}"
    if _meet(given) and math.isnan(step["result"]) and name in (*_LONG, *_MATRIX):
        return f"`inf − inf` in {'a matrix product' if name in _MATRIX else f'the {name}'}"
    if name in ("sum", "mean", "logsumexp", "prod"):
        return f"the {name} of {int(step['count'])} numbers"
    if name == "reciprocal" and given:
        return f"`1 / {_number(given[0])}`"
    if name in _SIGNS and len(given) == 2:
        a, b = reversed(given) if name == "rsub" else given
        return f"`{_number(a) if name == 'pow' else show(a)} {_SIGNS[name]} {_number(b)}`"
    if name in _MATRIX and len(given) == 2:
        return f"`{show(given[0])} · {_number(given[1])}` in a matrix product"
    if len(step["minus"]) == 2:
        a, b = (float(v) for v in step["minus"])
        return f"`{name}({show(a)} − {_number(b)})`"
    name = "logsigmoid" if name == "log_sigmoid_forward" else name
    return f"`{name}({', '.join(map(show, given))})`" if name.isidentifier() else "one operation"


def _number(value: float) -> str:
    """A number that may stand after a sign."""
    return f"({show(value)})" if value < 0 else show(value)


# ---- the next step -----------------------------------------------------------------------------------


def _next(ev: Evidence, steps: list[Step]) -> Clause:
    first, last = steps[0], steps[-1]
    names, given = [str(s["op"]) for s in steps], [float(v) for v in last["operands"]]
    where = bool(last["again"]) and ev.source.mentions("backward", "where")
    return Clause(f"next/{_next_code(ev, steps, names, given)}", {"op": str(first["op"]), "where": where})  # fmt: skip


def _next_code(ev: Evidence, steps: list[Step], names: list[str], given: list[float]) -> str:
    first, last, name = steps[0], steps[-1], names[-1]
    grows = math.isinf(first["result"]) and names[0] in _GROW
    row_lost = any(map(_row_is_lost, steps[1:]))
    row = any(n in ("sum", "mean", "logsumexp", *_ROWS) for n in names) or _sums(ev)
    if last["again"] and (first["again"] or not grows):
        return "no-slope"
    if name in _LIMITS:
        return "limit"
    if name in ("add", "sub", "rsub") and math.isfinite(last["result"]) and not row_lost:
        return "small-number" if 0 < abs(last["result"]) < 0.1 else "rounded-away"
    if name == "div" and all(map(math.isinf, given)) and _calls_logsumexp(ev):
        return "subtract-logsumexp"
    if grows:
        return "own-maximum" if row else "overflow"
    if first["result"] == 0 and row_lost:
        return "own-maximum"
    if name in ("log", "log2", "log10") and first["result"] == 0:
        return "log-of-0"
    if _has_no_value(first):
        return "fractional-power"
    if name in ("div", "reciprocal", "rsqrt") and given and given[-1] == 0:
        return "division-by-0" if len(steps) == 1 else "divisor-vanished"
    if name in (*_ROWS, "sub", "rsub") and set(given) == {-math.inf}:
        return "infinite-row"
    if name in _ROWS:
        return "rounded-away" if math.isfinite(last["result"]) else "infinite-largest"
    if math.isnan(last["result"]) and name in ("mul", *_MATRIX) and 0 in given:
        return "cancel" if first["result"] == 0 and len(steps) > 1 else "0-times-inf"
    if math.isnan(last["result"]) and name in ("add", "sub", "rsub", *_LONG, *_MATRIX):
        return "inf-minus-inf"
    return "simplify"


def _calls_logsumexp(ev: Evidence) -> bool:
    return any(op.startswith("aten.logsumexp") for p in ev.pairs("structure") for op in p.answer.forward_ops)  # fmt: skip


def _sums(ev: Evidence) -> bool:
    """Whether the forward adds numbers up."""
    ran = (op for pair in ev.pairs("structure") for op in pair.answer.forward_ops)
    if any(op.startswith(("aten.sum", "aten.mean", "aten.bmm", "aten.mm")) for op in ran):
        return True
    return ev.exercise.is_function and ev.source.mentions(ev.exercise.name, "sum")


def _row_is_lost(step: Step) -> bool:
    """Whether this is a sum of several numbers of which each has vanished."""
    return step["op"] in (*_LONG, *_MATRIX) and step["result"] == 0 and step["count"] > 1


def _meet(given: list[float]) -> bool:
    """Whether ∞ and −∞ were added."""
    return given[:2] == [math.inf, -math.inf]


def _has_no_value(step: Step) -> bool:
    """Whether this is a power of a negative number that is not a whole one."""
    given = [float(v) for v in step["operands"]]
    fraction = len(given) == 2 and math.isfinite(given[1]) and not given[1].is_integer()
    return step["op"] == "pow" and fraction and given[0] < 0
