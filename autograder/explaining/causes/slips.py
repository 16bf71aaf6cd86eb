"""What may have been written by mistake anywhere in code: expressions that may be meant, the likeliest first."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from typing import Any

from torch import Tensor

from autograder.explaining.causes.changes import Edit, apart, signs_of
from autograder.observation.syntax import called

_ORDERS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SHORTER = {
    "sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "amax": "amax", "amin": "amin", "prod": "prod",
    "norm": "norm", "logsumexp": "logsumexp", "any": "any", "all": "all", "var": "var",
}  # fmt: skip
# How unlikely it is, what it says, the whole expression with it, and the line.
Slip = tuple[int, Edit, str, int]


def slips(tree: ast.expr, names: Mapping[str, Any], agreed: Container[str] = (), asks: bool = False) -> Iterator[Slip]:  # fmt: skip
    """An expression with one of its parts changed.

    names   numbers and tensors that are known there
    agreed  what is listed in the same order elsewhere
    asks    whether it decides what runs: other numbers there lead the right way by chance
    """
    code = ast.unparse(tree)
    again = ast.parse(code, mode="eval").body
    tests = [again] if asks else [n.test for n in ast.walk(again) if isinstance(n, ast.IfExp)]
    asking = {node for test in tests for node in ast.walk(test)}
    for node, here in zip(ast.walk(again), ast.walk(tree), strict=False):
        if not isinstance(node, ast.expr) or (node in asking and not isinstance(node, ast.Compare | ast.BoolOp)):  # fmt: skip
            continue
        start, end = node.col_offset, node.end_col_offset or 0
        mine = code[start:end]
        for rank, other in (*_orders(node, agreed), *_others(node, mine, names)):
            if not _is_expression(other):
                continue
            rank += other in names and other not in code  # it is farther away
            told = apart(mine, ast.unparse(ast.parse(other))) | {"part": end - start < len(code)}
            text = f"{code[:start]}({other}){code[end:]}"
            yield rank, Edit("edit", told), text, getattr(here, "lineno", tree.lineno)


def orders(tree: ast.expr, agreed: Container[str]) -> Iterator[Slip]:
    """The targets of an assignment in another order."""
    for rank, text in _orders(tree, agreed):
        yield rank, Edit("edit", {"mine": ast.unparse(tree), "other": text}), text, tree.lineno


def listed(node: ast.AST) -> str:
    """What stands side by side in a node: the parts of a tuple, the arguments of a call or of a function; "" for less than two."""
    match node:
        case ast.Tuple():
            parts = [*map(ast.unparse, node.elts)]
        case ast.Call():
            parts = [*map(ast.unparse, node.args)]
        case ast.FunctionDef():
            parts = [each.arg for each in node.args.args if each.arg != "ctx"]
        case _:
            parts = []
    return ", ".join(parts) if len(parts) > 1 else ""


def _orders(node: ast.expr, agreed: Container[str]) -> Iterator[tuple[int, str]]:
    """A tuple, or a call, with two neighbours in each other's place."""
    if not listed(node) or listed(node) in agreed:
        return
    parts = node.elts if isinstance(node, ast.Tuple) else getattr(node, "args", [])
    for i in range(len(parts) - 1):
        swapped = [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]]
        if any(isinstance(part, ast.Starred) for part in parts):
            return
        if isinstance(node, ast.Call):
            yield 0, ast.unparse(ast.Call(node.func, swapped, node.keywords))
        else:
            yield 0, ast.unparse(ast.Tuple(swapped, ast.Load()))


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _others(node: ast.expr, mine: str, names: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """What may be meant by a part."""
    tensors = [n for n, v in names.items() if isinstance(v, Tensor) and n != mine]
    numbers = [n for n, v in names.items() if not isinstance(v, Tensor) and n != mine]
    whole = [n for n in numbers if type(names[n]) is int]
    of = ast.unparse
    match node:
        case ast.Name() | ast.Attribute() if mine in names:
            is_tensor = isinstance(names[mine], Tensor)
            yield from ((0, n) for n in (tensors if is_tensor else numbers))
            yield from () if is_tensor else ((2, f"1 - {mine}"), (2, f"-{mine}"))
            yield from ((3, f"{mine} {sign} {n}") for n in tensors if is_tensor for sign in "*/")
        case ast.Constant(value=bool() as value):
            yield 1, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield from ((0, n) for n in (whole if type(value) is int else numbers))
            near = (value + 1, value - 1, 0, 1, -1, 2 * value) if type(value) is int else ()
            yield from ((1, str(n)) for n in dict.fromkeys(near) if n != value)
        case ast.Compare(ops=[order]) if type(order) in _ORDERS:
            left, right = of(node.left), of(node.comparators[0])
            yield 0, f"{left} {_ORDERS[type(order)]} {right}"
        case ast.BoolOp():
            sign = " or " if isinstance(node.op, ast.And) else " and "
            yield 1, sign.join(map(of, node.values))
        case ast.UnaryOp():
            yield 1, of(node.operand)
        case ast.BinOp():
            left, right = f"({of(node.left)})", f"({of(node.right)})"
            signs = [s for s in signs_of(node.op) if s != "**"]
            yield from ((2, f"{left} {sign} {right}") for sign in signs)
            yield from ((2, each) for each in (left, right))
        case ast.Call():
            yield from _calls(node, mine, whole)
        case ast.Subscript(slice=ast.Slice()):
            yield 2, of(node.value)


def _calls(node: ast.Call, mine: str, whole: list[str]) -> Iterator[tuple[int, str]]:
    of, name = ast.unparse, called(node)
    function = of(node.func)
    given = mine[len(function) :]
    if name in _SHORTER and isinstance(node.func, ast.Attribute):
        base = of(node.func.value)
        kept = [k for k in node.keywords if k.arg == "keepdim"]
        if node.args or any(k.arg == "dim" for k in node.keywords):
            rest = [of(k) for k in node.keywords if k not in kept]
            more = [] if kept else ["keepdim=True"]
            yield 1, f"{function}({', '.join([*map(of, node.args), *rest, *more])})"
            yield 1, f"{base}.flatten(1).{name}{given}"
        else:
            dims = (*whole, "-1")
            yield from ((1, f"{base}.{_SHORTER[name]}({n}, keepdim=True)") for n in dims)
    if name in ("numel", "len"):
        base = of(node.func.value) if isinstance(node.func, ast.Attribute) else of(node.args[0])
        yield from ((1, f"{base}.shape[{n}]") for n in whole)
    yield from ((2, of(arg)) for arg in node.args[:1])
    if isinstance(node.func, ast.Attribute):
        yield 2, of(node.func.value)
    yield from ((3, f"{mine}.flip({n})") for n in whole)
