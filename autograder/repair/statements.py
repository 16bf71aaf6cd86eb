"""Edits of whole statements: left out, or no longer an alternative to another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.repair.edits import COUNTED, Edit, Place, Slot

_NEEDED = ("staticmethod", "classmethod")
_NEVER_LEFT_OUT = ("save_for_backward", "super", COUNTED)


def _around(place: Place) -> tuple[Slot, list[ast.stmt], int] | None:
    """The list of statements that a statement is in, and its place there."""
    index = place.slot.index
    if not isinstance(place.node, ast.stmt) or index is None:
        return None
    slot = Slot(place.slot.parent, place.slot.name)
    return slot, slot.get(), index


def after_elif(place: Place) -> Iterator[Edit]:
    """`if` for `elif`: both are asked."""
    node, around = place.node, _around(place)
    if around is None or not isinstance(node, ast.If) or len(node.orelse) != 1:
        return
    second = node.orelse[0]
    if isinstance(second, ast.If):
        slot, body, i = around
        alone = ast.copy_location(ast.If(node.test, node.body, []), node)
        yield Edit(
            ((slot, [*body[:i], alone, second, *body[i + 1 :]]),), second, 0,
            "with `if` in place of `elif`",
        )  # fmt: skip


def without_statement(place: Place) -> Iterator[Edit]:
    """A statement less: a call for its effect, an early return, a refusal."""
    node, around = place.node, _around(place)
    if around is None:
        return
    slot, body, i = around
    rank = None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = ast.unparse(node.value.func).split(".")[-1]
        rank = None if name in _NEVER_LEFT_OUT else 1
    elif isinstance(node, ast.AugAssign | ast.Assert) or _is_plain_if(node):
        rank = 1
    elif isinstance(node, ast.Assign) and _sets_again(node, body[:i], place.function):
        rank = 2
    if isinstance(node, ast.If) and not node.orelse:
        text = f"without the condition `if {ast.unparse(node.test)}:`"
        yield Edit(((slot, [*body[:i], *node.body, *body[i + 1 :]]),), node, 1, text)
    if rank is not None and isinstance(node, ast.stmt):
        rest = [*body[:i], *body[i + 1 :]] or [ast.copy_location(ast.Pass(), node)]
        yield Edit(((slot, rest),), node, rank, _without(node))


def _is_plain_if(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and not node.orelse


def _sets_again(node: ast.Assign, before: list[ast.stmt], function: ast.FunctionDef) -> bool:
    """Whether an assignment only gives another value to something that has one."""
    names = [t.id for t in node.targets if isinstance(t, ast.Name)]
    if len(names) != len(node.targets):
        return True  # ctx.something, x[…]
    known = {a.arg for a in function.args.args}
    known |= {n.id for s in before for n in ast.walk(s) if isinstance(n, ast.Name)}
    return all(name in known for name in names)


def _without(node: ast.stmt) -> str:
    text = ast.unparse(node).split("\n")[0]
    return f"without `{text}`" if len(text) <= 60 else "without this statement"


def without_decorator(place: Place) -> Iterator[Edit]:
    """A function without one of its decorators."""
    node = place.node
    if isinstance(node, ast.FunctionDef):
        yield from _undecorated(node)


def _undecorated(node: ast.FunctionDef) -> Iterator[Edit]:
    for i, decorator in enumerate(node.decorator_list):
        text = ast.unparse(decorator)
        if text not in _NEEDED:
            rest = node.decorator_list[:i] + node.decorator_list[i + 1 :]
            yield Edit(((Slot(node, "decorator_list"), rest),), decorator, 0, f"without `@{text}`")


def without_with(place: Place) -> Iterator[Edit]:
    """The statements of a `with` without it."""
    node, around = place.node, _around(place)
    if around is not None and isinstance(node, ast.With):
        slot, body, i = around
        text = ast.unparse(node.items[0])
        yield Edit(
            ((slot, [*body[:i], *node.body, *body[i + 1 :]]),), node, 0, f"without `with {text}:`"
        )


def augmented(place: Place) -> Iterator[Edit]:
    """x = x + y for x += y, which writes into x."""
    node = place.node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        new = ast.Assign([ast.Name(node.target.id, ast.Store())], value, lineno=node.lineno)
        yield place.replaced(new, 0)
