"""An edit in words: the code as it is, and the code with which the check passes."""

from __future__ import annotations

import ast

from autograder.repair.edits import LONGEST, Edit

# What says nothing by itself: the expression around it is quoted.
_BARE = (ast.Constant, ast.Name, ast.UnaryOp, ast.Tuple, ast.arguments, ast.Attribute)


def words_of(edit: Edit) -> str:
    """Completes "tried: … every check passes": "with `a > 0` in place of `a >= 0`"."""
    if edit.places:
        lines = [line_of(e) for e in edit.places]
        others = sorted({*lines} - {lines[0]})
        named = f"in line{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
        again = ["once more there"] if lines.count(lines[0]) > 1 else []
        again += [named] if others else []
        return f"{words_of(edit.places[0])} (and likewise {' and '.join(again)})"
    if edit.words:
        return edit.words
    quoted = _quoted(edit)
    before = _text(quoted)
    with edit.done():
        new = edit.changes[0][1] if quoted is edit.node else quoted
        after = _text(new)
    return f"with `{after}` in place of `{before}`"


def line_of(edit: Edit) -> int:
    """The number of the line that the edit is in."""
    for node in (edit.node, *reversed(edit.above)):
        if hasattr(node, "lineno"):
            return int(node.lineno)
    return 0


def _quoted(edit: Edit) -> ast.AST:
    """The smallest part of the code around the edit that can be recognised."""
    chosen: ast.AST = edit.node
    for node in reversed(edit.above):
        if not isinstance(chosen, _BARE):
            break
        if isinstance(node, ast.FunctionDef):
            break
        if not isinstance(node, ast.expr | ast.Return | ast.Assign | ast.keyword):
            continue
        if len(_text(node)) > LONGEST:
            break
        chosen = node
    return chosen


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).split("\n")[0]
