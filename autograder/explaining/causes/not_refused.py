"""Why something is accepted although the code refuses: the condition before its raise is not true there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.source import Source, at

_METHODS = ("forward", "setup_context")


def why_accepted(ev: Evidence, finding: Finding) -> Finding | None:
    """The one condition that should have refused this argument: it ran, so it was not true."""
    source, argument = ev.source, str(finding.facts["argument"])
    checks = _checks(source, finding.facts["errors"])
    looped = any(argument in _names(n.iter) for n in source.nodes if isinstance(n, ast.For | ast.comprehension))  # fmt: skip
    asking = [c for c in checks if argument in _names(c.test)]
    if len(asking or checks) != 1 or (not asking and looped):
        return None
    (check,) = asking or checks
    others = sorted((_names(check.test) & _parameters(source)) - {argument})
    facts = {"others": others, "condition": ast.unparse(check.test)[:60]}
    cause = "refuses/not-asked" if not asking else "refuses/condition"
    if asking and others and _asks_for_all(check.test):
        cause = "refuses/only-together"
    if not asking and not others:
        return None
    evidence = {**finding.evidence, **at(source.line_of(check))}
    return replace(finding, cause=cause, symptom=False, evidence=evidence, facts={**finding.facts, **facts})  # fmt: skip


def _checks(source: Source, errors: Sequence[str]) -> list[ast.If]:
    """Every `if` that raises one of these errors, in a forward."""
    nodes = [n for m in _METHODS if m in source.methods for n in ast.walk(source.methods[m])]
    return [n for n in nodes if isinstance(n, ast.If) and any(_raises(s, errors) for s in n.body)]


def _raises(statement: ast.stmt, errors: Sequence[str]) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return ast.unparse(raised).split(".")[-1] in errors


def _asks_for_all(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And)
    return isinstance(test, ast.Call) and ast.unparse(test.func) == "all"


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _parameters(source: Source) -> set[str]:
    return {a.arg for m in _METHODS if m in source.methods for a in source.methods[m].args.args}


CAUSES = {"refuses/accepted": (why_accepted,)}
