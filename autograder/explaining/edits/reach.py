"""Which lines of backward a gradient comes from: an edit elsewhere cannot change it."""

from __future__ import annotations

import ast

from autograder.explaining.edits.tree_edits import Edit

_BACKWARD = ("backward", "vjp")


def without_effect(found: list[Edit], position: int | None) -> list[Edit]:
    """Without the edits of backward from which nothing leads to the gradient of one argument."""
    if position is None:
        return found
    functions = {
        n for edit in found for n in edit.above
        if isinstance(n, ast.FunctionDef) and n.name in _BACKWARD
    }  # fmt: skip
    reached = {f: _reached(f, position) for f in functions}
    return [
        e for e in found if e.places or all(_matters(e, reached[f]) for f in functions & {*e.above})
    ]


def _reached(function: ast.FunctionDef, position: int) -> set[ast.AST] | None:
    """The nodes that the returned value at a position may depend on; None for all of them."""
    needed: set[str] = set()
    nodes: set[ast.AST] = set()
    for each in ast.walk(function):
        if isinstance(each, ast.Return) and isinstance(each.value, ast.Tuple):
            if position >= len(each.value.elts):
                return None
            nodes |= {each, each.value, *ast.walk(each.value.elts[position])}
        elif isinstance(each, ast.Return) and not isinstance(each.value, ast.Constant):
            return None
    statements = [
        n for n in ast.walk(function)
        if isinstance(n, ast.stmt) and not isinstance(n, ast.Return | ast.FunctionDef)
    ]  # fmt: skip
    while True:
        before = len(nodes)
        needed |= {n.id for n in nodes if isinstance(n, ast.Name)}
        for statement in statements:
            if not isinstance(statement, ast.Assign | ast.AugAssign):
                own = [v for _, v in ast.iter_fields(statement) if isinstance(v, ast.expr)]
                nodes |= {statement, *(n for v in own for n in ast.walk(v))}
            elif needed & _set_by(statement):
                nodes |= {*ast.walk(statement)}
        if len(nodes) == before:
            return nodes


def _set_by(statement: ast.Assign | ast.AugAssign) -> set[str]:
    """The variables that an assignment sets, or writes into."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _matters(edit: Edit, reached: set[ast.AST] | None) -> bool:
    pruned = isinstance(edit.node, ast.expr | ast.Assign | ast.AugAssign)
    return reached is None or edit.node in reached or not pruned
