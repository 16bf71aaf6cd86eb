"""What each top-level statement of a notebook binds, reads and changes. Read as text; nothing is run.

Where it is not certain whether a statement changes something, it counts as if it did: then it is
taken along, and read.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from symtable import SymbolTable, symtable
from typing import NamedTuple

from autograder.observation.syntax import at_once, called

_COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # run at once, as classes do
_IMPORTS = (ast.Import, ast.ImportFrom)
_SIMPLE = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign,
    ast.AnnAssign, ast.Delete,
)  # fmt: skip
# What changes an object in place, of Python's own containers; tensors have a trailing underscore.
_CHANGES = frozenset({
    "append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "add", "discard",
    "popitem", "sort", "reverse", "appendleft", "extendleft", "rotate", "setattr", "delattr", "shuffle",
    "heappush", "heappop", "heapify", "insort", "copyto", "setitem", "delitem",
})  # fmt: skip
# What gives its argument, or parts of it, back.
_HANDS_ON = frozenset({
    "values", "items", "get", "setdefault", "enumerate", "zip", "reversed", "list", "tuple", "sorted",
    "iter", "next", "getattr", "map", "filter", "dict", "set", "vars", "staticmethod", "classmethod",
})  # fmt: skip
# What makes names that nobody can read from the text.
_OPAQUE = frozenset({"exec", "globals", "run_line_magic", "run_cell_magic"})
# Expressions whose value is a new one, which shares nothing with what it was made of.
_NEW = (ast.BinOp, ast.Compare, ast.UnaryOp, ast.JoinedStr, ast.Lambda)


class Names(NamedTuple):
    """The names of the notebook that statements have.

    now       that they read as they run
    later     that functions in them read when they are called
    binds     that they give another meaning
    declared  that functions in them declare global
    """

    now: frozenset[str]
    later: frozenset[str]
    binds: frozenset[str]
    declared: frozenset[str]


# Names that may share an object, or parts of it, with others: (these, those).
Shared = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True)
class Statement:
    """One statement at the top level of a cell.

    place    its place among the statements of its cell
    certain  whether what it binds has that meaning afterwards in any case
    changes  names whose objects it may change in place
    touches  names of which it calls a method for no result, or as a decorator
    aliases  what is bound here, with what it may share
    calls    functions that it calls by name, with what they are given
    through  whether it is a function that changes what it is given
    opaque   why names may come of it that cannot be read; "" where none can
    """

    node: ast.stmt
    place: int
    names: Names
    certain: bool
    changes: frozenset[str]
    touches: frozenset[str]
    aliases: tuple[Shared, ...]
    calls: tuple[Shared, ...]
    through: bool
    opaque: str

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, _IMPORTS)

    @property
    def is_definition(self) -> bool:
        """Whether it binds what no method changes; a decorator may make anything of a function, an operator for example."""
        made = isinstance(self.node, ast.FunctionDef) and not self.node.decorator_list
        return made or isinstance(self.node, (ast.ClassDef, *_IMPORTS))


def statements_of(body: Iterable[ast.stmt]) -> tuple[Statement, ...]:
    """The statements of a cell, without their annotations. Raises SyntaxError, RecursionError for deep ones."""
    return tuple(_statement(node, place) for place, node in enumerate(body))


def _statement(node: ast.stmt, place: int) -> Statement:
    names, here = names_of([node]), list(at_once(node))
    calls = [n for n in here if isinstance(n, ast.Call)]
    opaque = next((ast.unparse(n)[:80] for n in calls if _is_opaque(n)), "")
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":  # at the top, and alone
        bound = public_names(str(node.module))
        opaque = opaque if bound is not None else "*"
        names = names._replace(binds=names.binds.union(bound or ()))
    by_name = (
        (may_be(n.func), _all_of(_arguments(n))) for n in calls if isinstance(n.func, ast.Name)
    )
    return Statement(
        node, place, names, isinstance(node, _SIMPLE), _changed(here), _all_of(_methods_called(node)),
        tuple(_aliases(here)), tuple(by_name), isinstance(node, ast.FunctionDef) and _changes_arguments(node), opaque,
    )  # fmt: skip


def names_of(body: list[ast.stmt]) -> Names:
    """What Python's own tables make of the names in statements. Raises SyntaxError or RecursionError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = symtable(ast.unparse(ast.Module(body, [])), "cell", "exec")
    found = set(_names(table))
    # x += 1 reads x, which the tables do not say.
    added = (n.target for each in body for n in at_once(each) if isinstance(n, ast.AugAssign))
    found |= {(target.id, True, False) for target in added if isinstance(target, ast.Name)}
    return Names(*(
        frozenset(name for name, *how in found if how == [reads, deferred])
        for reads in (True, False) for deferred in (False, True)
    ))  # fmt: skip


def _names(table: SymbolTable, deferred: bool = False) -> Iterator[tuple[str, bool, bool]]:
    """(name, whether it is read or else bound, whether only when a function is called)"""
    kind = table.get_type()
    for one in table.get_symbols():
        name, assigned = one.get_name(), one.is_assigned() or one.is_imported()
        declared = assigned and one.is_declared_global()
        # What stands in a class may be the class's own, or not: nobody knows before it runs.
        theirs = one.is_global() if kind == "function" else not one.is_free()
        if declared or (one.is_referenced() and theirs):
            yield name, True, deferred
        if declared or (assigned and kind == "module"):
            yield name, False, deferred
    for inner in table.get_children():
        called = inner.get_type() == "function" and inner.get_name() not in _COMPREHENSIONS
        yield from _names(inner, deferred or called)


def _methods_called(node: ast.stmt) -> list[ast.AST]:
    """Of what a method is called for no result: x of x.sort(), op of op.register_fake(f) and of @op.register_fake."""
    at = (
        node.decorator_list if isinstance(node, ast.FunctionDef) else [getattr(node, "value", None)]
    )
    called = [getattr(each, "func", each) for each in at]
    is_one = isinstance(node, ast.FunctionDef | ast.Expr)
    return [each.value for each in called if is_one and isinstance(each, ast.Attribute)]


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(k.value for k in node.keywords)]


def _is_opaque(node: ast.Call) -> bool:
    """Code given as text, and magics that run a file: they may bind anything."""
    name = called(node)
    if name in ("run_line_magic", "run_cell_magic"):
        first = node.args[0] if node.args else None
        return getattr(first, "value", None) in ("run", "load", "macro", "store")
    return name in _OPAQUE


def may_be(node: ast.AST) -> frozenset[str]:
    """The names whose objects, or parts of them, an expression may give."""
    inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.Name):
        return frozenset({node.id})
    if isinstance(node, ast.Call):
        by_name, hands_on = isinstance(node.func, ast.Name), called(node) in _HANDS_ON
        inner = _arguments(node) if by_name and hands_on else [node.func] * (by_name or hands_on)
    elif isinstance(node, ast.Subscript):
        inner = [node.value]
    return frozenset() if isinstance(node, _NEW) else _all_of(inner)


def _all_of(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset().union(*map(may_be, nodes))


def _changed(nodes: Iterable[ast.AST]) -> frozenset[str]:
    changed: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed.append(node.value)
        elif isinstance(node, ast.Call):
            name = called(node)
            if name in _CHANGES or name.endswith("_") or name.startswith("register"):
                changed += [*_arguments(node), node.func]
            changed += [keyword.value for keyword in node.keywords if keyword.arg == "out"]
    return _all_of(changed)


def _aliases(nodes: Iterable[ast.AST]) -> Iterator[Shared]:
    for node in nodes:
        match node:
            case ast.Assign(targets=bound, value=value):
                pass
            case (
                ast.For(target=one, iter=value)
                | ast.comprehension(target=one, iter=value)
                | ast.NamedExpr(target=one, value=value)
                | ast.withitem(optional_vars=ast.expr() as one, context_expr=value)
            ):
                bound = [one]
            case _:
                continue
        names = {n.id for one in bound for n in ast.walk(one) if isinstance(n, ast.Name)}
        yield frozenset(names), may_be(value)


def _changes_arguments(node: ast.FunctionDef) -> bool:
    """Whether a function may change what it is given."""
    nodes = [n for part in node.body for n in at_once(part)]
    given = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
    for names, shared in _aliases(nodes):
        given |= names if shared & given else frozenset()
    return not given.isdisjoint(_changed(nodes))


@lru_cache(maxsize=64)
def public_names(module: str) -> frozenset[str] | None:
    """What a star import binds; None where that is not known here, as nothing is imported for it."""
    found = sys.modules.get(module)
    if found is None:
        return None
    return frozenset(getattr(found, "__all__", (n for n in vars(found) if not n.startswith("_"))))
