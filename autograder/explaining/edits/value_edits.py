"""Edits of numbers: another position, dimension or factor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.explaining.edits.call_edits import takes_dimensions
from autograder.explaining.edits.tree_edits import Edit, Place, number


def other_number(place: Place) -> Iterator[Edit]:
    """Another position or dimension, another factor, True for False."""
    node, above = place.node, place.above[-1]
    if not isinstance(node, ast.Constant) or isinstance(node.value, str | bytes | complex):
        return
    value = node.value
    if isinstance(value, bool):
        yield place.replaced(ast.Constant(not value), 1)
    elif isinstance(value, int) and is_position(place):
        for other in (0, 1, -1, 2, -2, 3):
            if other != value:
                yield place.replaced(number(other), 1)
    elif isinstance(value, int | float):
        if 0 < abs(value) < 1e-3:  # as right as any other of that size
            return
        if abs(value) >= 1e4:
            yield place.replaced(number(float("inf")), 1)
        others = {2 * value, value / 2, value + 1, value - 1, value * value}
        others |= {1 / value, value**0.5} if value > 0 else set()
        for guess in sorted(g for g in others if abs(g) < 1e4 and g != value):
            as_int = isinstance(value, int) and float(guess).is_integer()
            yield place.replaced(number(int(guess) if as_int else guess), 3)
        if not isinstance(above, ast.UnaryOp):
            yield place.replaced(ast.UnaryOp(ast.USub(), node), 3)


def is_position(place: Place) -> bool:
    """Whether a number says which one: an index, a bound of a slice, a dimension."""
    for parent in reversed(place.above):
        if isinstance(parent, ast.Subscript | ast.Slice):
            return True
        if isinstance(parent, ast.keyword):
            return parent.arg in ("dim", "dims", "axis", "start_dim", "end_dim", "dim0", "dim1")
        if isinstance(parent, ast.Call):
            return takes_dimensions(parent)
        if not isinstance(parent, ast.Tuple | ast.List | ast.UnaryOp):
            return False
    return False
