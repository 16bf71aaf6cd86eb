"""Where source code decides by particular sizes or values of its inputs. Read as AST, never run.

That alone is no mistake. It becomes evidence when the answers are right for just those sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.source import Source

_LOOKS = (ast.Compare, ast.Call, ast.Subscript, ast.Dict, ast.match_case)
_SIZES = ("shape", "size", "numel", "nelement")


@dataclass(frozen=True)
class Lookup:
    """One place that compares sizes or values of inputs with constants, or looks them up in a table.

    sizes  the constants it compares sizes with: (2, 3) or 6; empty where they are not written there
    """

    line: int
    text: str
    of_sizes: bool
    sizes: frozenset[Any] = frozenset()


def lookups(source: Source) -> list[Lookup]:
    """Every lookup in the source of a submission, in the order of its lines."""
    found: dict[int, Lookup] = {}
    for node in source.nodes:
        for made in _lookup(source, node) if isinstance(node, _LOOKS) else ():
            found.setdefault(made.line, made)
    return [found[line] for line in sorted(found)]


def _lookup(source: Source, node: ast.AST) -> Iterator[Lookup]:
    line, text = source.line_of(node) if hasattr(node, "lineno") else (0, "")
    if isinstance(node, ast.Compare) and isinstance(
        node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn
    ):
        sides = [node.left, *node.comparators]
        constants = frozenset().union(*(_constants(side) for side in sides))
        if any(map(_is_size, sides)):
            # 0 and 1 are sizes that honest code treats apart: empty tensors, broadcasting.
            if constants := constants - {0, 1, (), (1,)}:
                yield Lookup(line, text, True, constants)
        elif any(_is_values(side) for side in sides) and any(map(_is_table, sides)):
            yield Lookup(line, text, False)
    elif isinstance(node, ast.Call) and _called(node) in ("equal", "allclose"):
        if any(_is_tensor_of_numbers(a) for a in node.args):
            yield Lookup(line, text, False)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        if isinstance(node.value, ast.Name | ast.Attribute | ast.Dict) and _is_size(node.slice):
            yield Lookup(line, text, True)
    elif isinstance(node, ast.Dict) and _is_table(node):
        yield Lookup(line, text, False)
    elif isinstance(node, ast.match_case):
        subject = ast.unparse(node.pattern)
        with_constants = _literal(subject)
        if isinstance(with_constants, tuple | int):
            place = source.line_of(node.pattern)
            yield Lookup(*place, True, frozenset([with_constants]))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_size(node: ast.AST) -> bool:
    """x.shape, x.shape[0], x.size(0), x.numel(), len(x), tuple(x.shape)."""
    if isinstance(node, ast.Subscript):
        return _is_size(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZES
    if isinstance(node, ast.Call):
        if _called(node) in (*_SIZES, "len"):
            return True
        return _called(node) in ("tuple", "list", "str") and any(map(_is_size, node.args))
    return isinstance(node, ast.Tuple) and any(map(_is_size, node.elts))


def _is_values(node: ast.AST) -> bool:
    """x.tolist(), x.item(), float(x)."""
    return isinstance(node, ast.Call) and _called(node) in ("tolist", "item", "float")


def _constants(node: ast.AST) -> frozenset[Any]:
    """Whole numbers and tuples of them that a side of a comparison is, or may be one of."""
    if isinstance(node, ast.Call) and _called(node) in ("Size", "tuple", "list") and node.args:
        return _constants(node.args[0])
    value = _literal(node)
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(value, dict | set | frozenset):
        return frozenset(v for v in value if isinstance(v, int | tuple))
    if isinstance(value, tuple) and any(isinstance(v, tuple | list) for v in value):
        return frozenset(tuple(v) for v in value if isinstance(v, tuple | list))
    if isinstance(value, bool) or not isinstance(value, int | tuple):
        return frozenset()
    # (5, 12) may be a shape, or the right side of "in": both are meant.
    return frozenset([value, *(value if isinstance(value, tuple) else ())])


def _literal(node: ast.AST | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _is_table(node: ast.AST) -> bool:
    """A literal with two numbers or more as keys or elements."""
    if isinstance(node, ast.Dict):
        numbers = [key for key in node.keys if key is not None and _is_number(key)]
        return len(numbers) > 1
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and (
        len(node.elts) > 1 and all(map(_is_number, node.elts))
    )


def _is_number(node: ast.AST) -> bool:
    value = _literal(node)
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(v, float) for v in value)
    return isinstance(value, float)


def _is_tensor_of_numbers(node: ast.AST) -> bool:
    """torch.tensor([0.0, 1.0]) and x.new_tensor(…) of a literal."""
    made = isinstance(node, ast.Call) and _called(node) in ("tensor", "new_tensor", "as_tensor")
    return made and bool(node.args) and _literal(node.args[0]) is not None  # type: ignore[attr-defined]
