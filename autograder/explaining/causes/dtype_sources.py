"""The first operation of a run that made a tensor of another dtype than the input has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograder.explaining.causes.departures import ancestors
from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Clause, Finding
from autograder.running.value_flow import Value

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def made_in(values: Iterable[Value], dtype: str, x: str) -> dict[str, Any] | None:
    """The facts ``made`` and ``instead`` (clauses), ``line`` and ``source`` of what first made a dtype."""
    for value in values:
        if value.dtype == dtype and value.line is not None and all(g.dtype != dtype for g in value.given):  # fmt: skip
            how = "cast" if value.op == "_to_copy" else "other" if value.given else "factory"
            facts = {"line": value.line, "dtype": dtype, "x": x, "code": value.code}
            clauses = {"made": Clause("makes/line", facts), "instead": Clause(f"instead/{how}", facts)}  # fmt: skip
            return {**clauses, "line": value.line, "source": value.text}
    return None


def _reason(code: str, facts: dict[str, Any] | None) -> Reason | None:
    return None if facts is None else Reason(code, facts, (int(facts["line"]), str(facts["source"])))  # fmt: skip


def of_result(ev: Evidence, finding: Finding) -> Reason | None:
    """A result of another dtype, in the case of the finding."""
    problem = finding.facts.get("problem")
    facts = problem.facts if isinstance(problem, Clause) else finding.facts
    other = not isinstance(problem, Clause) or problem.cause.endswith("-dtype")
    if finding.pair is None or ev.flow is None or not other:
        return None
    output = finding.position is None
    place = ("output", int(finding.facts.get("place") or 0)) if output else ("gradient", finding.position or 0)  # fmt: skip
    end = ev.flow(finding.pair.question).results.get(place)
    x = ev.argument(0) if output else "grad_output"
    return (
        None
        if end is None
        else _reason(finding.cause, made_in(ancestors(end), str(facts.get("mine")), x))
    )


def two_dtypes(ev: Evidence, finding: Finding) -> Reason | None:
    """An operation that stops at two dtypes: what made a tensor of the odd one."""
    failure = finding.pair.answer.failure if finding.pair is not None else None
    words = failure.words.lower() if failure is not None else ""
    if finding.pair is None or ev.flow is None or not ("dtype" in words or "scalar type" in words):
        return None
    question = finding.pair.question
    given = [str(a.dtype)[6:] for a in question.args if isinstance(a, Tensor) and a.is_floating_point()]  # fmt: skip
    values = ev.flow(question).values
    for odd in _FLOATS if given else ():
        if odd not in given and (facts := made_in(values, odd, ev.argument(0))) is not None:
            return _reason("stops/two-dtypes", facts | {"odd_dtype": odd, "wanted": given[0]})
    return None
