"""A Python number that makes a step wrong: what belongs in its place, and the line that it comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from autograder.explaining.causes.definitions import origin
from autograder.explaining.causes.departures import Departure
from autograder.explaining.causes.edits import comes_right
from autograder.explaining.causes.results import Reason, Result
from autograder.judging.evidence import Evidence, Pair
from autograder.observation.compare import show
from autograder.observation.syntax import Span, code_at, expression_at
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.value_flow import Tried, Value

_Number = tuple[str, float, float]  # its name, what it is, and what belongs there
_PLACES = 12  # expressions whose numbers are looked at
_RUNS = 40  # with another number


def number_at_fault(result: Result, found: Departure) -> Reason | None:
    """The number in whose place another makes the wrong case right, and the line that it comes from."""
    pair, left = result.ev.pair(found.question.id), _RUNS
    mended = dict(reversed(found.mended))
    others = {
        v.spans: v for v in reversed(found.mine) if v.line is not None and not v.mask
    }.values()
    for value in list(dict.fromkeys((*mended, *reversed(others))))[:_PLACES]:
        for number, text, _ in _tried(
            result.ev, pair, value, partial(_instead, pair, value, mended.get(value))
        ):
            left -= 1
            if left >= 0 and comes_right(result, pair, (value, value.spans[0]), text):
                return _told(result.ev, pair, value, number)
    return None


def _told(ev: Evidence, pair: Pair, value: Value, number: _Number) -> Reason | None:
    """None where the number is an argument as it was given: then it is the step that is wrong."""
    (name, mine, belongs), span = number, value.spans[0]
    if (found := origin(ev.source, name, span, value.spans[1:], mine)) is None:
        return None
    made, left_out = found
    facts = {"line": span.line, "name": name, "mine": show(mine), "right": show(belongs)}
    facts |= {"made": made[0]} if made[0] != span.line else {}
    facts |= {"left_out": True} if left_out else {}
    return Reason("departs/number", facts, made, pair=pair)


def _tried(ev: Evidence, pair: Pair, value: Value, ways: Callable[..., Iterator[float]]) -> list[tuple[_Number, str, Tensor]]:  # fmt: skip
    """What the expression of a value gives with other numbers in the place of one that has a name."""
    if value.mask or not value.spans or ev.answered is None:
        return []
    tried = Tried(value, value.spans[0], {}, partial(_others, value.spans[0], ways))
    with contained():
        ev.answered(pair.question, tried)
    return tried.found


def _others(span: Span, ways: Callable[..., Iterator[float]], names: Mapping[str, Any]) -> Iterator[tuple[_Number, str]]:  # fmt: skip
    """The expression with another number wherever the name of one stands."""
    code = code_at(span)
    nodes = [(ast.unparse(n), n) for n in ast.walk(expression_at(span) or ast.Pass()) if isinstance(n, ast.Name | ast.Attribute)]  # fmt: skip
    for name in dict.fromkeys(name for name, _ in nodes):
        if isinstance(mine := names.get(name), int | float):
            whole = {n for n in names.values() if type(n) is int}
            for other in dict.fromkeys(ways(mine, whole)):
                text = code
                for _, node in sorted(
                    (each for each in nodes if each[0] == name),
                    key=lambda each: -each[1].col_offset,
                ):
                    text = f"{text[: node.col_offset]}({other!r}){text[node.end_col_offset :]}"
                if other != mine:
                    yield (name, mine, other), text


def _instead(
    pair: Pair, value: Value, right: Array | None, mine: float, whole: set[int]
) -> Iterator[float]:
    """What a factor, a divisor or a term would have to be; for what counts something, other counts."""
    args, near = pair.question.args, []
    if right is not None and right.size == value.numbers.size:
        got, right = value.numbers.reshape(-1), right.reshape(-1)
        at = int((np.abs(got - right) * (got != 0) * (right != 0)).argmax())
        a, b = float(got[at]), float(right[at])
        near = [*((mine * b / a, mine * a / b) if a and b else ()), mine + b - a, mine - b + a]
    if type(mine) is float:
        yield from near
    else:  # where another kind of number belongs, the step is wrong
        yield from (round(n) for n in near if abs(n - round(n)) < 1e-9)
        yield from (0, mine + 1, mine - 1)
        yield from sorted(
            whole | {n for a in args if isinstance(a, Tensor) for n in (*a.shape, a.numel())}
        )
    yield from (float(a) for a in args if type(a) in (int, float))
