"""One answer in other clothes: other names, a helper, smaller steps, the factors in another order.

What is computed stays the same, so whatever a report says of one it has to say of all of them. Each
dressing keeps the line numbers of the nodes that it moves, so that lines can be compared too.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_KEPT = {"ctx", "self", "cls", "torch", "math", "F", "Function", *dir(builtins)}


@dataclass(frozen=True)
class Dressed:
    """The source in other clothes. ``origin``: for each of its lines the lines of the source it is made of."""

    source: str
    origin: dict[int, frozenset[int]]


def dressed(source: str, how: str) -> Dressed | None:
    """The source in one of ``DRESSINGS``; None where that changes nothing."""
    tree = ast.parse(source)
    before = ast.dump(tree)
    DRESSINGS[how](tree)
    if ast.dump(tree) == before:
        return None
    text = ast.unparse(ast.fix_missing_locations(tree))
    origin: dict[int, set[int]] = {}
    for new, old in zip(ast.walk(ast.parse(text)), ast.walk(tree), strict=True):
        if hasattr(new, "lineno") and not isinstance(new, ast.ClassDef | ast.FunctionDef):
            origin.setdefault(new.lineno, set()).add(old.lineno)  # type: ignore[attr-defined]
    return Dressed(text, {line: frozenset(lines) for line, lines in origin.items()})


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions whose bodies are dressed: none inside of another one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)


def renamed(tree: ast.Module) -> None:
    """Every variable of a function has another name; what forward is given keeps the contract's."""
    for function in _functions(tree):
        given = {a.arg for a in _arguments(function)}
        names = _set(function) | (given if function.name == "backward" else set())
        fixed = _KEPT if function.name == "backward" else given | _KEPT
        new = {name: f"my_{name}" for name in names - fixed}
        if any(isinstance(n, _OWN_NAMES) for n in ast.walk(function) if n is not function):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                node.id = new.get(node.id, node.id)
            elif isinstance(node, ast.arg):
                node.arg = new.get(node.arg, node.arg)


# What brings names of its own into a function, or takes some from elsewhere.
_OWN_NAMES = (ast.FunctionDef, ast.Lambda, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [n for n in ast.walk(function.args) if isinstance(n, ast.arg)]


def _set(function: ast.FunctionDef) -> set[str]:
    """The variables that a function sets, and what is defined or imported in it."""
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
    inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.alias)]
    return names | {getattr(n, "asname", None) or n.name for n in inner if n is not function}


def in_a_helper(tree: ast.Module) -> None:
    """What each function returns is computed by a function of its own, above the class."""
    helpers = []
    for function in _functions(tree):
        last = function.body[-1]
        if not isinstance(last, ast.Return) or last.value is None or not isinstance(last.value, ast.BinOp | ast.Call):  # fmt: skip
            continue
        bound = {a.arg for a in _arguments(function)} | _set(function)
        used = [n.id for n in ast.walk(last.value) if isinstance(n, ast.Name) and n.id in bound]
        names = list(dict.fromkeys(used))
        hidden = {n for n in ast.walk(last.value) if isinstance(n, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.NamedExpr)}  # fmt: skip
        starred = {function.args.vararg, function.args.kwarg} != {None}
        if "ctx" in names or hidden or starred or not names:
            continue
        name = f"result_of_{function.name}"
        given = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        helper = ast.FunctionDef(name, given, [ast.Return(last.value)], [], None, type_params=[])
        helpers.append(ast.copy_location(helper, last))
        ast.copy_location(helper.body[0], last)
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in names], [])
        last.value = ast.copy_location(call, last)
    tree.body[:0] = helpers


class _Steps(ast.NodeTransformer):
    """Takes an expression apart: each operation gets a variable."""

    def __init__(self, names: Iterator[str]) -> None:
        self.names, self.made = names, list[ast.stmt]()

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Lambda | ast.IfExp | ast.BoolOp | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.JoinedStr | ast.Compare | ast.Starred | ast.SetComp):  # fmt: skip
            return node  # what is not computed always, or not once
        node = self.generic_visit(node)
        if not isinstance(node, ast.BinOp):
            return node
        name = next(self.names)
        made = ast.Assign([ast.Name(name, ast.Store())], node)
        self.made.append(ast.copy_location(made, node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def in_steps(tree: ast.Module) -> None:
    """Each operation in a line of its own."""
    for function in _functions(tree):
        names = (f"step{i}" for i in range(1, 1000))
        function.body = [part for statement in function.body for part in _apart(statement, names)]


def _apart(statement: ast.stmt, names: Iterator[str]) -> list[ast.stmt]:
    if not isinstance(statement, ast.Return | ast.Assign) or statement.value is None:
        return [statement]
    steps = _Steps(names)
    value = steps.visit(statement.value)
    if isinstance(value, ast.Name) and steps.made and isinstance(statement, ast.Assign):
        value = steps.made.pop().value  # type: ignore[attr-defined]
    statement.value = value  # type: ignore[assignment]
    return [*steps.made, statement]


def rearranged(tree: ast.Module) -> None:
    """Both sides of each sum and product change places."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add) and _numbers(node):  # fmt: skip
            node.left, node.right = node.right, node.left


def _numbers(node: ast.BinOp) -> bool:
    """Whether neither side is a tuple, a list or a string, whose order counts."""
    odd = (ast.Tuple, ast.List, ast.JoinedStr, ast.ListComp)
    text = any(
        isinstance(s, ast.Constant) and isinstance(s.value, str) for s in (node.left, node.right)
    )
    sizes = any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in ast.walk(node))
    return not text and not sizes and not any(isinstance(s, odd) for s in (node.left, node.right))


def everything(tree: ast.Module) -> None:
    """All of them, one after the other."""
    for dress in (rearranged, in_steps, in_a_helper, renamed):
        dress(tree)
        ast.fix_missing_locations(tree)


DRESSINGS: dict[str, Callable[[ast.Module], None]] = {
    "renamed": renamed, "in a helper": in_a_helper, "in steps": in_steps, "rearranged": rearranged,
    "everything": everything,
}  # fmt: skip
