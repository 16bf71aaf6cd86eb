"""Why an answer is wrong for tensors that lie otherwise in memory: it reads memory, or writes to a copy."""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.source import Source
from autograder.observation.syntax import called

_VIEWS_IF_THEY_CAN = ("reshape", "flatten", "contiguous", "ravel")
_MEMORY = ("as_strided", "untyped_storage", "storage", "data_ptr", "set_", "stride", "numpy")


def other_layout(ev: Evidence, finding: Finding) -> Reason | None:
    """What was written to a copy, or read from memory in the order in which it usually lies."""
    pair = finding.pair
    if pair is None or pair.answer.failure is not None:
        return None
    outputs = pair.answer.outputs or ()
    unmoved = all(isinstance(o, Tensor) and not bool(o.any()) for o in outputs)
    copied = written_copy(ev.source, ev.exercise.name) if unmoved and outputs else None
    if ev.exercise.is_function and copied is not None:
        facts = {"name": copied[1], "made": copied[2], "of": copied[2].split(".")[0]}
        return Reason("strides/copied", facts, copied[0])
    for node in ev.source.nodes:
        if called(node) in _MEMORY:
            reads = {"call": called(node), "line": ev.source.line_of(node)[0]}
            return Reason("strides/memory", {**finding.facts, **reads}, ev.source.line_of(node))
    return None


def written_copy(source: Source, method: str) -> tuple[tuple[int, str], str, str] | None:
    """(the first line that writes, the name written to, "x.reshape(-1)"), where x is an argument.

    The name is made once, of an argument, and afterwards written to in place.
    """
    node = source.methods.get(method)
    if node is None:
        return None
    arguments = {a.arg for a in (*node.args.posonlyargs, *node.args.args)}
    statements = [n for n in ast.walk(node) if isinstance(n, ast.stmt)]
    for made in statements:
        if not isinstance(made, ast.Assign) or called(made.value) not in _VIEWS_IF_THEY_CAN:
            continue
        name, of = made.targets[0], getattr(getattr(made.value, "func", None), "value", None)
        if not isinstance(name, ast.Name) or not isinstance(of, ast.Name) or of.id not in arguments:
            continue
        writes = [n for n in statements if n.lineno > made.lineno and _writes_to(n, name.id)]
        if writes:
            first = min(writes, key=lambda n: n.lineno)
            return source.line_of(first), name.id, ast.unparse(made.value)
    return None


def _writes_to(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return isinstance(node, ast.Assign | ast.AugAssign) and any(
        isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == name for t in targets
    )  # fmt: skip
