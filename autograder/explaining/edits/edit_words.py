"""An edit in words: the code as it is, and the code with which the check passes."""

from __future__ import annotations

import ast

from autograder.explaining.edits.tree_edits import Edit

LONGEST = 48  # characters of code that a headline may quote
# What says nothing by itself: the expression around it is quoted.
_BARE = (ast.Constant, ast.Name, ast.UnaryOp, ast.Tuple, ast.arguments, ast.Attribute)


def words_of(edit: Edit) -> str:
    """Completes "… every check passes": "with `a > 0` in place of `a >= 0`"."""
    if edit.places:
        lines = [e.line for e in edit.places]
        others = sorted({*lines} - {lines[0]})
        where = f"in line{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
        again = ["once more there"] if lines.count(lines[0]) > 1 else []
        again += [where] if others else []
        return f"{words_of(edit.places[0])} (and likewise {' and '.join(again)})"
    if edit.words:
        return edit.words
    before = code_of(edit)
    quoted = _quoted(edit)
    with edit.done():
        after = _text(edit.changes[0][1] if quoted is edit.node else quoted)
    return f"with `{after}` in place of `{before}`"


def about(edit: Edit) -> str:
    """The code of what kind of thing is wrong there, which does not say how it is right."""
    old, new = edit.node, edit.changes[0][1]
    if edit.places:
        return about(edit.places[0])
    if edit.words.startswith("without") or not isinstance(new, ast.AST):
        return "too-much"
    if isinstance(old, ast.Compare):
        return "comparison"
    if isinstance(old, ast.Constant):
        return "number"
    if isinstance(old, ast.Name) and isinstance(new, ast.Name):
        return "name"
    before, after = ast.unparse(old), ast.unparse(new)
    if before in after:
        return "too-little"
    if after in before:
        return "too-much"
    return "order" if sorted(before) == sorted(after) else "operation"


def code_of(edit: Edit) -> str:
    """The smallest part of the code around the edit that can be recognised."""
    return _text(_quoted(edit))


def _quoted(edit: Edit) -> ast.AST:
    chosen: ast.AST = edit.node
    for node in reversed(edit.above):
        if not isinstance(chosen, _BARE) or isinstance(node, ast.FunctionDef):
            break
        if not isinstance(node, ast.expr | ast.Return | ast.Assign | ast.keyword):
            continue
        if len(_text(node)) > LONGEST:
            break
        chosen = node
    return chosen


def _text(node: ast.AST) -> str:
    """A node as it is written, in one line."""
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}({ast.unparse(node.args)}):"
    return ast.unparse(node).split("\n")[0]
