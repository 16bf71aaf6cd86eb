"""The statement of a method in which a returned value was made: followed through one name, and a mask."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """What the value shows about where to look.

    filled  it is not zero everywhere, so a line that makes zeros to begin with is innocent
    masked  it is wrong only where it, or the right one, is 0: a mask is at fault
    """

    filled: bool = False
    masked: bool = False


NOTHING_SEEN = Seen()


def where_made(
    function: ast.FunctionDef, last: ast.Return, position: int, seen: Seen,
    saving: Sequence[ast.FunctionDef] = (),
) -> ast.AST:  # fmt: skip
    """The statement that made what ``last`` returns at this position; ``last`` where nobody can tell.

    saving  the methods that may save tensors for this one
    """
    value = last.value
    if isinstance(value, ast.Tuple) and position < len(value.elts):
        value = value.elts[position]
    place: ast.AST = last
    if isinstance(value, ast.Name):
        place = _of_name(function, value.id, last, seen)
        value = place.value if isinstance(place, ast.Assign) else value
    if seen.masked and value is not None:
        return _mask_in(function, value, saving) or place
    return place


def _of_name(function: ast.FunctionDef, name: str, last: ast.Return, seen: Seen) -> ast.AST:
    made = assignments(function, name)
    written = _writes_into(function, name)
    if seen.filled:
        made = [each for each in made if not _begins_empty(each)]
    if written or not made:
        everything = [*made, *written]
        return everything[0] if len(everything) == 1 else last
    # Of several the last one made it, unless they stand in branches: then nobody knows which.
    if len(made) == 1 or all(each in function.body for each in made):
        return max(made, key=lambda n: n.lineno)
    return last


def assignments(function: ast.FunctionDef, name: str) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                found.append(node)
    return found


def _writes_into(function: ast.FunctionDef, name: str) -> list[ast.stmt]:
    """Statements that write into a tensor: ``name[…] = …``, ``name[…] += …``, ``name.add_(…)``."""
    found: list[ast.stmt] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Subscript) and _base(t) == name for t in targets):
                found.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            in_place = isinstance(called, ast.Attribute) and called.attr.endswith("_")
            if in_place and _base(called.value) == name:  # type: ignore[attr-defined]
                found.append(node)
    return found


def _base(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_EMPTY = ("zeros_like", "zeros", "new_zeros", "empty_like", "empty", "new_empty")


def _begins_empty(statement: ast.stmt) -> bool:
    """Whether an assignment only gives a name None, or zeros to be filled."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return isinstance(statement, ast.Assign) and all(
        (isinstance(p, ast.Constant) and p.value is None)
        or (isinstance(p, ast.Call) and ast.unparse(p.func).split(".")[-1] in _EMPTY)
        for p in parts
    )


def _mask_in(
    function: ast.FunctionDef, value: ast.AST, saving: Sequence[ast.FunctionDef]
) -> ast.AST | None:
    """The only statement that compares something to make a name of this expression."""
    if _comparing([value]):
        return None
    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    masks: list[ast.AST] = []
    for name in names:
        masks += _comparing(assignments(function, name))
        for place, origin in saved_as(function, name, saving):
            named = isinstance(origin, ast.Name)
            masks += _comparing(assignments(place, origin.id) if named else [origin])  # type: ignore[attr-defined]
    return masks[0] if len(masks) == 1 else None


def _comparing(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    return [n for n in nodes if any(isinstance(part, ast.Compare) for part in ast.walk(n))]


def saved_as(
    function: ast.FunctionDef, name: str, saving: Sequence[ast.FunctionDef]
) -> list[tuple[ast.FunctionDef, ast.AST]]:
    """What was saved, and where, that a name of ``a, name = ctx.saved_tensors`` stands for."""
    found: list[tuple[ast.FunctionDef, ast.AST]] = []
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        names = [ast.unparse(t) for t in target.elts] if isinstance(target, ast.Tuple) else []
        if name not in names or not ast.unparse(node.value).endswith("saved_tensors"):  # type: ignore[attr-defined]
            continue
        for method in saving:
            for call in ast.walk(method):
                saves = isinstance(call, ast.Call) and ast.unparse(call.func).endswith(
                    "save_for_backward"
                )
                if saves and len(call.args) == len(names):  # type: ignore[attr-defined]
                    found.append((method, call.args[names.index(name)]))  # type: ignore[attr-defined]
    return found
