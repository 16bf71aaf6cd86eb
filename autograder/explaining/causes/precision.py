"""Digits and dtypes: numbers that are right to a few digits only, and what made a tensor of another dtype."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograder.explaining.causes.definitions import defined
from autograder.explaining.causes.results import Reason, Result
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause, Finding
from autograder.observation.compare import nearly, off_by, single_inside
from autograder.observation.observation import Question
from autograder.running.value_flow import Value, ancestors

# What people type by hand, and what it is a rounded version of.
CONSTANTS = {
    "e": math.e, "π": math.pi, "2π": math.tau, "π/2": math.pi / 2, "√2": math.sqrt(2),
    "1/√2": math.sqrt(0.5), "√π": math.sqrt(math.pi), "1/√π": 1 / math.sqrt(math.pi),
    "2/√π": 2 / math.sqrt(math.pi), "√(2π)": math.sqrt(math.tau), "1/√(2π)": 1 / math.sqrt(math.tau),
    "√(2/π)": math.sqrt(2 / math.pi), "1/π": 1 / math.pi, "1/e": 1 / math.e, "ln 2": math.log(2),
    "1/ln 2": 1 / math.log(2), "ln 10": math.log(10), "1/ln 10": 1 / math.log(10), "√3": math.sqrt(3),
}  # fmt: skip


def constant(factor: float) -> str:
    """ "ln 2" for a factor that is a well-known number; "" for any other."""
    return next((name for name, value in CONSTANTS.items() if abs(factor / value - 1) < 1e-6), "")


_OF_SINGLE = 1e-6  # as a share of a number: what a few operations in float32 are off by


def few_digits(result: Result) -> Reason | None:
    """What is off by very little everywhere: float32 on the way, or something else."""
    if not result.wrong or not all(nearly(s.got, s.right) for s in result.wrong):
        return None
    first = result.wrong[0]
    if single_inside(first.got, first.right):
        made = made_single(result.ev, first.pair) or {}
        return Reason("precision/single", made)
    off = off_by(first.got, first.right)  # type: ignore[arg-type]
    if "fake" in result.ev.source.methods and off < _OF_SINGLE:
        return Reason("precision/single")  # what an operator does inside leaves no other trace
    digits = min(15, int(-math.log10(off))) if off else 15
    return Reason("precision/few-digits", {"digits": digits}, symptom=True)


def made_single(ev: Evidence, pair: Pair) -> dict[str, Any] | None:
    """The facts of the first float32 tensor of a run in float64, wherever it is made."""
    run = ev.flow(pair.question)
    return None if run is None else made_in(ev, run.values, "float32", pair.question)


def inexact(ev: Evidence, finding: Finding) -> Reason | None:
    """What made a float32 tensor on the way to a gradient that lacks digits."""
    made = made_single(ev, finding.pair) if finding.pair is not None else None
    return None if made is None else Reason(finding.cause, made)


# ---- the first operation that made a tensor of another dtype than the input has ------------------

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _known_at(ev: Evidence, question: Question, line: int) -> str:
    """A tensor with the dtype that is wanted, by its name in the method of a line: an argument of the contract's, or grad_output."""
    given = [ev.argument(i) for i, a in enumerate(question.args) if isinstance(a, Tensor)]
    for node in ev.source.methods.values():
        if 0 <= line - ev.source.line_of(node)[0] <= (node.end_lineno or 0) - node.lineno:
            own = [each.arg for each in node.args.args if each.arg not in ("ctx", "self")]
            return next((name for name in own if name in given), own[0] if own else given[0])
    return given[0]


def made_in(
    ev: Evidence, values: Iterable[Value], dtype: str, question: Question
) -> dict[str, Any] | None:
    """The facts ``made`` and ``instead`` (clauses), ``line`` and ``source`` of what first made a dtype."""
    for value in values:
        if value.dtype == dtype and value.line is not None and all(g.dtype != dtype for g in value.given):  # fmt: skip
            read = value.read and defined(ev.source, value.read, numbers=False)
            if value.read and read is None:
                continue
            line, text = read or (value.line, value.text)
            how = "cast" if value.op == "_to_copy" else "other" if value.given else "factory"
            facts = {"line": line, "dtype": dtype, "x": _known_at(ev, question, line), "code": value.code}  # fmt: skip
            made = "makes/name" if read else "makes/line"
            clauses = {"made": Clause(made, facts), "instead": Clause(f"instead/{how}", facts)}
            return {**clauses, "line": line, "source": text}
    return None


def of_result(ev: Evidence, finding: Finding) -> Reason | None:
    """A result of another dtype, in the case of the finding."""
    problem = finding.facts.get("problem")
    facts = problem.facts if isinstance(problem, Clause) else finding.facts
    other = not isinstance(problem, Clause) or problem.cause.endswith("-dtype")
    run = ev.flow(finding.pair.question) if finding.pair is not None else None
    if finding.pair is None or run is None or not other:
        return None
    output = finding.position is None
    place = ("output", int(finding.facts.get("place") or 0)) if output else ("gradient", finding.position or 0)  # fmt: skip
    end = run.results.get(place)
    # What comes from NumPy is on no way: then whatever has the dtype first.
    ways = ([] if end is None else ancestors(end)), run.values
    made = next(
        filter(
            None, (made_in(ev, way, str(facts.get("mine")), finding.pair.question) for way in ways)
        ),
        None,
    )
    return None if made is None else Reason(finding.cause, made)


def two_dtypes(ev: Evidence, finding: Finding) -> Reason | None:
    """An operation that stops at two dtypes: what made a tensor of the odd one."""
    failure = finding.pair.answer.failure if finding.pair is not None else None
    words = failure.words.lower() if failure is not None else ""
    if finding.pair is None or not ("dtype" in words or "scalar type" in words):
        return None
    question = finding.pair.question
    given = [str(a.dtype)[6:] for a in question.args if isinstance(a, Tensor) and a.is_floating_point()]  # fmt: skip
    run = ev.flow(question)
    for odd in _FLOATS if given and run is not None else ():
        if odd not in given and (facts := made_in(ev, run.values, odd, question)) is not None:
            return Reason("stops/two-dtypes", facts | {"odd_dtype": odd, "wanted": given[0]})
    return None
