"""Where source code decides by particular sizes or values of its inputs. Read as AST, never run.

That alone is no mistake. It becomes evidence when the answers are right for just those sizes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from autograder.observation.source import Source
from autograder.observation.syntax import called

Size = tuple[
    str, Any
]  # ("shape", (2, 3)), ("size", 3) of a dimension, ("count", 6) of the elements
ORDINARY = (0, 1, (), (1,))  # sizes that honest code treats apart: empty tensors, broadcasting


@dataclass(frozen=True)
class Lookup:
    """One place that compares sizes or values of inputs with constants, or looks them up in a table.

    sizes  what it compares sizes with; empty where that is not written there
    """

    line: int
    text: str
    of_sizes: bool
    sizes: frozenset[Size] = frozenset()


def lookups(source: Source) -> list[Lookup]:
    """Every lookup in the source of a submission, in the order of its lines."""
    found: dict[int, Lookup] = {}
    for place, of_sizes, sizes in filter(None, map(_lookup, source.nodes)):
        line, text = source.line_of(place)
        found.setdefault(line, Lookup(line, text, of_sizes, sizes))
    return [found[line] for line in sorted(found)]


def _lookup(node: ast.AST) -> tuple[ast.AST, bool, frozenset[Size]] | None:
    """(where it stands, whether it is of sizes, which); None where a node looks nothing up."""
    match node:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as how, *_]):
            sides = [node.left, *node.comparators]
            if quantity := next(filter(None, map(_quantity, sides)), ""):
                one_of = isinstance(how, ast.In | ast.NotIn)
                named = frozenset().union(*(_named(side, quantity, one_of) for side in sides))
                return (node, True, named) if named else None
            values = any(called(side) in ("tolist", "item", "float") for side in sides)
            return (node, False, frozenset()) if values and any(map(_is_table, sides)) else None
        case ast.Call(args=args) if called(node) in ("equal", "allclose"):
            return (node, False, frozenset()) if any(map(_is_tensor_of_numbers, args)) else None
        case ast.Subscript(value=ast.Name() | ast.Attribute() | ast.Dict(), ctx=ast.Load()):
            return (node, True, frozenset()) if _quantity(node.slice) else None
        case ast.Dict() if _is_table(node):
            return node, False, frozenset()
        case ast.match_case(pattern=pattern):
            value = _literal(ast.unparse(pattern))
            kinds = ("shape",) if isinstance(value, tuple) else ("size", "count")
            named = frozenset((kind, value) for kind in kinds)
            return (pattern, True, named) if isinstance(value, tuple | int) else None
    return None


def _quantity(node: ast.AST) -> str:
    """Which size a piece of code is: "shape", "size" (of a dimension, or of several), "count"; "" for none."""
    match node:
        case ast.Subscript(value=inner):
            return "size" if _quantity(inner) else ""
        case ast.Attribute(attr="shape"):
            return "shape"
        case ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return "shape"
        case ast.Call(args=parts) if called(node) in ("tuple", "list", "str"):
            return next(filter(None, map(_quantity, parts)), "")
        case ast.Tuple(elts=parts):
            return "size" if any(map(_quantity, parts)) else ""
    return {"size": "size", "len": "size", "numel": "count", "nelement": "count"}.get(called(node), "")  # fmt: skip


def _named(node: ast.AST, quantity: str, one_of: bool) -> frozenset[Size]:
    """The sizes that a side of a comparison names; with ``one_of`` each of its elements is one."""
    if isinstance(node, ast.Call) and called(node) in ("Size", "tuple", "list") and node.args:
        return _named(node.args[0], quantity, one_of)
    match _literal(node):
        case dict() | set() | frozenset() | list() | tuple() as several if one_of:
            values = [tuple(v) if isinstance(v, list) else v for v in several]
        case list() | tuple() as shape:
            values = [tuple(shape)]
        case value:
            values = [value]
    if quantity != "shape":  # of (x.shape[0], x.shape[1]) == (2, 3) each is a size
        values = [n for v in values for n in (v if isinstance(v, tuple) else (v,))]
    wanted = tuple if quantity == "shape" else int
    return frozenset((quantity, v) for v in values if isinstance(v, wanted) and v not in ORDINARY)


def _literal(node: ast.AST | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _is_table(node: ast.AST) -> bool:
    """A literal with two numbers or more as keys or elements."""
    if isinstance(node, ast.Dict):
        numbers = [key for key in node.keys if key is not None and _is_number(key)]
        return len(numbers) > 1
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and (
        len(node.elts) > 1 and all(map(_is_number, node.elts))
    )


def _is_number(node: ast.AST) -> bool:
    value = _literal(node)
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(v, float) for v in value)
    return isinstance(value, float)


def _is_tensor_of_numbers(node: ast.AST) -> bool:
    """torch.tensor([0.0, 1.0]) and x.new_tensor(…) of a literal."""
    made = isinstance(node, ast.Call) and called(node) in ("tensor", "new_tensor", "as_tensor")
    return made and bool(node.args) and _literal(node.args[0]) is not None  # type: ignore[attr-defined]
