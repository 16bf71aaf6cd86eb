"""A 0 that is taken for nothing: the number is asked whether it is true, where None or another number is meant.

A question with a 0 in it is put once more, with a 0 that is true. Where it then comes out right, the line that asked is
the fault: in whatever function that stands, and however the 0 came there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autograder.explaining.causes.results import Reason, Result
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Pair
from autograder.observation.source import Place
from autograder.observation.syntax import Span, code_at
from autograder.running.containment import contained
from autograder.running.operations import span_of
from autograder.running.value_flow import is_plain_number

_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


def taken_for_nothing(result: Result) -> Reason | None:
    """The line that asks a 0 whether it is true, where the result is right with one that is."""
    asked = next(filter(None, (_asked(result, s.pair) for s in result.wrong[:2])), None)
    if asked is None:
        return None
    span, place = asked
    return Reason("truth/zero", {"code": code_at(span).rstrip(":"), "line": span.line}, place)


def _asked(result: Result, pair: Pair) -> tuple[Span, Place] | None:
    given = (
        result.ev.exercise.strictness.as_given
    )  # somebody's library is only run with numbers as they are
    if given or result.ev.answered is None or not any(map(is_plain_number, pair.question.args)):
        return None
    seen: list[Span] = []
    args = tuple(_true(a, seen) if is_plain_number(a) else a for a in pair.question.args)
    with contained():
        answer = result.ev.answered(replace(pair.question, args=args), None)
    there = Pair(pair.question, answer, pair.references)
    wrong = (result.kind, result.place) in wrong_parts(there, right_parts(pair))
    missing = result.kind == "gradient" and there.raw(result.place) is None
    if not seen or answer.failure is not None or wrong or missing:
        return None
    return seen[0], (seen[0].line, result.ev.source.text_of(seen[0].line))


def _true(number: Any, seen: list[Span]) -> Any:
    """A number that is true, as are those that are computed from it; where a 0 is asked, that is noted."""
    kind: Any = float if isinstance(number, float) else int

    def asked(self: Any) -> bool:
        span = span_of(sys._getframe(1))
        if kind(self) == 0 and span is not None:
            seen.append(span)
        return True

    def computed(method: str) -> Callable[..., Any]:
        def compute(self: Any, *others: Any) -> Any:
            made = getattr(kind, method)(self, *others)
            return _true(made, seen) if is_plain_number(made) else made  # NotImplemented, or a bool

        return compute

    names = [f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r")]
    methods = {name: computed(name) for name in (*names, "__neg__", "__abs__")}
    return type(kind.__name__, (kind,), {"__bool__": asked, **methods})(number)
