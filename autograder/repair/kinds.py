"""Which edits are worth a try in somebody's code, the likeliest first.

Each kind undoes a slip: what is written there is another comparison, another name, a call too many.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from autograder.repair import calls, groups, names, statements
from autograder.repair.edits import Edit, Place, Tree, places

Kind = Callable[[Place], Iterator[Edit]]


def edits(tree: Tree) -> list[Edit]:
    """All edits of a tree: by rank, and with the same rank in the order of the code."""
    found = [edit for place in places(tree) for kind in KINDS for edit in kind(place)]
    found += [*groups.kept_for_nothing(tree), *groups.order_of_arguments(tree)]
    found += groups.everywhere(found)
    return sorted(found, key=lambda edit: edit.rank)


_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt, ast.NotEq),
    ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq, ast.GtE, ast.LtE), ast.NotEq: (ast.Eq, ast.Gt),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_WITH_AND_WITHOUT = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})  # the same comparison but for equality
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.MatMult, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv), ast.MatMult: (ast.Mult,), ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip


def comparison(place: Place) -> Iterator[Edit]:
    """Another comparison; its sides keep their places."""
    node = place.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield place.replaced(
                ast.Compare(node.left, [other()], node.comparators), 0,
                same="bound" if {type(node.ops[0]), other} in _WITH_AND_WITHOUT else "",
            )  # fmt: skip


def condition(place: Place) -> Iterator[Edit]:
    """`and` for `or`; one condition less; a `not` more or less; truth for what is not None."""
    node = place.node
    if isinstance(node, ast.BoolOp):
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield place.replaced(ast.BoolOp(other, node.values), 0)
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            yield place.replaced(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest), 2)
        if isinstance(node.op, ast.Or) and len(node.values) == 2:
            given, default = node.values
            if isinstance(given, ast.Name) and given.id in _always_given(place.function):
                yield place.replaced(given, 0)
            none = ast.Compare(given, [ast.Is()], [ast.Constant(None)])
            yield place.replaced(ast.IfExp(none, default, given), 0, same="or")
    if isinstance(node, ast.UnaryOp):
        yield place.replaced(node.operand, 1)
    above = place.above[-1]
    is_test = isinstance(above, ast.If | ast.IfExp) and place.slot.name == "test"
    if is_test and isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        is_not = ast.Compare(node, [ast.IsNot()], [ast.Constant(None)])
        yield place.replaced(is_not, 0, same="is not None")
        yield place.replaced(ast.UnaryOp(ast.Not(), node), 3)
    if isinstance(node, ast.IfExp):
        yield place.replaced(node.body, 3)
        yield place.replaced(node.orelse, 3)
        yield place.replaced(ast.IfExp(node.test, node.orelse, node.body), 1)


def _always_given(function: ast.FunctionDef) -> set[str]:
    """The parameters that have no default."""
    named = function.args.args
    return {a.arg for a in named[: len(named) - len(function.args.defaults)]}


def operator(place: Place) -> Iterator[Edit]:
    """Another operator, exchanged sides, or one side alone."""
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    if isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult | ast.FloorDiv):
        yield place.replaced(ast.BinOp(node.right, node.op, node.left), 1)
    for other in _OPERATORS.get(type(node.op), ()):
        yield place.replaced(ast.BinOp(node.left, other(), node.right), 2)
    yield place.replaced(node.left, 2)
    yield place.replaced(node.right, 2)
    if isinstance(node.op, ast.Pow) and isinstance(node.left, ast.UnaryOp):
        inside = ast.BinOp(node.left.operand, node.op, node.right)
        yield place.replaced(ast.UnaryOp(node.left.op, inside), 1)


def number(place: Place) -> Iterator[Edit]:
    """Another position or dimension, another factor, True for False."""
    node, above = place.node, place.above[-1]
    if not isinstance(node, ast.Constant) or isinstance(node.value, str | bytes | complex):
        return
    value = node.value
    if isinstance(value, bool):
        yield place.replaced(ast.Constant(not value), 1)
    elif isinstance(value, int) and _is_position(place):
        for other in (0, 1, -1, 2, -2, 3):
            if other != value:
                yield place.replaced(_constant(other), 1)
    elif isinstance(value, int | float):
        if 0 < abs(value) < 1e-3:  # as right as any other of that size
            return
        if abs(value) >= 1e4:
            yield place.replaced(_constant(float("inf")), 1)
        others: list[float] = [2 * value, value / 2, value + 1, value - 1, value * value]
        if value:
            others += [1 / value]
        seen = {float(value)}
        for guess in others:
            if guess not in seen and abs(guess) < 1e4:
                seen.add(guess)
                as_int = isinstance(value, int) and float(guess).is_integer()
                yield place.replaced(_constant(int(guess) if as_int else guess), 3)
        if not isinstance(above, ast.UnaryOp):
            yield place.replaced(ast.UnaryOp(ast.USub(), node), 3)


def _is_position(place: Place) -> bool:
    """Whether a number says which one: an index, a bound of a slice, a dimension."""
    for parent in reversed(place.above):
        if isinstance(parent, ast.Subscript | ast.Slice):
            return True
        if isinstance(parent, ast.keyword):
            return parent.arg in ("dim", "dims", "axis", "start_dim", "end_dim", "dim0", "dim1")
        if isinstance(parent, ast.Call):
            return calls.takes_dimensions(parent)
        if not isinstance(parent, ast.Tuple | ast.List | ast.UnaryOp):
            return False
    return False


def _constant(value: float) -> ast.expr:
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if value == float("inf"):
        return ast.Call(ast.Name("float", ast.Load()), [ast.Constant("inf")], [])
    return ast.Constant(value)


KINDS: tuple[Kind, ...] = (
    comparison, condition, operator, number,
    calls.other_call, calls.without_call, calls.arguments, calls.keywords, calls.keeps_dimension,
    calls.indexing, calls.in_place,
    names.exchanged, names.other_name,
    groups.missing,
    statements.after_elif, statements.without_statement, statements.without_decorator,
    statements.without_with, statements.augmented,
)  # fmt: skip
