"""Edits that add what is missing: a keyword, a factor, a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.explaining.edits.name_edits import kept_on_ctx, known_names
from autograder.explaining.edits.rewrites import is_reduced, is_result
from autograder.explaining.edits.tree_edits import Edit, Place, number
from autograder.observation.syntax import called

# What may be missing in a call, by the last name of what is called.
_KEYWORDS = {
    "grad": ("create_graph", "retain_graph", "allow_unused"),
    "backward": ("retain_graph", "create_graph"),
}
_OVER_DIMENSIONS = {
    "norm", "vector_norm", "sum", "mean", "amax", "amin", "softmax", "log_softmax", "logsumexp", "all", "any",
    "max", "min", "argmax", "cat", "stack", "cumsum", "prod", "std", "var",
}  # fmt: skip
_TRUE = ast.Constant(True)


def keyword(place: Place) -> Iterator[Edit]:
    """A keyword argument that is not there."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    given = {k.arg for k in node.keywords}
    for name in _KEYWORDS.get(called(node), ()):
        if name not in given:
            yield place.replaced(_with(node, name, _TRUE), 0)
    if called(node) in _OVER_DIMENSIONS and not given & {"dim", "axis"}:
        for dim in (-1, 0, 1):
            yield place.replaced(_with(node, "dim", number(dim)), 2)


def _with(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    return ast.Call(call.func, call.args, [*call.keywords, ast.keyword(name, value)])


def factor(place: Place) -> Iterator[Edit]:
    """A factor or a divisor that is missing in a result, or in what is summed: what is at hand there."""
    node = place.node
    if not isinstance(node, ast.expr) or not (is_result(place) or is_reduced(place)):
        return
    if isinstance(node, ast.Tuple | ast.Constant | ast.Subscript | ast.Attribute):
        return
    if isinstance(node, ast.Name) and is_result(place):  # there where it is set
        return
    inside = ast.unparse(node)
    for name in (*known_names(place.function, node.lineno)[:6], *kept_on_ctx(place)):
        other = ast.parse(name, mode="eval").body
        rank = 3 if name not in inside else 4
        yield place.replaced(ast.BinOp(node, ast.Mult(), other), rank)
        if name not in inside:
            yield place.replaced(ast.BinOp(node, ast.Div(), other), 4)
