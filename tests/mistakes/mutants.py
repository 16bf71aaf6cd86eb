"""Mechanical wrong answers: every one-node change of a right answer's syntax tree.

A mutant that the grader accepts is either equivalent to the answer it came from (listed by hand in
``equivalent.py``, with the reason) or a false accept.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

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


# What is called only to tell somebody something: its arguments change no result.
_TELLING = {"print", "warn", "warning", "info", "debug"}


@dataclass(frozen=True)
class Mutant:
    """One changed node. ``change`` names the place by its code, so that formatting does not move it."""

    change: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every one-node change of the source that changes its code; each once."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    named: Counter[str] = Counter()
    places = _places(tree)
    for index, node in enumerate(ast.walk(tree)):
        if index not in places:
            continue
        for change in _changes(node):
            copied = copy.deepcopy(tree)
            nodes = list(ast.walk(copied))
            target, method, statement = nodes[index], *(nodes[i] for i in places[index])
            before = _words(statement)
            change(copied, target)
            text = ast.unparse(ast.fix_missing_locations(copied))
            if text in seen:
                continue
            seen.add(text)
            name = f"{getattr(method, 'name', 'outside')}: {before} → {_words(statement)}"
            named[name] += 1
            yield Mutant(name if named[name] == 1 else f"{name} ({named[name]})", text)


def _places(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """For the index of every node that is worth changing: those of its function and its statement.

    Not worth it are type annotations, and what is printed or said in a warning or an error.
    """
    index = {id(node): i for i, node in enumerate(ast.walk(tree))}
    found: dict[int, tuple[int, int]] = {}

    def visit(node: ast.AST, method: ast.AST, statement: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            method = node
        if isinstance(node, ast.stmt):
            statement = node
        if not isinstance(node, ast.Module):
            found[index[id(node)]] = index[id(method)], index[id(statement)]
        for part in _parts(node):
            visit(part, method, statement)

    visit(tree, tree, tree)
    return found


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node, without annotations and without words for the reader."""
    if isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.Call) and _called(node) in _TELLING:
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        if isinstance(node, ast.Subscript) and name == "slice" and _indices(node):
            continue  # moved by the subscript itself: x[1] and x[-1] are often the same element
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _words(statement: ast.AST) -> str:
    """A statement in one line; of one that has a body, the head."""
    text = ast.unparse(statement)
    if not hasattr(statement, "body"):
        return " ".join(text.split())
    head = copy.copy(statement)
    head.body = [ast.Pass()]  # type: ignore[attr-defined]
    for name in ("orelse", "finalbody", "handlers"):
        if hasattr(head, name):
            setattr(head, name, [])
    if isinstance(head, ast.Try):
        return "try:"
    return " ".join(ast.unparse(head).removesuffix("pass").split())


# Changes one node in place; it is given the whole tree and the node.
_Change = Callable[[ast.AST, Any], None]


def _changes(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.BinOp):
        for other in _OPERATORS.get(type(node.op), ()):
            yield _set_operator(other)
        yield _replace_by(lambda n: n.left)
        yield _replace_by(lambda n: n.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield _replace_by(lambda n: n.operand)
    elif isinstance(node, ast.Compare):
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield _set_comparison(other)
    elif isinstance(node, ast.Subscript):
        for place, number in _indices(node).items():
            # Not from 0 to -1: what holds one thing has it first and last.
            for other in (number + 1,) if number == 0 else (number + 1, number - 1):
                yield _set_index(place, other)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for value in (node.value + 1, -node.value if node.value else 1):
            yield _set_value(value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _set_value(not node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _CALLS:
            yield _rename_call(_CALLS[name])
        if (name in _DROPPED and not isinstance(node.func.value, ast.Name | ast.Attribute)) or (
            name in _DROPPED
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id != "torch"
        ):
            yield _replace_by(lambda n: n.func.value)
    elif isinstance(node, ast.IfExp):
        yield _replace_by(lambda n: n.body)
        yield _replace_by(lambda n: n.orelse)
    elif (
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) > 1
    ):
        yield _swap_results
        yield _drop_result


def _set_operator(other: type[ast.operator]) -> _Change:
    def change(tree: ast.AST, node: ast.BinOp) -> None:
        node.op = other()

    return change


def _set_comparison(other: type[ast.cmpop]) -> _Change:
    def change(tree: ast.AST, node: ast.Compare) -> None:
        node.ops[0] = other()

    return change


def _indices(node: ast.Subscript) -> dict[int, int]:
    """Whole numbers in an index, by their place: {0: 1} for x[1], {1: -1} for x[..., -1]."""
    found = {}
    for place, part in enumerate(_index_parts(node)):
        with contextlib.suppress(ValueError):
            value = ast.literal_eval(part)
            if type(value) is int:
                found[place] = value
    return found


def _index_parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _set_index(place: int, value: int) -> _Change:
    """Another element than the one that is meant."""

    def change(tree: ast.AST, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts[place] = ast.Constant(value)
        else:
            node.slice = ast.Constant(value)

    return change


def _set_value(value: object) -> _Change:
    def change(tree: ast.AST, node: ast.Constant) -> None:
        node.value = value  # type: ignore[assignment]

    return change


def _rename_call(name: str) -> _Change:
    def change(tree: ast.AST, node: ast.Call) -> None:
        node.func.attr = name  # type: ignore[attr-defined]

    return change


def _replace_by(part: object) -> _Change:
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
