"""What a line writes to, where it is another name for the memory of a tensor that is not its own."""

from __future__ import annotations

import ast

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding

_SHARING = {
    "detach", "data", "view", "view_as", "reshape", "flatten", "ravel", "contiguous", "T", "mT", "squeeze",
    "unsqueeze", "expand", "transpose", "requires_grad_",
}  # fmt: skip


def by_another_name(ev: Evidence, finding: Finding) -> Reason | None:
    """An input or grad_output that is written to through a name that shares its memory."""
    method, name = finding.facts["method"], finding.facts["argument"]
    node = ev.source.methods.get(method)
    if node is None:
        return None
    if finding.cause == "writes/upstream":
        parameters = [a.arg for a in node.args.args]
        name = next((p for p in parameters[1:] if not p.startswith("*")), "")
    text, made = str(finding.evidence.get("source", "")), shared_names(node)
    if "inplace=True" in text.replace(" ", ""):
        return Reason(finding.cause, {"inplace": True})
    written = text.split(".")[0].split("[")[0].split(" ")[0]
    if written in made and written != name and root(written, made) == name:
        return Reason(finding.cause, {"name": written, "shared": ast.unparse(made[written])})
    return None


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


_WRITES = ("input", "upstream", "input-late", "saved", "output")
CAUSES = {f"writes/{what}": (by_another_name,) for what in _WRITES}
