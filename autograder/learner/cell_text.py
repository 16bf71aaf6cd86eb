"""The text of a cell as Python, without IPython's own lines, and the statements in it."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

from autograder.learner.statements import Statement, names_of, statements_of
from autograder.running.program import plain, syntax_stop

LONGEST = 60_000  # characters of a cell that are read; the longest answer we know has 4 000
MOST_MAGICS = 60  # in a cell: IPython reads all of it again for each
# What deeply nested code, or code that is none, provokes in Python's parser and in IPython's.
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError)
_ASSIGNED = re.compile(r"=\s*[%!]")
# Magics that run the rest of their cell as it stands.
_AROUND_CODE = re.compile(r"\s*%%(time|capture|prun)\b[^\n]*")
_TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=[A-Za-z_])", re.MULTILINE)


@dataclass(frozen=True)
class CellText:
    """What stands in a cell: its text as Python and its statements, or why they cannot be had."""

    text: str
    statements: tuple[Statement, ...] = ()
    stop: str = ""
    opaque: str = ""


@lru_cache(maxsize=1024)
def cell_text(source: str) -> CellText:
    """What stands in a cell; a lesson's is read once for everybody."""
    text = source
    if len(text) > LONGEST or _count_magics(text) > MOST_MAGICS:
        return CellText(text, opaque="too long to be read here")
    try:
        text = as_python(source)
        return CellText(text, statements_of(plain(text).body))
    except SyntaxError as error:
        return CellText(text, stop=str(syntax_stop("", error)))
    except NO_PYTHON as error:
        reason = f"{type(error).__name__}: cannot be read, perhaps too deeply nested"
        return CellText(text, opaque=reason)


@lru_cache(maxsize=256)
def as_python(text: str) -> str:
    """The text with calls in the place of magics; lines keep their numbers.

    A magic that runs the rest of its cell as it stands is left out. What cannot be read stays as it is.
    """
    while (around := _AROUND_CODE.match(text)) is not None:
        text = "\n" * around[0].count("\n") + text[around.end() :]
    text = _TIMED.sub(r"\1", text)
    with suppress(*NO_PYTHON):
        ast.parse(text)
        return text  # there are no magics in Python
    blank = len(text) - len(text.lstrip())
    try:  # IPython takes out empty lines at the top, indentation of the whole cell, and prompts
        return "\n" * text[:blank].count("\n") + str(TransformerManager().transform_cell(text))
    except NO_PYTHON:
        return text


def _count_magics(text: str) -> int:
    """How many lines may have to be read as IPython's own; a few of them may be plain Python."""
    return sum(
        1
        for line in text.splitlines()
        if line.lstrip()[:1] in ("%", "!", "?", ",", ";", "/")
        or line.rstrip().endswith("?")
        or _ASSIGNED.search(line)
    )


def free_names(source: str) -> frozenset[str]:
    """The names that a piece of code reads and does not bind itself."""
    try:
        names = names_of(ast.parse(as_python(source)).body)
        return (names.now | names.later) - names.binds
    except NO_PYTHON:
        return frozenset()
