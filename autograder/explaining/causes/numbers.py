"""A Python number that makes a step wrong: what belongs in its place, and the line that it comes from."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.departures import Departure
from autograder.explaining.causes.edits import comes_right
from autograder.explaining.causes.results import Reason, Result, result_of
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.observation.compare import close, show
from autograder.observation.source import Place, Source, Span, functions_of
from autograder.observation.syntax import SAVING
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.value_flow import Tried, Value, ancestors, code_at, expression_at

_Number = tuple[str, float, float]  # its name, what it is, and what belongs there
_Ways = Callable[[float], Iterator[float]]  # what may belong in the place of a number


def number_at_fault(result: Result, found: Departure) -> Reason | None:
    """The number with which a step gives the numbers that make the result right."""
    ev, pair = result.ev, result.ev.pair(found.question.id)
    for value, instead in found.mended:
        right = torch.from_numpy(instead.reshape(value.numbers.shape))
        ways = partial(_instead, got=value.numbers.reshape(-1), right=instead.reshape(-1))
        for number, _, made in _tried(ev, pair, value, ways):
            if close(made.double(), right):
                return _told(ev, pair, value, number, "departs/number")
    return None


def given_number(ev: Evidence, finding: Finding) -> Reason | None:
    """The number in whose place an argument makes the case of the finding right."""
    result = result_of(ev, finding)
    if result is None or ev.flow is None:
        return None
    pair = result.wrong[0].pair
    given = [float(a) for a in pair.question.args if type(a) in (int, float)]
    end = ev.flow(pair.question).results.get((result.kind, result.place))
    for value in ancestors(end) if given and end is not None else ():
        for number, text, _ in _tried(ev, pair, value, lambda mine: iter({*given} - {mine})):
            if comes_right(result, pair, (value, value.spans[0]), text):
                return _told(ev, pair, value, number, "special/number")
    return None


def _told(ev: Evidence, pair: Pair, value: Value, number: _Number, code: str) -> Reason | None:
    """None where the number is an argument as it was given: then it is the step that is wrong."""
    (name, mine, belongs), span = number, value.spans[0]
    if (found := origin(ev.source, name, span, value.spans[1:])) is None:
        return None
    made, left_out = found
    facts = {"line": span.line, "name": name, "mine": show(mine), "right": show(belongs)}
    facts |= {"made": made[0]} if made[0] != span.line else {}
    facts |= {"left_out": True} if left_out else {}
    return Reason(code, facts, made, pair=pair)


def _tried(ev: Evidence, pair: Pair, value: Value, ways: _Ways) -> list[tuple[_Number, str, Tensor]]:  # fmt: skip
    """What the expression of a value gives with other numbers in the place of one that has a name."""
    if value.mask or not value.spans or ev.answered is None:
        return []
    tried = Tried(value, value.spans[0], {}, partial(_others, value.spans[0], ways))
    with contained():
        ev.answered(pair.question, tried)
    return tried.found


def _others(span: Span, ways: _Ways, names: Mapping[str, Any]) -> Iterator[tuple[_Number, str]]:
    """The expression with another number in the place of each name of one that stands there once.

    Where a name is used several times, its number may be right for one use and not for another: then the step is wrong.
    """
    code = code_at(span)
    nodes = [(ast.unparse(n), n) for n in ast.walk(expression_at(span) or ast.Pass()) if isinstance(n, ast.Name | ast.Attribute)]  # fmt: skip
    often = Counter(name for name, _ in nodes)
    for name, node in nodes:
        if isinstance(mine := names.get(name), int | float) and often[name] == 1:
            for other in ways(mine):
                text = f"{code[: node.col_offset]}({other!r}){code[node.end_col_offset :]}"
                yield (name, mine, other), text


def _instead(mine: float, got: Array, right: Array) -> Iterator[float]:
    """What a factor, a divisor or a term would have to be."""
    at = int(np.abs(got).argmax())
    a, b = float(got[at]), float(right[at])
    ways = (mine * b / a, mine * a / b) if a and b else ()
    # A whole number counts something: where another kind of number belongs, the step is wrong.
    yield from (n for n in (*ways, mine + b - a, mine - b + a) if type(mine) is float or abs(n - round(n)) < 1e-9)  # fmt: skip


def origin(source: Source, name: str, at: Span, calls: Sequence[Span]) -> tuple[Place, bool] | None:
    """The line in which a name gets what it stands for where it is used; whether a call leaves it to its default.

    None for an argument of the method.

    calls  the expressions that called the function there, the innermost first
    """
    lines = linecache.getlines(at.file)
    around = [n for n in functions_of(lines).values() if n.lineno <= at.line <= (n.end_lineno or 0)]
    function = max(around, key=lambda n: n.lineno, default=None)
    here = at.line, lines[at.line - 1].strip()
    if function is None:
        return here, False
    if "." in name:  # ctx.scale, set in forward
        nodes = [n for method in SAVING for n in source.parts(method)]
    else:
        nodes = [n for n in ast.walk(function) if getattr(n, "lineno", at.line) < at.line]
    sets = [n for n in nodes if isinstance(n, ast.Assign) and any(name == ast.unparse(t) for t in _targets(n))]  # fmt: skip
    if "." in name and function.name in SAVING:  # what stands below is not set yet
        sets = [n for n in sets if source.line_of(n)[0] < at.line]
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if sets:
        value, there = sets[-1].value, replace(at, line=source.line_of(sets[-1])[0] if "." in name else sets[-1].lineno)  # fmt: skip
    elif name in names and calls:
        there, call = calls[0], expression_at(calls[0])
        given = dict(zip(names, getattr(call, "args", ()), strict=False))
        given |= {k.arg: k.value for k in getattr(call, "keywords", ())}
        if name not in given:
            return (there.line, linecache.getline(there.file, there.line).strip()), True
        value, calls = given[name], calls[1:]
    else:
        return None if name in names else (here, False)
    if isinstance(value, ast.Name | ast.Attribute):  # it is handed on
        return origin(source, ast.unparse(value), there, calls)
    return (there.line, linecache.getline(there.file, there.line).strip()), False


def _targets(statement: ast.Assign) -> Iterator[ast.AST]:
    return (part for target in statement.targets for part in ast.walk(target))
