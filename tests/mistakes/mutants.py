"""Mechanical wrong answers: every one-node change of a right answer's syntax tree.

A mutant that the grader accepts is either equivalent to the answer it came from (listed by hand in
``equivalent.py``, with the reason) or a false accept.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_CALLS = {
    "sigmoid": "tanh", "tanh": "sigmoid", "exp": "expm1", "log": "log1p", "sin": "cos",
    "sum": "mean", "mean": "sum", "amax": "amin", "max": "min", "min": "max", "abs": "square",
    "zeros_like": "ones_like", "ones_like": "zeros_like", "relu": "abs", "sqrt": "square",
}  # fmt: skip
# Calls whose result can be replaced by what they are called on.
_DROPPED = {
    "sum_to_size",
    "clone",
    "detach",
    "abs",
    "neg",
    "sum",
    "t",
    "contiguous",
    "to",
    "unsqueeze",
}


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(what was changed, new source) for every one-node change; each differs from the original."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for index, node in enumerate(ast.walk(tree)):
        for words, change in _changes(node):
            copied = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(copied)) if i == index)
            change(copied, target)
            text = ast.unparse(ast.fix_missing_locations(copied))
            if text not in seen:
                seen.add(text)
                yield f"line {getattr(node, 'lineno', '?')}: {words}", text


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.BinOp):
        for other in _OPERATORS.get(type(node.op), ()):
            yield f"{type(node.op).__name__} → {other.__name__}", _set_operator(other)
        yield "left operand alone", _replace_by(lambda n: n.left)
        yield "right operand alone", _replace_by(lambda n: n.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield f"{type(node.op).__name__} dropped", _replace_by(lambda n: n.operand)
    elif isinstance(node, ast.Compare):
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield f"{type(node.ops[0]).__name__} → {other.__name__}", _set_comparison(other)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for value in (node.value + 1, -node.value if node.value else 1):
            yield f"{node.value} → {value}", _set_value(value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} → {not node.value}", _set_value(not node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _CALLS:
            yield f"{name} → {_CALLS[name]}", _rename_call(_CALLS[name])
        if (name in _DROPPED and not isinstance(node.func.value, ast.Name | ast.Attribute)) or (
            name in _DROPPED
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id != "torch"
        ):
            yield f"{name} dropped", _replace_by(lambda n: n.func.value)
    elif isinstance(node, ast.IfExp):
        yield "condition always true", _replace_by(lambda n: n.body)
        yield "condition always false", _replace_by(lambda n: n.orelse)
    elif (
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) > 1
    ):
        yield "first two results swapped", _swap_results
        yield "last result dropped", _drop_result


def _set_operator(other: type[ast.operator]) -> object:
    def change(tree: ast.AST, node: ast.BinOp) -> None:
        node.op = other()

    return change


def _set_comparison(other: type[ast.cmpop]) -> object:
    def change(tree: ast.AST, node: ast.Compare) -> None:
        node.ops[0] = other()

    return change


def _set_value(value: object) -> object:
    def change(tree: ast.AST, node: ast.Constant) -> None:
        node.value = value  # type: ignore[assignment]

    return change


def _rename_call(name: str) -> object:
    def change(tree: ast.AST, node: ast.Call) -> None:
        node.func.attr = name  # type: ignore[attr-defined]

    return change


def _replace_by(part: object) -> object:
    def change(tree: ast.AST, node: ast.AST) -> None:
        _Replace(node, part(node)).visit(tree)  # type: ignore[operator]

    return change


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _swap_results(tree: ast.AST, node: ast.Return) -> None:
    elements = node.value.elts  # type: ignore[union-attr]
    elements[0], elements[1] = elements[1], elements[0]


def _drop_result(tree: ast.AST, node: ast.Return) -> None:
    del node.value.elts[-1]  # type: ignore[union-attr]
