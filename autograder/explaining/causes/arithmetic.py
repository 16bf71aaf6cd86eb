"""Which operation made a nan or an infinity, or lost a number: the first and the last on the way to one element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.results import Reason, departure_of, result_of
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause, Finding
from autograder.observation.compare import show
from autograder.running.operations import Number
from autograder.running.value_flow import Origin, origin

_VISITS = 300  # operations on the way to one element
_LOST = 1e-6  # a summand that changes a sum by less is lost in it: float32 has seven digits
_SIGNS = {"div": "/", "mul": "·", "add": "+", "sub": "−", "rsub": "−", "pow": "**"}
_GROW = frozenset({"exp", "exp2", "expm1", "pow", "sinh", "cosh", "square", "mul"})
_MATRIX = frozenset({"addmm", "baddbmm", "bmm", "dot", "mm", "mv"})
_LONG = frozenset({"mean", "sum"})
_DIFFERENCES = frozenset({"add", "sub", "rsub"})
_LIMITS = frozenset({"clamp", "clamp_max", "clamp_min"})
_ROWS = {"_softmax": "softmax", "_log_softmax": "log-softmax"}
_MOVE = frozenset({"_to_copy", "alias", "clone", "contiguous", "copy", "neg"})
# Operations that give 0 for what is not: because they were asked to, and nothing is lost.
_GIVE_ZERO = frozenset({
    "abs", "amax", "amin", "ceil", "fill", "floor", "heaviside", "log", "masked_fill", "max", "maximum", "min",
    "minimum", "relu", "round", "sign", "threshold", "threshold_backward", "trunc", "where", "zero", *_LIMITS, *_MOVE,
})  # fmt: skip
_GIVE_INFINITY = frozenset({"fill", "full", "masked_fill", "where"})
_LARGEST_IN_DOUBLE = 709.8  # exp of more is inf in float64 too


def odd(ev: Evidence, finding: Finding) -> Reason | None:
    """nan or inf where the right number is finite, in whichever case."""
    result = result_of(ev, finding)
    ordinary = finding.cause in ("forward/wrong", "gradient/wrong")
    for s in result.wrong if result is not None else ():
        index = _not_finite(s.got, s.right)
        if result is None or s.right is None or index is None:
            continue
        facts = what_happened(ev, s.pair, (result.kind, result.place), index)
        if not ordinary:
            return Reason(finding.cause, facts) if facts else None
        found = departure_of(result)
        before = found is not None and found.line <= facts.get("line", found.line)
        if facts and found is not None and before and np.isfinite(found.value.numbers).all():
            # what the odd number was made of
            facts |= {"line": found.line, "source": found.text}
        finite = result.kind == "gradient" and bool(torch.isfinite(s.right).all())
        return Reason("value/odd", facts, rule="gradient-unstable" if finite else "", symptom=not facts)  # fmt: skip
    return None


def _not_finite(got: Any, right: Any) -> int | None:
    """The first element, counted flat, that should be finite, or a number, and is not."""
    if not isinstance(got, Tensor) or not isinstance(right, Tensor) or got.shape != right.shape:
        return None
    wrong = (torch.isfinite(right) & ~torch.isfinite(got)) | (got.isnan() & ~right.isnan())
    wrong = wrong.reshape(-1).nonzero()
    return int(wrong[0]) if len(wrong) else None


def far_out(ev: Evidence, finding: Finding) -> Reason | None:
    """The same far out, also for numbers that are finite and wrong."""
    pair, facts, position = finding.pair, finding.facts, finding.position
    if pair is None:
        return None
    place = ("output", facts["place"]) if position is None else ("gradient", position)
    told = what_happened(ev, pair, place, facts["index"])
    advice = {"advice": ev.advice(pair.where)} if position is None else {}
    return Reason(finding.cause, told | advice, symptom=not told)


def what_happened(ev: Evidence, pair: Pair, place: tuple[str, int], index: int) -> dict[str, Any]:
    """The facts ``steps`` and ``next`` (clauses), ``line`` and ``source`` of what happened on the way to an element.

    index  counted flat. Empty where nobody can run it again, or nothing odd happened.
    """
    run = ev.flow(pair.question)
    end = run.results.get(place) if run is not None else None
    if end is None or index >= end.numbers.size:
        return {}
    steps = _way(end.place.number(index))
    # What an operator of the learner's own does inside, nobody sees.
    if not steps or any(s.operation.call[0].namespace != "aten" for s in steps):
        return {}
    clauses = [_clause(step, steps[:i]) for i, step in enumerate(steps)]
    facts = {"steps": clauses, "next": _next(ev, steps)}
    line = next((s.operation.line for s in steps if s.operation.line), None)
    if line is not None and (text := ev.source.text_of(line)):
        facts |= {"line": line, "source": text}
    return facts


# ---- the way back ----------------------------------------------------------------------------------


def _way(number: Number) -> list[Origin]:
    """Where it began and what came of it: one operation, two, or none."""
    found = _breaks(number, ordinary_too=False)
    if found:
        return [found[0], found[-1]] if found[0] is not found[-1] else found[:1]
    found = _breaks(number, ordinary_too=True) if math.isfinite(number.value) else []
    if not found:
        return []
    first = min(found, key=lambda o: o.operation.name in _LIMITS)
    if first.operation.name not in _DIFFERENCES | _LIMITS:
        return [first]
    small = min(first.sources, key=lambda s: abs(s.value)) if first.operation.name in _DIFFERENCES else first.sources[0]  # fmt: skip
    made = _maker(small if small.storage else first.sources[-1])
    return [*filter(None, [made]), first]


def _breaks(number: Number, ordinary_too: bool) -> list[Origin]:
    """The operations on the way that made something odd of ordinary numbers, in their order."""
    waiting, seen = [number], dict[Origin, None]()
    while waiting and len(seen) < _VISITS:
        found = origin(waiting.pop())
        if found is not None and found not in seen:
            seen[found] = None
            waiting += found.sources if ordinary_too else _culprits(found)
    # A 0 on the way says something where a 0 came out.
    says = not ordinary_too or number.value == 0
    breaks = [o for o in seen if (_is_break(o) and (says or o.value)) or (ordinary_too and _loses(o))]  # fmt: skip
    return sorted(breaks, key=lambda o: o.operation.order)


def _culprits(origin: Origin) -> list[Number]:
    """The odd numbers that a nan, an infinity or a 0 may have come of."""
    value, sources, name = origin.value, origin.sources, origin.operation.name
    infinite, zeros = (
        [s for s in sources if math.isinf(s.value)],
        [s for s in sources if s.value == 0],
    )
    if math.isnan(value):
        return [s for s in sources if math.isnan(s.value)][:1] or [*infinite, *zeros]
    if math.isinf(value):
        return infinite[:1] or zeros
    if value != 0 or (name in _LONG | _DIFFERENCES and len(zeros) < len(sources)) or name in _ROWS:
        return []
    return infinite or zeros


def _is_break(origin: Origin) -> bool:
    """Whether it made nan, ∞ or 0 of numbers that are not."""
    value, name, sources = origin.value, origin.operation.name, [s.value for s in origin.sources]
    if not sources:
        return math.isnan(value) and _is_room(name)
    if math.isnan(value):
        return not any(map(math.isnan, sources))
    if math.isinf(value):
        return not any(map(math.isinf, sources)) and name not in _GIVE_INFINITY
    if value != 0 or not origin.operation.made[0].is_floating_point():
        return False
    if name in _DIFFERENCES:  # a − a loses nothing; 1 − σ(x) does, where σ(x) was rounded to 1
        return any(s.storage == 0 and s.value != 0 for s in origin.sources)
    given = not all(map(math.isfinite, sources)) or (0 in sources and name not in _ROWS)
    return not given and name not in _GIVE_ZERO | _LONG


def _is_room(name: str) -> bool:
    """Whether an operation gives room for numbers: a check fills it with NaN."""
    return "empty" in name.split("_")


def _loses(origin: Origin) -> bool:
    """Whether a finite number got lost beside a larger one, or met a bound."""
    value, name, sources = origin.value, origin.operation.name, origin.sources
    if name in _LIMITS:
        return bool(sources) and sources[0].value != value
    if name not in _DIFFERENCES or len(sources) != 2:
        return False
    small, large = sorted(sources, key=lambda s: abs(s.value))
    alike = large.value != 0 and math.isclose(abs(value), abs(large.value), rel_tol=_LOST)
    return alike and (small.value != 0 or bool(_breaks(small, ordinary_too=False)))


def _maker(number: Number) -> Origin | None:
    """The operation that a number came out of."""
    made = origin(number)
    moved = made is not None and made.operation.name in _MOVE and made.sources
    return _maker(made.sources[0]) if moved and made is not None else made


# ---- in words --------------------------------------------------------------------------------------


def _clause(origin: Origin, before: list[Origin]) -> Clause:
    name, operation = origin.operation.name, origin.operation
    given = [s.value for s in origin.sources]
    single = name == "exp" and math.isinf(origin.value) and given[0] < _LARGEST_IN_DOUBLE
    facts: dict[str, Any] = {"result": show(origin.value), "in_float32": single}
    place = operation.line, operation.again
    if operation.line and place not in [(b.operation.line, b.operation.again) for b in before]:
        facts |= {"line": operation.line, "again": operation.again}
    if _is_room(name):
        return Clause("step/room", facts | {"call": name})
    if name in _LIMITS and len(given) > 1:
        return Clause("step/limit", facts | {"call": name, "given": show(given[0])})
    return Clause("step/operation", facts | {"formula": _formula(origin, name, given)})


def _formula(origin: Origin, name: str, given: list[float]) -> str:
    if name in _ROWS:
        return f"{_ROWS[name]} of a row" + (f" of {show(given[0])}" if len(set(given)) == 1 else "")
    if name in _MATRIX:
        half = len(given) // 2  # without what the product is added to
        products = [f"{show(a)} · {_number(b)}" for a, b in zip(given[-2 * half : -half], given[-half:], strict=True) if math.isnan(a * b)]  # fmt: skip
        return f"`{products[0] if products else 'inf − inf'}` in a matrix product" if math.isnan(origin.value) else "a matrix product"  # fmt: skip
    if name in _LONG and math.isnan(origin.value):
        return f"`inf − inf` in the {name}"
    if len(given) > 2 or name in (*_LONG, "logsumexp", "prod"):
        return f"the {name} of {len(given)} numbers"
    if name == "reciprocal":
        return f"`1 / {_number(given[0])}`"
    if name in _SIGNS and len(given) == 2:
        a, b = reversed(given) if name == "rsub" else given
        return f"`{_number(a) if name == 'pow' else show(a)} {_SIGNS[name]} {_number(b)}`"
    name = "logsigmoid" if name == "log_sigmoid_forward" else name
    return f"`{name}({', '.join(map(show, given))})`"


def _number(value: float) -> str:
    """A number that may stand after a sign."""
    return f"({show(value)})" if value < 0 else show(value)


def _next(ev: Evidence, steps: list[Origin]) -> Clause:
    first, last = steps[0], steps[-1]
    where = last.operation.again and ev.source.mentions("backward", "where")
    return Clause(f"next/{_next_code(ev, first, last)}", {"op": first.operation.name, "where": where})  # fmt: skip


def _next_code(ev: Evidence, first: Origin, last: Origin) -> str:
    name, value, given = last.operation.name, last.value, [s.value for s in last.sources]
    if _is_room(first.operation.name):
        return "unwritten"
    grows = math.isinf(first.value) and first.operation.name in _GROW
    if last.operation.again and (first.operation.again or not grows):
        return "no-slope"
    if name in _LIMITS:
        return "limit"
    if name in _DIFFERENCES and math.isfinite(value):
        return "small-number" if 0 < abs(value) < 0.1 else "rounded-away"
    row = first.operation.name == "exp" and _sums(ev) and (first is last or _of_a_sum(last))
    if grows or (first.value == 0 and row):
        return "own-maximum" if row else "overflow"
    if first.value == 0 and first is not last:
        return "vanished"
    if name in ("div", "reciprocal", "rsqrt") and given[-1] == 0:
        return "division-by-0"
    if math.isnan(value) and all(map(math.isfinite, given)):
        return "no-value"
    if name in (*_ROWS, "sub", "rsub") and set(given) == {-math.inf}:
        return "infinite-row"
    if name in _ROWS:
        return "rounded-away" if math.isfinite(value) else "infinite-largest"
    if math.isnan(value) and name in ("mul", *_MATRIX) and 0 in given:
        return "0-times-inf"
    return "inf-minus-inf" if math.isnan(value) and name != "div" else "simplify"


def _of_a_sum(step: Origin) -> bool:
    """Whether it was given a sum: that of a row, where a row is divided by it."""
    made = filter(None, map(_maker, step.sources))
    return any(each.operation.name in _LONG | _MATRIX for each in made)


def _sums(ev: Evidence) -> bool:
    """Whether the forward adds numbers up."""
    ran = (op for pair in ev.pairs("structure") for op in pair.answer.forward_ops)
    sums = any(op.startswith(("aten.sum", "aten.mean", "aten.bmm", "aten.mm")) for op in ran)
    return sums or bool(ev.exercise.is_function and ev.source.mentions(ev.exercise.name, "sum"))
