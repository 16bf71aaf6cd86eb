"""Rewrites of expressions: what is written, and what may have been meant, in one table.

A letter stands for any expression. A line says how soon a rewrite is tried, where, and what is put in
the place of what; ``<=>`` stands for both directions, ``~ name`` for a name that places share.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograder.explaining.edits.call_edits import REDUCTIONS
from autograder.explaining.edits.tree_edits import Edit, Place
from autograder.observation.syntax import called

_TABLE = """
0 any      a < b              <=> a <= b ~ bound
0 any      a > b              <=> a >= b ~ bound
0 any      a < b              <=> a > b
0 any      a <= b             <=> a >= b
0 any      a == b             <=> a != b
0 any      a == b              => a >= b ; a <= b
0 any      a > b               => a != b
0 any      a != b              => a > b
0 any      a is b             <=> a is not b
0 any      a in b             <=> a not in b
0 any      a and b            <=> a or b
0 given    a or b              => a
0 any      a or b              => b if a is None else a ~ or
2 any      a or b              => a ; b
2 any      a and b             => a ; b
1 any      -a                  => a
1 any      ~a                  => a
1 any      not a               => a
1 any      a if c else b       => b if c else a
3 any      a if c else b       => a ; b
0 test     a                   => a is not None ~ is not None
3 test     a                   => not a
1 any      a - b               => b - a
1 any      a / b               => b / a
1 any      a ** b              => b ** a
1 any      a @ b               => b @ a
1 any      a // b              => b // a
2 any      a + b               => a - b ; a * b ; a ; b
2 any      a - b               => a + b ; a * b ; a ; b
2 any      a * b               => a / b ; a @ b ; a + b ; a ; b
2 any      a / b               => a * b ; a // b ; a ; b
2 any      a @ b               => a * b ; a ; b
2 any      a ** b              => a * b ; a ; b
2 any      a // b              => a / b ; a ; b
2 any      a & b               => a | b ; a ; b
2 any      a | b               => a & b ; a ; b
1 any      (-a) ** b           => -a ** b
2 any      a * b - c          <=> a * (b - c)
2 any      a * b + c          <=> a * (b + c)
2 any      a / b - c          <=> a / (b - c)
2 any      a / b + c          <=> a / (b + c)
2 any      a / b * c          <=> a / (b * c)
2 any      (a - b) * c        <=> a - b * c
2 any      (a + b) * c        <=> a + b * c
2 any      (a - b) / c        <=> a - b / c
2 any      (a + b) / c        <=> a + b / c
2 any      a - b - c          <=> a - (b - c)
2 any      a - b + c          <=> a - (b + c)
1 any      a[b]                => a * b
3 any      a[b]                => a
2 result   a                   => -a
3 result   a                   => a.sum(0) ; a.sum(-1) ; a.sum(0, keepdim=True) ; a.sum(-1, keepdim=True)
3 result   a                   => a.unsqueeze(0) ; a.unsqueeze(-1) ; a.sum() ; a.mean() ; a.detach() ; a.sqrt()
3 result   a                   => a.exp() ; a.float() ; 1 - a ; 2 * a ; a / 2 ; a.clone()
3 operand  a                   => a.mT
4 operand  a                   => a.unsqueeze(0) ; a.unsqueeze(-1) ; 1 - a ; a ** 2
4 operand  a                   => a.sum(0, keepdim=True) ; a.sum(-1, keepdim=True)
3 handed   a                   => a.clone()
4 handed   a                   => a.detach()
3 reduced  a                   => a.flatten(0, -2)
"""


@dataclass(frozen=True)
class Rewrite:
    """One entry of the table."""

    rank: int
    where: str
    written: ast.expr
    meant: ast.expr
    same: str


def _read(table: str) -> Iterator[Rewrite]:
    for line in table.strip().splitlines():
        both = "<=>" in line
        head, _, rest = line.partition("<=>" if both else "=>")
        rank, where, written = head.split(maxsplit=2)
        for each in rest.split(";"):
            meant, _, same = each.partition("~ ")
            pair = [ast.parse(text.strip(), mode="eval").body for text in (written, meant)]
            yield Rewrite(int(rank), where, pair[0], pair[1], same)
            if both:
                yield Rewrite(int(rank), where, pair[1], pair[0], same)


REWRITES = tuple(_read(_TABLE))


def rewritten(place: Place) -> Iterator[Edit]:
    """The expression at a place in every other way that the table knows."""
    node = place.node
    if not isinstance(node, ast.expr):
        return
    places = {where for where, is_there in WHERE.items() if is_there(place)}
    for each in REWRITES:
        parts: dict[str, ast.expr] = {}
        if each.where in places and _fits(each.written, node, parts):
            new = _Filled(parts).visit(copy.deepcopy(each.meant))
            words = _without(node, new) if isinstance(node, ast.BinOp) else ""
            yield place.replaced(new, each.rank, words, each.same)


def _fits(written: ast.AST, node: object, parts: dict[str, ast.expr]) -> bool:
    """Whether a node is of a written form; notes in ``parts`` what each letter stands for."""
    if isinstance(written, ast.Name) and isinstance(node, ast.expr):
        parts[written.id] = node
        return True
    if type(written) is not type(node):
        return False
    for name, value in ast.iter_fields(written):
        given = getattr(node, name)
        if isinstance(value, list):
            if len(value) != len(given) or not all(map(lambda a, b: _fits(a, b, parts), value, given)):  # fmt: skip
                return False
        elif isinstance(value, ast.AST) and not _fits(value, given, parts):
            return False
    return True


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts[node.id]


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def _without(node: ast.BinOp, kept: ast.AST) -> str:
    """That one side is left out: "without `- y * total`"; "" for what reads better as code."""
    sign = _SIGNS.get(type(node.op), "")
    side = node.right if kept is node.left else node.left if kept is node.right else None
    if not sign or side is None or (side is node.left and sign in "-/"):
        return ""
    text = ast.unparse(side)
    text = f"({text})" if isinstance(side, ast.BinOp | ast.Compare) and sign != "+" else text
    return f"without `{sign} {text}`" if side is node.right else f"without `{text} {sign}`"


# ---- where ---------------------------------------------------------------------------------------

_NAMED = (ast.Name, ast.Call)


def is_result(place: Place) -> bool:
    """Whether this is what a statement gives: what is returned or set, one of several, or one branch."""
    around = (n for n in reversed(place.above) if not isinstance(n, ast.Tuple | ast.IfExp))
    direct = place.slot.name in ("value", "elts", "body", "orelse")
    return direct and isinstance(next(around, None), ast.Return | ast.Assign | ast.AugAssign)


def is_reduced(place: Place) -> bool:
    """Whether this is what a reduction adds up, as its owner or its first argument."""
    above, around = place.above[-1], place.above[-2:-1]
    if isinstance(above, ast.Attribute) and around and called(around[0]) in REDUCTIONS:
        return place.slot.name == "value"
    return called(above) in REDUCTIONS and (place.slot.name, place.slot.index) == ("args", 0)


def _is_test(place: Place) -> bool:
    asks = isinstance(place.above[-1], ast.If | ast.IfExp) and place.slot.name == "test"
    return asks and isinstance(place.node, (*_NAMED, ast.Attribute, ast.Subscript))


def _is_handed_on(place: Place) -> bool:
    """Whether this is an argument of a call that may be given a tensor."""
    above = place.above[-1]
    handed = isinstance(above, ast.Call) and place.slot.name == "args"
    return handed and called(above) not in ("range", "len") and isinstance(place.node, _NAMED)


def _is_given(place: Place) -> bool:
    """Whether this begins with a parameter that has no default."""
    first = place.node.values[0] if isinstance(place.node, ast.BoolOp) else None
    given = place.function.args
    without_default = given.args[: len(given.args) - len(given.defaults)]
    return isinstance(first, ast.Name) and first.id in {a.arg for a in without_default}


WHERE: dict[str, Callable[[Place], bool]] = {
    "any": lambda _: True,
    "given": _is_given,
    "test": _is_test,
    "result": lambda p: is_result(p) and not isinstance(p.node, ast.Tuple | ast.Constant | ast.Lambda),
    "operand": lambda p: isinstance(p.above[-1], ast.BinOp) and isinstance(p.node, _NAMED),
    "handed": _is_handed_on,
    "reduced": is_reduced,
}  # fmt: skip
