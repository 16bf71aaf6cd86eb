"""Edits of names: two of them exchanged, or another one of the same function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.explaining.edits.tree_edits import Edit, Place, named
from autograder.observation.syntax import called

_ALWAYS_FIRST = ("ctx", "self", "cls")


def exchanged(place: Place) -> Iterator[Edit]:
    """Two names of a tuple, or two parameters of a method, in each other's place."""
    node = place.node
    if isinstance(node, ast.Tuple) and 2 <= len(node.elts) <= 8:
        kept = isinstance(place.above[-1], ast.Assign | ast.Return | ast.For)
        for i in range(len(node.elts)):
            for j in range(i + 1, len(node.elts)):
                parts = list(node.elts)
                parts[i], parts[j] = parts[j], parts[i]
                yield place.replaced(ast.Tuple(parts, node.ctx), 0 if kept else 2)
    if isinstance(node, ast.arguments):
        for i in range(len(node.args)):
            for j in range(i + 1, len(node.args)):
                if node.args[i].arg in _ALWAYS_FIRST:
                    continue
                given = list(node.args)
                given[i], given[j] = given[j], given[i]
                other = ast.arguments(
                    node.posonlyargs, given, node.vararg, node.kwonlyargs, node.kw_defaults,
                    node.kwarg, node.defaults,
                )  # fmt: skip
                yield place.replaced(other, 1)


def other_name(place: Place) -> Iterator[Edit]:
    """Another parameter or variable of the function that is set before this line."""
    node = place.node
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    if place.slot.name == "func" or node.id in _ALWAYS_FIRST:
        return
    known = known_names(place.function, node.lineno)
    if node.id not in known or (called(place.above[-1]) == "save_for_backward" and _two(place)):
        return
    attribute = isinstance(place.above[-1], ast.Attribute)
    for other in known:
        if other != node.id:
            same = f"{place.function.name}: {other} for {node.id}"
            yield place.replaced(named(other), 4 if attribute else 3, same=same)


def _two(place: Place) -> bool:
    """Whether more than one tensor is saved: the same one twice mends nothing."""
    call = place.above[-1]
    return isinstance(call, ast.Call) and len(call.args) > 1


def known_names(function: ast.FunctionDef, line: int) -> list[str]:
    """The parameters (but ctx) and the variables set above a line, the latest first."""
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    set_before = [
        n for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno < line
    ]  # fmt: skip
    set_before.sort(key=lambda n: -n.lineno)
    names = [n.id for n in set_before] + [a.arg for a in given]
    return [name for name in dict.fromkeys(names) if name not in _ALWAYS_FIRST and name != "_"]


def kept_on_ctx(place: Place) -> list[str]:
    """What the code around a place puts on ctx, as backward reads it: "ctx.scale"."""
    put = [
        n for n in ast.walk(place.above[0])
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name) and n.value.id == "ctx"
    ]  # fmt: skip
    ours = any(a.arg == "ctx" for a in place.function.args.args)
    return list(dict.fromkeys(f"ctx.{n.attr}" for n in put)) if ours else []
