"""Finds the text that defines an exercise in a cell. Read as text, never run."""

from __future__ import annotations

import ast

from IPython.core.inputtransformer2 import TransformerManager

from autograder.source import Source


def definition(exercise: str, cell: str) -> Source | None:
    """The source of the last class or function of that name in a cell; None where there is none.

    Of a cell that is no Python the source is empty: it is where the definition would be.
    """
    if exercise not in cell:
        return None
    text = without_magics(cell)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Source() if f"class {exercise}" in cell or f"def {exercise}" in cell else None
    for node in reversed(tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == exercise:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return Source.parse("\n".join(text.splitlines()[first - 1 : node.end_lineno]), first)
    return None


def without_magics(text: str) -> str:
    """The text as Python; lines keep their numbers."""
    has_magics = any(line.lstrip()[:1] in ("%", "!", "?") for line in text.splitlines())
    if not has_magics:
        return text
    try:
        return str(TransformerManager().transform_cell(text))
    except SyntaxError:
        return text
