"""Why a mask lets everything through, and what in the code decides at a special point."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from autograder.explaining.causes.regions import passing
from autograder.explaining.causes.results import Reason, Result
from autograder.judging.finding import Clause
from autograder.observation.source import Source
from autograder.observation.syntax import assignments, called, saved_as

_METHODS = ("forward", "setup_context", "backward")
_NEVER_NEGATIVE = ("relu", "relu_", "relu6", "square", "abs", "exp", "sigmoid", "softplus")
# What puts every number into the range that the mask asks for afterwards.
_BOUNDING = ("clamp", "clamp_", "clip", "clip_", "hardtanh", "minimum", "maximum", "sign", "where")
_CHOOSE = {"where", "sign", "gt", "ge", "lt", "le", "ne", "eq", "masked_fill", "heaviside", "nonzero", "clamp", "relu", "bool", "threshold_backward"}  # fmt: skip


def passes_everywhere(result: Result) -> Reason | None:
    """A gradient that is grad_output everywhere, where it should stop somewhere: why the mask stops nothing."""
    found = passing(result) if result.kind == "gradient" else None
    stops = any(s.right is not None and bool((s.right == 0).any()) for s in result.wrong)
    if found is None or not bool(found[0].all()) or not stops:
        return None
    source = result.ev.source
    for node in _nodes(source, ast.BinOp, ast.Call):
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) else []  # fmt: skip
        sides = node.args if isinstance(node, ast.Call) and called(node) == "logical_or" else sides
        if len(sides) == 2 and all(isinstance(s, ast.Compare) for s in sides):
            return Reason("mask/joined-with-or", line=source.line_of(node))
    if (bounded := mask_of_bounded(source)) is not None:
        node, name, call, made = bounded
        code = "never-negative" if call in _NEVER_NEGATIVE else "bounded"
        facts = {"name": name, "call": call.removesuffix("_"), "made": made}
        return Reason(f"mask/{code}", facts, source.line_of(node))
    backward = source.methods.get("backward")
    compares = any(isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for n in _nodes(source, ast.Compare) for op in n.ops)  # type: ignore[attr-defined]  # fmt: skip
    named = {n.attr for n in ast.walk(backward) if isinstance(n, ast.Attribute)} if backward else _CHOOSE  # fmt: skip
    return None if compares or named & _CHOOSE else Reason("mask/none")


def _nodes(source: Source, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    for name in _METHODS:
        method = source.methods.get(name)
        yield from (n for n in ast.walk(method) if isinstance(n, kinds)) if method else ()


def mask_of_bounded(source: Source) -> tuple[ast.AST, str, str, int] | None:
    """(the comparison, what it compares, the call that bounded that, its line) of a mask that sees the bounded only."""
    for name in _METHODS:
        method = source.methods.get(name)
        for node in ast.walk(method) if method is not None else ():
            if not isinstance(node, ast.Compare) or method is None:
                continue
            at_least_0 = isinstance(node.ops[0], ast.GtE | ast.LtE) and any(_is_0(s) for s in (node.left, *node.comparators))  # fmt: skip
            for side in (node.left, *node.comparators):
                made = _origin(source, method, side, node.lineno)
                if made is None:
                    continue
                call, line = made
                if call in _BOUNDING or (at_least_0 and call in _NEVER_NEGATIVE):
                    return node, ast.unparse(side)[:40], call, line
    return None


def _is_0(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _origin(
    source: Source, method: ast.FunctionDef, value: ast.AST, before: int
) -> tuple[str, int] | None:
    """(the last call that gives this value, its line), followed through names and what was saved."""
    for _ in range(4):
        if isinstance(value, ast.Call):
            return called(value), source.line_of(value)[0]
        if isinstance(value, ast.BinOp):  # a sum with such a call counts: the last operation on it
            sides = [_origin(source, method, s, before) for s in (value.left, value.right) if isinstance(s, ast.Call)]  # fmt: skip
            return next((s for s in sides if s is not None), None)
        if not isinstance(value, ast.Name):
            return None
        places = [n for n in assignments(method, value.id) if n.lineno < before]
        made = [n.value for n in places if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]  # fmt: skip
        if made:
            value = made[-1]
            continue
        saving = [source.methods[m] for m in ("forward", "setup_context") if m in source.methods]
        origins = saved_as(method, value.id, saving)
        if len(origins) != 1:
            return None
        (method, value), before = origins[0], 10**9
    return None


# ---- what decides at a special point ---------------------------------------------------------------

_TOLERANCE = 1e-3  # a number in the code below this is no bound, but what is granted beside one
_OF_SIZES = {"dim", "ndim", "numel", "shape", "size", "len", "needs_input_grad"}
_AT_0: dict[type[ast.cmpop], bool] = {
    ast.Lt: False, ast.Gt: False, ast.NotEq: False, ast.LtE: True, ast.GtE: True, ast.Eq: True,
}  # fmt: skip


def what_decides(source: Source, x: torch.Tensor, odd: torch.Tensor) -> tuple[Clause, tuple[int, str]] | None:  # fmt: skip
    """(a clause about the one thing in the code that decides where x is odd, its line), where there is one."""
    nodes = [n for name, m in source.methods.items() if not name.startswith("__") for n in ast.walk(m)]  # fmt: skip
    special = x[odd]
    ties = any(int((x == value).sum()) > 1 for value in special.unique())
    if bool((special == 0).all()):
        found = sorted(
            ((_order(n), n) for n in nodes if _order(n)), key=lambda f: f[0] == "false-at-0"
        )
        codes = [code for code, _ in found]
        if len(codes) == len(set(codes)) and found:
            return _clause(source, *found[0])
    elif ties and len(equal := [n for n in nodes if _is_equality(n)]) == 1:
        return _clause(source, "equal", equal[0])
    elif (bounded := mask_of_bounded(source)) is not None:
        node, name, _, made = bounded
        clause, line = _clause(source, "bounded", node)
        return Clause(clause.cause, {**clause.facts, "name": name, "made": made}), line
    near = [n for n in nodes if called(n) in ("isclose", "allclose") or (isinstance(n, ast.Constant) and isinstance(n.value, float) and 0 < n.value < _TOLERANCE)]  # fmt: skip
    return _clause(source, "near", near[0]) if len(near) == 1 else None


def _clause(source: Source, code: str, node: ast.AST) -> tuple[Clause, tuple[int, str]]:
    text, line = ast.unparse(node), source.line_of(node)
    short = text if len(text) <= 40 else f"{text[:38]}…"
    return Clause(f"decides/{code}", {"code": short, "line": line[0]}), line


def _order(node: ast.AST) -> str:
    """ "true-at-0", "false-at-0" or "sign" for what decides by the sign of something; "" for anything else."""
    if called(node) in ("sign", "sgn"):
        return "sign"
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _AT_0:
        return ""
    names = {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node) if isinstance(n, ast.Attribute | ast.Name)}  # fmt: skip
    if names & _OF_SIZES or not any(_is_0(s) for s in (node.left, node.comparators[0])):
        return ""
    return "true-at-0" if _AT_0[type(node.ops[0])] else "false-at-0"


def _is_equality(node: ast.AST) -> bool:
    if called(node) == "eq":
        return True
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and not any(
        isinstance(s, ast.Constant) for s in (node.left, *node.comparators)
    )  # fmt: skip
