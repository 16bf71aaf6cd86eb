"""Edits of calls: another function of the same family, one call less, other arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.explaining.edits.tree_edits import Edit, Place, named, of_module
from autograder.observation.syntax import called

# Names that are taken for one another.
_FAMILIES = (
    ("half", "bfloat16", "float", "double"),
    ("float16", "bfloat16", "float32", "float64"),
    ("amax", "amin"), ("max", "min"), ("maximum", "minimum"), ("clamp_min", "clamp_max"),
    ("argmax", "argmin"),
    ("floor", "ceil", "round", "trunc"),
    ("sum", "mean"), ("sum", "prod"), ("any", "all"),
    ("zeros_like", "ones_like"), ("zeros", "ones"), ("new_zeros", "new_ones"), ("rand", "randn"),
    ("sin", "cos"), ("sinh", "cosh"), ("tanh", "sigmoid"), ("exp", "expm1"), ("log", "log1p", "log2"),
    ("exp", "log"), ("softmax", "log_softmax"), ("sigmoid", "logsigmoid"), ("sqrt", "rsqrt"),
    ("square", "sqrt"), ("sign", "abs"), ("logical_and", "logical_or"), ("bitwise_and", "bitwise_or"),
    ("gt", "ge"), ("lt", "le"), ("gt", "lt"), ("ge", "le"), ("eq", "ne"),
    ("squeeze", "unsqueeze"), ("tril", "triu"), ("gather", "scatter"), ("empty_like", "zeros_like"),
    ("matmul", "mul"), ("norm", "vector_norm"), ("matrix_norm", "vector_norm"), ("erf", "erfc"),
    ("add", "sub"), ("mul", "div"), ("append", "extend"), ("shape", "stride"), ("size", "stride"),
    ("view", "reshape"), ("reshape", "expand"), ("reshape_as", "expand_as"), ("view", "expand"), ("repeat", "expand"),
    ("data_ptr", "untyped_storage"), ("numel", "nbytes"), ("element_size", "itemsize"),
    ("logical_or", "logical_xor"), ("isinf", "isneginf"), ("isnan", "isfinite"), ("min", "numel"),
)  # fmt: skip
_OTHERS: dict[str, list[str]] = {}
for _family in _FAMILIES:
    for _name in _family:
        _OTHERS.setdefault(_name, []).extend(n for n in _family if n != _name)

# Calls that are written in good faith and do harm: a copy, another dtype, a cut graph.
_HARMLESS_LOOKING = {
    "detach", "contiguous", "clone", "float", "half", "double", "bfloat16", "item", "squeeze", "flatten",
    "long", "int", "bool", "requires_grad_", "tensor", "as_tensor", "expand_as", "detach_", "to", "type_as",
    "data", "T", "mT", "t", "real",
}  # fmt: skip
_NEVER_LEFT_OUT = {"save_for_backward", "apply", "range", "len", "enumerate", "zip", "super"}
_OF_DIMENSIONS = {
    "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "softmax", "log_softmax", "logsumexp",
    "transpose", "swapaxes", "unsqueeze", "squeeze", "size", "flatten", "unflatten", "cumsum", "cat", "stack",
    "chunk", "split", "movedim", "permute", "norm", "prod", "std", "var", "gather", "scatter", "scatter_",
    "index_select", "narrow", "select", "cumprod", "flip", "roll", "any", "all", "scatter_add", "scatter_add_",
    "vector_norm", "expand", "sum_to_size", "diagonal", "one_hot", "take_along_dim",
}  # fmt: skip
REDUCTIONS = {
    "sum", "mean", "amax", "amin", "max", "min", "logsumexp", "norm", "vector_norm", "prod",
}  # fmt: skip


def takes_dimensions(call: ast.Call) -> bool:
    """Whether the whole numbers among a call's arguments say which dimension."""
    return called(call) in _OF_DIMENSIONS


def other_call(place: Place) -> Iterator[Edit]:
    """Another name of the same family: bfloat16 for half, all for any."""
    node = place.node
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for other in _OTHERS.get(node.attr, ()):
            same = f"{other} for {node.attr}"
            yield place.replaced(ast.Attribute(node.value, other, ast.Load()), 1, same=same)
        if node.attr.endswith("_") and not node.attr.startswith("_"):
            yield place.replaced(ast.Attribute(node.value, node.attr.rstrip("_"), ast.Load()), 0)
    if isinstance(node, ast.Name) and place.slot.name == "func":
        for other in ("any", "all", "max", "min", "abs"):
            if other != node.id and node.id in ("any", "all", "max", "min"):
                yield place.replaced(named(other), 1)


def without_call(place: Place) -> Iterator[Edit]:
    """What a call or an attribute is applied to, in its place: x for x.contiguous()."""
    node = place.node
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "data", "real", "H"):
        yield place.replaced(node.value, 1, f"without `.{node.attr}`")
        return
    if not isinstance(node, ast.Call) or called(node) in _NEVER_LEFT_OUT:
        return
    name = called(node)
    rank = 0 if name in _HARMLESS_LOOKING else 2
    if isinstance(node.func, ast.Attribute) and not of_module(node):
        text = f"without `.{_text_of_call(node, name)}`"
        yield place.replaced(node.func.value, rank, text, text)
    elif name and node.args and not isinstance(node.args[0], ast.Starred):
        yield place.replaced(node.args[0], rank, same=f"without {name}")


def _text_of_call(node: ast.Call, name: str) -> str:
    inside = ", ".join(ast.unparse(a) for a in [*node.args, *node.keywords])
    return f"{name}({inside if len(inside) <= 24 else '…'})"


def arguments(place: Place) -> Iterator[Edit]:
    """Two arguments exchanged; one argument less."""
    node = place.node
    if not isinstance(node, ast.Call) or len(node.args) > 6:
        return
    if len(node.args) < 2 and not (node.args and called(node) in REDUCTIONS):
        return
    for i in range(len(node.args)):
        for j in range(i + 1, len(node.args)):
            given = list(node.args)
            given[i], given[j] = given[j], given[i]
            yield place.replaced(ast.Call(node.func, given, node.keywords), 1)
    for i in range(len(node.args)):
        given = node.args[:i] + node.args[i + 1 :]
        yield place.replaced(ast.Call(node.func, given, node.keywords), 2)
