"""Edits of whole statements: left out, in another place, or no longer an alternative to another."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autograder.explaining.edits.tree_edits import COUNTED, Edit, Place, Slot, named
from autograder.observation.syntax import called

_NEEDED = ("staticmethod", "classmethod")
_NEVER_LEFT_OUT = ("save_for_backward", "super", COUNTED)


def _body(place: Place) -> list[ast.stmt] | None:
    """The list of statements that a statement is in; None for what is no statement of a function."""
    if not isinstance(place.node, ast.stmt) or place.slot.index is None:
        return None
    if place.node is place.function:  # a function itself, in a class or a file
        return None
    return getattr(place.slot.parent, place.slot.name)


def _instead(
    place: Place, new: Sequence[ast.stmt], rank: int, words: str = "", artefact: bool = False,
    about: ast.AST | None = None,
) -> Edit:  # fmt: skip
    """The edit that puts other statements (or none) where one stands."""
    i, body = place.slot.index or 0, _body(place) or []
    rest = [*body[:i], *new, *body[i + 1 :]] or [ast.Pass()]
    slot = Slot(place.slot.parent, place.slot.name)
    return Edit(((slot, rest),), about or place.node, rank, words, place.above,
                function=place.function.name, artefact=artefact)  # fmt: skip


def without_statement(place: Place) -> Iterator[Edit]:
    """A statement less: a call for its effect, an early return, a refusal."""
    node, body = place.node, _body(place)
    if body is None:
        return
    rank = None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        rank = None if called(node.value) in _NEVER_LEFT_OUT else 1
    elif isinstance(node, ast.AugAssign | ast.Assert):
        rank = 1
    elif isinstance(node, ast.If) and not node.orelse:
        rank = 1
        words = f"without the condition `if {ast.unparse(node.test)}:`"
        yield _instead(place, node.body, 1, words)
    elif isinstance(node, ast.Assign) and _sets_again(node, place):
        rank = 2
    if rank is not None:
        refuses = any(isinstance(n, ast.Raise | ast.Assert) for n in ast.walk(node))
        yield _instead(place, [], rank, _without(node), artefact=refuses)


def _sets_again(node: ast.Assign, place: Place) -> bool:
    """Whether an assignment only gives another value to something that has one."""
    names = [t.id for t in node.targets if isinstance(t, ast.Name)]
    if len(names) != len(node.targets):
        return True  # ctx.something, x[…]
    before = (_body(place) or [])[: place.slot.index]
    known = {a.arg for a in place.function.args.args}
    known |= {n.id for s in before for n in ast.walk(s) if isinstance(n, ast.Name)}
    return all(name in known for name in names)


def _without(node: ast.AST) -> str:
    text = ast.unparse(node).split("\n")[0]
    return f"without `{text}`" if len(text) <= 60 else "without this statement"


def without_decorator(place: Place) -> Iterator[Edit]:
    """A function without one of its decorators."""
    node = place.node
    for i, decorator in enumerate(node.decorator_list if isinstance(node, ast.FunctionDef) else []):
        text = ast.unparse(decorator)
        if text not in _NEEDED:
            rest = place.function.decorator_list[:i] + place.function.decorator_list[i + 1 :]
            yield Edit(((Slot(node, "decorator_list"), rest),), decorator, 0, f"without `@{text}`")


def augmented(place: Place) -> Iterator[Edit]:
    """x = x + y for x += y, which writes into x; x += y for x = y in a loop."""
    node = place.node
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            value = ast.BinOp(named(node.target.id), node.op, node.value)
            new = ast.Assign([ast.Name(node.target.id, ast.Store())], value)
            yield place.replaced(new, 0)
        yield place.replaced(ast.Assign([node.target], node.value), 2)
    elif (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name | ast.Subscript)
        and any(isinstance(n, ast.For | ast.While) for n in place.above)
    ):
        yield place.replaced(ast.AugAssign(node.targets[0], ast.Add(), node.value), 2)
