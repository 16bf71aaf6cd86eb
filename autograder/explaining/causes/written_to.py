"""What a line writes to, where it is another name for the memory of a tensor that is not its own."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.source import at

_SHARING = {
    "detach", "data", "view", "view_as", "reshape", "flatten", "ravel", "contiguous", "T", "mT", "squeeze",
    "unsqueeze", "expand", "transpose", "requires_grad_",
}  # fmt: skip
_LAST_DIGITS = 1e-11  # of the largest element; a step that was not taken back is far larger


def by_another_name(ev: Evidence, finding: Finding) -> Finding | None:
    """An input or grad_output that is written to through a name that shares its memory."""
    method, name = finding.facts["method"], finding.facts["argument"]
    node = ev.source.methods.get(method)
    if node is None:
        return None
    if finding.cause == "writes/upstream":
        parameters = [a.arg for a in node.args.args]
        name = next((p for p in parameters[1:] if not p.startswith("*")), "")
    if view := ev.source.view_put_back(method):
        return _as(finding, "writes/view-put-back", view[0], name=view[1], target=view[2])
    if (back := _rounded_back(ev, finding, node)) is not None:
        return _as(finding, "writes/rounded-back", ev.source.line_of(back))
    text, made = str(finding.evidence.get("source", "")), shared_names(node)
    if "inplace=True" in text.replace(" ", ""):
        return _as(finding, finding.cause, None, inplace=True)
    written = text.split(".")[0].split("[")[0].split(" ")[0]
    if written in made and written != name and root(written, made) == name:
        return _as(finding, finding.cause, None, name=written, shared=ast.unparse(made[written]))
    return None


def _as(finding: Finding, cause: str, place: tuple[int, str] | None, **facts: Any) -> Finding:
    evidence = {**finding.evidence, **at(place)}
    return replace(finding, cause=cause, symptom=False, evidence=evidence, facts={**finding.facts, **facts})  # fmt: skip


def shared_names(node: ast.FunctionDef) -> dict[str, ast.expr]:
    """Names that are assigned once, to something that shares the memory of another name; with that."""
    found: dict[str, list[ast.expr]] = {}
    for each in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        first = each.targets[0]
        if isinstance(first, ast.Tuple) and isinstance(each.value, ast.Tuple):
            pairs = list(zip(first.elts, each.value.elts, strict=False))
        else:
            targets = [t for t in each.targets if isinstance(t, ast.Name)]
            pairs = list(zip(targets, [each.value, *targets[:1] * len(targets)], strict=False))
        for target, value in pairs:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(value)
    return {n: v[0] for n, v in found.items() if len(v) == 1 and _base(v[0]) not in ("", n)}


def _base(value: ast.AST) -> str:
    """The name whose memory an expression shares; "" where it is memory of its own."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call):
            value = value.func
        elif isinstance(value, ast.Attribute) and value.attr in _SHARING:
            value = value.value
        else:
            return ""
    return value.id


def root(name: str, made: dict[str, ast.expr]) -> str:
    """The name at the end of a chain of such names."""
    for _ in range(len(made)):
        name = _base(made[name]) if name in made else name
    return name


def _rounded_back(ev: Evidence, finding: Finding, node: ast.FunctionDef) -> ast.AST | None:
    """The last of several ``x[i] += …`` and ``-= …`` by which an element goes there and back."""
    changed = finding.pair.answer.data.get("changed_by") if finding.pair is not None else None
    if not changed or not 0 < changed[0] < _LAST_DIGITS:
        return None
    steps = [n for n in ast.walk(node) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Subscript)]  # fmt: skip
    return max(steps, key=lambda n: n.lineno) if len({type(n.op) for n in steps}) > 1 else None


_WRITES = ("input", "upstream", "input-late", "saved", "output")
CAUSES = {f"writes/{what}": (by_another_name,) for what in _WRITES}
