"""Small questions to a syntax tree, to code, and to operators of torch.library, that several modules ask."""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.library import CustomOpDef

# What takes a tensor's shape or kind, and none of its numbers.
OF_SHAPE = frozenset({"shape", "size", "dim", "ndim", "numel", "new_zeros", "new_ones", "new_empty", "dtype", "device"})  # fmt: skip
SAVING = ("forward", "setup_context")  # the methods that may save tensors


@dataclass(frozen=True)
class Span:
    """Where an expression stands: lines from 1, columns from 0, in bytes as Python counts them."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


def code_at(span: Span) -> str:
    """The expression that stands there; of one that is written to, its whole line."""
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    rest, whole = lines[-1][span.end_column :].lstrip(), lines[0].decode().strip()
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    with contextlib.suppress(SyntaxError):  # a statement: x += y
        if not re.match(rb"=[^=]", rest):
            return ast.unparse(ast.parse(b"(" + b"".join(lines) + b"\n)", mode="eval"))
    return whole


def product_around(span: Span) -> Span:
    """The whole product that an expression is a factor of; the expression itself where it is none."""
    around = parents(ast.parse("".join(linecache.getlines(span.file))))
    node = next((n for n in around if isinstance(n, ast.expr) and span_of_node(n, span.file) == span), None)  # fmt: skip
    if node is None:
        return span
    while isinstance(up := around.get(node), ast.BinOp) and (
        isinstance(up.op, ast.Mult) or (isinstance(up.op, ast.Div) and up.left is node)
    ):
        node = up
    return span_of_node(node, span.file)


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Of each node the one that it is a part of."""
    return {part: node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}


def span_of_node(node: ast.expr, file: str) -> Span:
    """Where an expression stands."""
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Span(file, node.lineno, end[0], node.col_offset, end[1])


def called(node: ast.AST) -> str:
    """The last name of what a call calls ("sum" for x.sum() and torch.sum(x)); "" for anything else."""
    return name_of(node.func) if isinstance(node, ast.Call) else ""


def name_of(node: ast.AST) -> str:
    """The name that a node is, or the attribute that it takes; "" for any other."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def codes_of(value: Any) -> Iterator[types.CodeType]:
    """The code of a function or method, and of what it wraps.

    Decorators such as once_differentiable keep the learner's function in ``__wrapped__``.
    """
    function = getattr(value, "__func__", value)
    for _ in range(5):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return


Definition = ast.FunctionDef | ast.Lambda | ast.ClassDef


def first_line(node: Definition) -> int:
    """Where a definition begins, with what decorates it."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def defined_as(
    code: types.CodeType, nodes: Iterable[ast.AST]
) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """The functions among the nodes of a file that have the name and the first line of this code."""
    functions = (n for n in nodes if isinstance(n, ast.FunctionDef | ast.Lambda))
    here = (n for n in functions if first_line(n) == code.co_firstlineno)
    return (n for n in here if getattr(n, "name", "<lambda>") == code.co_name)


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run with a statement; of a function only its name, decorators and defaults."""
    yield node
    inner: Iterable[Any] = ast.iter_child_nodes(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        inner = (*defaults, *getattr(node, "decorator_list", ()))
    for child in inner:
        yield from at_once(child)


def raises_not_implemented(statement: ast.stmt) -> bool:
    """Whether a statement is ``raise NotImplementedError``."""
    stub = r"raise (\w+\.)*NotImplementedError\b"
    return isinstance(statement, ast.Raise) and re.match(stub, ast.unparse(statement)) is not None


def own_names(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function, and the names that it assigns."""
    nodes = list(ast.walk(function))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def bindings(function: ast.FunctionDef, name: str) -> list[ast.stmt]:
    """Statements that make what a name stands for, or write into it: name[…] += …, name.add_(…)."""
    return [n for n in ast.walk(function) if name in map(_base, _targets(n))]  # type: ignore[misc]


def assignments(function: ast.FunctionDef, name: str) -> list[ast.stmt]:
    """Those that give the name itself another value."""
    return [n for n in bindings(function, name) if any(getattr(t, "id", "") == name for t in _targets(n))]  # fmt: skip


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign():
            return node.targets
        case ast.AugAssign():
            return [node.target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as call)):
            return [call] if method.endswith("_") else []
    return []


def _base(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


_DEPTH = 4  # functions that call one another, on the way to an operator

# What torch keeps each registered function as. Its names are torch's own; where one is missing, nothing is read.
_KEPT = {
    "forward": "_init_fn", "setup_context": "_setup_context_fn", "backward": "_backward_fn",
    "fake": "_abstract_fn", "vmap": "_vmap_fn",
}  # fmt: skip


def operators_in(value: Any, depth: int = _DEPTH) -> Iterator[CustomOpDef]:
    """The operator that a value is, or those that a plain function names, itself or by functions that it names."""
    if isinstance(value, CustomOpDef):
        yield value
        return
    names = getattr(value, "__globals__", {})
    for code in codes_of(value) if depth and not isinstance(value, type) else ():
        for name in code.co_names:
            if name in names and names[name] is not value:
                yield from operators_in(names[name], depth - 1)


def operator_of(value: Any) -> CustomOpDef | None:
    """Of these the first that has an autograd formula, else the first; None where there is none."""
    found = list(dict.fromkeys(operators_in(value)))
    with_formula = (each for each in found if each._backward_fn is not None)
    return next(with_formula, found[0] if found else None)


def registered(value: Any) -> dict[str, Callable[..., Any]]:
    """What was registered for the operator of a submission: forward, setup_context, backward, fake, vmap."""
    operator = operator_of(value)
    found = {name: getattr(operator, kept, None) for name, kept in _KEPT.items()}
    return {name: function for name, function in found.items() if function is not None}


def handed_on(method: ast.FunctionDef) -> bool:
    """Whether a method uses its first argument as a whole, so that nobody knows what is read of it there."""
    ctx = method.args.args[0].arg if method.args.args else ""
    bases = {id(n.value) for n in ast.walk(method) if isinstance(n, ast.Attribute)}
    return any(
        isinstance(n, ast.Name) and n.id == ctx and id(n) not in bases for n in ast.walk(method)
    )
