"""Finds the text that defines an exercise in a cell. Read as text, never run."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

from autograder.source import Source

LONGEST = 60_000  # characters of a cell that are read; the longest answer we know has 4 000
MOST_MAGICS = 60  # of a notebook's own cells: IPython reads the whole cell again for each
# What deeply nested code, or code that is none, provokes in Python's parser and in IPython's.
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError)
_ASSIGNED = re.compile(r"=\s*[%!]")


def definition(exercise: str, cell: str) -> Source | None:
    """The source of the last class or function of that name in a cell; None where there is none.

    Of a cell that is no Python the source is empty: it is where the definition would be.
    """
    if exercise not in cell:
        return None
    try:
        text = without_magics(cell)
        tree = ast.parse(text if len(text) <= LONGEST else "(")
    except NO_PYTHON:
        return Source() if f"class {exercise}" in cell or f"def {exercise}" in cell else None
    for node in reversed(tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == exercise:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return Source.parse("\n".join(text.splitlines()[first - 1 : node.end_lineno]), first)
    return None


def seems_to_define(exercise: str, cell: str) -> bool:
    """Whether a cell has a line that looks as if it defined an exercise; cheap, and not certain."""
    if exercise not in cell:
        return False
    name = re.escape(exercise)
    return (
        re.search(rf"^[ \t]*((class|def)[ \t]+{name}\b|{name}[ \t]*=)", cell, re.MULTILINE)
        is not None
    )


@lru_cache(maxsize=256)
def without_magics(text: str) -> str:
    """The text as Python; lines keep their numbers. What is too much to be read stays as it is."""
    if len(text) > LONGEST or not 0 < count_magics(text) <= MOST_MAGICS:
        return text
    try:
        return str(TransformerManager().transform_cell(text))
    except NO_PYTHON:
        return text


def count_magics(text: str) -> int:
    """How many lines may have to be read as IPython's own; a few of them may be plain Python."""
    return sum(
        1
        for line in text.splitlines()
        if line.lstrip()[:1] in ("%", "!", "?", ",", ";", "/")
        or line.rstrip().endswith("?")
        or _ASSIGNED.search(line)
    )
