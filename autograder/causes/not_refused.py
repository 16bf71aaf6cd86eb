"""Why something is accepted although the code refuses: the condition before its raise is not true there."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograder.source import Source

_METHODS = ("forward", "setup_context")


def why_accepted(source: Source, argument: str, errors: Sequence[str]) -> tuple[str, str, dict[str, object]] | None:  # fmt: skip
    """(clause, hint, line) about the one condition that should have refused this argument; None where there is none.

    It ran and refused nothing, so it was not true.
    """
    every = _checks(source, errors)
    checks = [c for c in every if argument in _names(c.test)]
    if not checks and len(every) == 1 and not _goes_through(source, argument):
        asked = sorted(_names(every[0].test) & _parameters(source))
        line, text = source.line_of(every[0])
        return (
            (
                f"the check in line {line} asks about {' and '.join(asked)} alone",
                f"Check {argument} as well.",
                {"line": line, "source": text},
            )
            if asked
            else None
        )
    if len(checks) != 1:
        return None
    check = checks[0]
    line, text = source.line_of(check)
    where: dict[str, object] = {"line": line, "source": text}
    other = sorted({n for n in _names(check.test) if n != argument and n in _parameters(source)})
    if _asks_for_all(check.test) and other:
        both = " and ".join(sorted([argument, *other]))
        return (
            f"line {line} refuses only when what it asks holds for {both} at once",
            "One is enough: `or` in place of `and` (any in place of all), or a check for each argument.",
            where,
        )
    return (
        f"the condition of line {line}, `{ast.unparse(check.test)[:60]}`, is not true for it",
        "Work out that condition for this argument: what does each part of it give?",
        where,
    )


def _goes_through(source: Source, argument: str) -> bool:
    """Whether a loop or a comprehension runs over something with this argument in it."""
    loops = [n.iter for n in source.nodes if isinstance(n, ast.For | ast.comprehension)]
    return any(argument in _names(each) for each in loops)


def _checks(source: Source, errors: Sequence[str]) -> list[ast.If]:
    """Every `if` that raises one of these errors, in a forward."""
    methods = [source.methods[m] for m in _METHODS if m in source.methods]
    return [
        n
        for method in methods
        for n in ast.walk(method)
        if isinstance(n, ast.If) and any(_raises(s, errors) for s in n.body)
    ]


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
