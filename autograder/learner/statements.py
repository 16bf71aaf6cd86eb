"""What each top-level statement of a notebook binds, reads and changes. Read as text; nothing is run.

Where it is not certain whether a statement changes something, it counts as if it did: then it is
taken along, and read.
"""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from symtable import SymbolTable, symtable
from typing import NamedTuple

from autograder.observation.syntax import called

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
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
_KNOWN = frozenset(dir(builtins)) | {"__name__"}


@dataclass(frozen=True)
class Statement:
    """One statement at the top level of a cell.

    place    its place among the statements of its cell
    binds    names that it gives another meaning
    certain  whether those have that meaning afterwards in any case
    now      names that it reads as it runs
    later    names that functions in it read when they are called
    changes  names whose objects it may change in place
    touches  names of which it calls a method for no result, or as a decorator
    aliases  names bound here, each with the names whose objects it may share
    calls    functions that it calls by name, with the names that their arguments may share
    through  whether it is a function that changes what it is given
    declared names that functions in it declare global
    opaque   why names may come of it that cannot be read; "" where none can
    """

    node: ast.stmt
    place: int
    binds: frozenset[str]
    certain: bool
    now: frozenset[str]
    later: frozenset[str]
    changes: frozenset[str]
    touches: frozenset[str]
    aliases: tuple[tuple[str, frozenset[str]], ...]
    calls: tuple[tuple[str, frozenset[str]], ...]
    through: bool
    declared: frozenset[str]
    opaque: str

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, _IMPORTS)

    @property
    def is_definition(self) -> bool:
        """Whether it binds what no method changes; a decorator may make anything of a function, an operator for example."""
        if isinstance(self.node, ast.FunctionDef):
            return not self.node.decorator_list
        return isinstance(self.node, ast.ClassDef | ast.Import | ast.ImportFrom)


def statements_of(body: Iterable[ast.stmt]) -> tuple[Statement, ...]:
    """The statements of a cell, without their annotations. Raises SyntaxError, RecursionError for deep ones."""
    return tuple(_statement(node, place) for place, node in enumerate(body))


def _statement(node: ast.stmt, place: int) -> Statement:
    names = names_of([node])
    here = list(at_once(node))
    imports = (n for n in here if isinstance(n, ast.ImportFrom))
    stars = [
        public_names(str(n.module)) for n in imports if n.names[0].name == "*"
    ]  # it stands alone
    touched = frozenset().union(*map(may_be, _methods_called(node)))
    calls = [
        (n.func.id, frozenset().union(*map(may_be, _arguments(n))))
        for n in here
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    opaque = next((ast.unparse(n)[:80] for n in here if _is_opaque(n)), "")
    if not opaque and None in stars:
        opaque = "*"
    return Statement(
        node, place, names.binds.union(*filter(None, stars)), isinstance(node, _SIMPLE), names.now, names.later,
        frozenset(_changed(here)), touched, tuple(_aliases(here)), tuple(calls),
        isinstance(node, ast.FunctionDef) and _changes_arguments(node), names.declared, opaque,
    )  # fmt: skip


class Names(NamedTuple):
    """The names of the notebook that statements have; see Statement."""

    now: frozenset[str]
    later: frozenset[str]
    binds: frozenset[str]
    declared: frozenset[str]


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
        name, shared = one.get_name(), one.is_global() and kind != "class"
        assigned = one.is_assigned() or one.is_imported()
        declared = assigned and one.is_declared_global()
        # What stands in a class may be the class's own, or not: nobody knows before it runs.
        if declared or (
            one.is_referenced() and (shared or (kind != "function" and not one.is_free()))
        ):
            yield name, True, deferred
        if declared or (assigned and kind == "module"):
            yield name, False, deferred
    for inner in table.get_children():
        called = inner.get_type() == "function" and inner.get_name() not in _COMPREHENSIONS
        yield from _names(inner, deferred or called)


def _methods_called(node: ast.stmt) -> list[ast.expr]:
    """Of what a method is called for no result: x of x.sort(), op of op.register_fake(f) and of @op.register_fake."""
    if isinstance(node, ast.FunctionDef):
        called = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    else:
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        called = [node.value.func] if alone else []  # type: ignore[attr-defined]
    return [each.value for each in called if isinstance(each, ast.Attribute)]


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(k.value for k in node.keywords)]


def _is_opaque(node: ast.AST) -> bool:
    """Code given as text, and magics that run a file: they may bind anything."""
    if not isinstance(node, ast.Call):
        return False
    name = called(node)
    if name in ("run_line_magic", "run_cell_magic"):
        first = node.args[0] if node.args else None
        return isinstance(first, ast.Constant) and first.value in ("run", "load", "macro", "store")
    return name in _OPAQUE


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run with a statement; of a function only its name, decorators and defaults."""
    yield node
    if isinstance(node, _FUNCTIONS):
        inner = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        inner += getattr(node, "decorator_list", [])
    else:
        inner = list(ast.iter_child_nodes(node))  # type: ignore[arg-type]
    for child in inner:
        yield from at_once(child)


def may_be(node: ast.expr | None) -> frozenset[str]:
    """The names whose objects, or parts of them, an expression may give."""
    if isinstance(node, ast.Name):
        return frozenset({node.id})
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.NamedExpr):
        return may_be(node.value)
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        parts = list(node.elts)
    elif isinstance(node, ast.Dict | ast.BoolOp):
        parts = list(node.values)
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            parts = _arguments(node) if node.func.id in _HANDS_ON else [node.func]  # type: ignore[assignment]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _HANDS_ON:
            parts = [node.func.value]
    return frozenset().union(*map(may_be, parts))


def _changed(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield from may_be(node.value)
        elif isinstance(node, ast.Call):
            name = called(node)
            if name in _CHANGES or name.endswith("_") or name.startswith("register"):
                for part in (*_arguments(node), node.func):
                    yield from may_be(part)
            for keyword in node.keywords:
                if keyword.arg == "out":
                    yield from may_be(keyword.value)


def _aliases(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, frozenset[str]]]:
    for node in nodes:
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.For | ast.comprehension):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.NamedExpr):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs = [(node.optional_vars, node.context_expr)]
        for target, value in pairs:
            shared = may_be(value)
            if shared:
                yield from ((n.id, shared) for n in ast.walk(target) if isinstance(n, ast.Name))


def _changes_arguments(node: ast.FunctionDef) -> bool:
    """Whether a function may change what it is given."""
    nodes = [n for part in node.body for n in at_once(part)]
    given = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
    for name, shared in _aliases(nodes):
        if shared & given:
            given.add(name)
    return bool(given & set(_changed(nodes)))


@lru_cache(maxsize=64)
def public_names(module: str) -> frozenset[str] | None:
    """What a star import binds; None where that is not known here, as nothing is imported for it."""
    found = sys.modules.get(module)
    if found is None:
        return None
    return frozenset(getattr(found, "__all__", (n for n in vars(found) if not n.startswith("_"))))


def is_builtin(name: str) -> bool:
    """Whether Python itself has a name."""
    return name in _KNOWN
