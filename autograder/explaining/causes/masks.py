"""What in the code decides at a special point: a comparison, an equality, a tolerance."""

from __future__ import annotations

import ast

import torch

from autograder.judging.finding import Clause
from autograder.observation.source import Source
from autograder.observation.syntax import called

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
    near = [n for n in nodes if called(n) in ("isclose", "allclose") or (isinstance(n, ast.Constant) and isinstance(n.value, float) and 0 < n.value < _TOLERANCE)]  # fmt: skip
    return _clause(source, "near", near[0]) if len(near) == 1 else None


def _clause(source: Source, code: str, node: ast.AST) -> tuple[Clause, tuple[int, str]]:
    text, line = ast.unparse(node), source.line_of(node)
    short = text if len(text) <= 40 else f"{text[:38]}…"
    return Clause(f"decides/{code}", {"code": short, "line": line[0]}), line


def _is_0(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


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
