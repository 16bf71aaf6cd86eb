"""Writes that never arrive: ``flat = x.reshape(-1)`` is a view of x where it can be one, else a copy."""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.evidence import Evidence, Finding
from autograder.source import Source

_VIEWS_IF_THEY_CAN = ("reshape", "flatten", "contiguous", "ravel")


def writes_that_never_arrive(ev: Evidence, finding: Finding) -> Finding:
    """The finding about another layout, explained where a function never saw what it should have moved."""
    pair = next(
        (
            p
            for p in ev.pairs("function", variant="transposed")
            if p.where == finding.evidence["case"]
        ),
        None,
    )
    outputs = (pair.answer.outputs or ()) if pair is not None else ()
    unmoved = all(isinstance(o, Tensor) and not bool(o.any()) for o in outputs)
    copied = written_copy(ev.source, next(iter(ev.source.methods), ""))
    if not outputs or not unmoved or copied is None:
        return finding
    (line, text), name, made = copied
    return Finding(
        finding.rule,
        f"{finding.message.removesuffix('.')}: 0 everywhere. There {made} is a copy, and what is written into "
        f"{name} does not reach {made.split('.')[0]}.",
        "reshape gives a view where it can and a copy where it cannot: read from it, and write only to a tensor "
        "that you hand on yourself (a clone).",
        {**finding.evidence, "line": line, "source": text},
    )


def written_copy(source: Source, method: str) -> tuple[tuple[int, str], str, str] | None:
    """(the first line that writes, the name written to, "x.reshape(-1)"), where x is an argument.

    The name is made once, of an argument, and afterwards written to in place.
    """
    node = source.methods.get(method)
    if node is None:
        return None
    arguments = {a.arg for a in (*node.args.posonlyargs, *node.args.args)}
    assigned = [n for n in ast.walk(node) if isinstance(n, ast.Assign)]
    for made in assigned:
        name, value = made.targets[0], made.value
        if not isinstance(name, ast.Name) or not isinstance(value, ast.Call):
            continue
        function = value.func
        if not isinstance(function, ast.Attribute) or function.attr not in _VIEWS_IF_THEY_CAN:
            continue
        if not isinstance(function.value, ast.Name) or function.value.id not in arguments:
            continue
        statements = [n for n in ast.walk(node) if isinstance(n, ast.stmt)]
        writes = [n for n in statements if _writes_to(n, name.id) and n.lineno > made.lineno]
        if writes:
            first = min(writes, key=lambda n: n.lineno)
            return source.line_of(first), name.id, ast.unparse(value)
    return None


def _writes_to(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign):
        targets = [node.target]
    return any(
        isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == name
        for t in targets
    )
