"""No pattern that meets a submission's text takes longer than in proportion to it.

Each pattern of these rooms is found in the source, and fed the worst that can be made of its own
parts: a repeated part that ends in nothing, and its beginnings, one after the other without an end. A
pattern that is not linear runs into the bound that the grader itself works under.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from autograder.grading.processes import TooMuch, bounded
from autograder.grading.safe_text import said_as_html
from autograder.learner.submitted_notebook import by_text, read_notebook

HOUSE = Path(__file__).parents[2] / "autograder"
WHOLE, CUT = 4_000_000, 20_000  # characters: of a notebook, and of a text that comes out of the box
WHERE = {
    "grading": WHOLE, "learner/submitted_notebook.py": WHOLE, "learner/lesson.py": WHOLE,
    "learner/slice.py": WHOLE, "learner/cell_text.py": WHOLE,
    "learner/statements.py": WHOLE, "observation": CUT, "reporting": CUT,
}  # fmt: skip
# Beginnings of patterns that never meet what a submission holds, and what they read instead.
OURS = {
    "<script[^>]*>": "formgrader's own template",
    'onclick="': "formgrader's own template",
    "^[ \\t]*### BEGIN START": "a lesson's source",
    "^[ \\t]*# YOUR CODE": "a lesson's source",
    "^([ \\t]*)# ?": "a lesson's source",
    "(?:/[\\w.-]+)*/ipykernel": "outputs of our own solutions",
    "^## (?P<code>": "our own sentences",
}
SECONDS = 60.0


@dataclass(frozen=True)
class Pattern:
    module: str
    text: str | bytes
    flags: int
    ways: tuple[str, ...]  # how it is used: search, fullmatch, …
    size: int

    def __str__(self) -> str:
        return f"{self.module}: {self.text!r}"


@cache
def patterns() -> tuple[Pattern, ...]:
    found = []
    for where, size in WHERE.items():
        place = HOUSE / where
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            source = path.read_text()
            found += [
                Pattern(str(path.relative_to(HOUSE)), text, flags, ways, size)
                for text, flags, ways in _patterns(ast.parse(source), source)
                if not any(str(text).startswith(beginning) for beginning in OURS)
            ]
    return tuple(found)


def _patterns(tree: ast.Module, source: str) -> Iterator[tuple[str | bytes, int, tuple[str, ...]]]:
    names = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not isinstance(node.func.value, ast.Name) or node.func.value.id != "re":
            continue
        way = node.func.attr
        if way == "escape" or not node.args or not isinstance(node.args[0], ast.Constant):
            continue  # a pattern with a name put into it; what stands around the name is short
        text = node.args[0].value
        flags = sum(
            getattr(re, word) for word in re.findall(r"\bre\.([A-Z]+)\b", ast.unparse(node))
        )
        if way == "compile":
            used = re.findall(rf"\b{names.get(id(node), '-')}\.(\w+)\(", source)
            yield text, flags, tuple(sorted(set(used) - {"pattern"})) or ("search",)
        else:
            yield text, flags, (way,)


def worst(pattern: Pattern) -> Iterator[Any]:
    """The texts: of each part that repeats many, then what nothing matches; of each beginning many."""
    parts = list(_parser.parse(pattern.text, pattern.flags))
    beginning = ""
    for part in parts:
        sample, pump = _sample([part]), _pump(part)
        for one in pump:
            yield beginning + one * (pattern.size // len(one)) + "\0"
            yield beginning + one * (pattern.size // len(one)) + "\n\0"
        beginning += sample
        if beginning.strip():
            yield beginning * (pattern.size // len(beginning))
            yield (beginning + "\n") * (pattern.size // (len(beginning) + 1))


def _pump(part: Any) -> list[str]:
    """What a part can repeat; nothing where it does not."""
    kind, given = part
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        _, most, inner = given
        inside = [one for each in inner for one in _pump(each)]
        return ([_sample(inner) or "a"] if most > 9 else []) + inside
    if kind is _constants.SUBPATTERN:
        return [one for each in given[-1] for one in _pump(each)]
    if kind is _constants.BRANCH:
        return [one for branch in given[1] for each in branch for one in _pump(each)]
    return []


def _sample(parts: Any) -> str:
    """A text that these parts match, with one of what repeats."""
    text = ""
    for kind, given in parts:
        if kind is _constants.LITERAL:
            text += chr(given)
        elif kind is _constants.ANY:
            text += "a"
        elif kind is _constants.NOT_LITERAL:
            text += "b" if given == ord("a") else "a"
        elif kind is _constants.IN:
            named = [chr(value) for part, value in given if part is _constants.LITERAL]
            usual = [*" a1_-.+/=`<\n*'\"(", *map(chr, range(33, 127))]
            text += next(c for c in usual + named if re.fullmatch(_class(given), c))
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            text += _sample(given[2]) * max(1, given[0])
        elif kind is _constants.SUBPATTERN:
            text += _sample(given[-1])
        elif kind is _constants.BRANCH:
            text += _sample(given[1][0])
    return text


def _class(given: Any) -> re.Pattern[str]:
    """A class of characters as a pattern again."""
    words = {_constants.CATEGORY_SPACE: r"\s", _constants.CATEGORY_WORD: r"\w",
             _constants.CATEGORY_DIGIT: r"\d", _constants.CATEGORY_NOT_SPACE: r"\S",
             _constants.CATEGORY_NOT_WORD: r"\W", _constants.CATEGORY_NOT_DIGIT: r"\D"}  # fmt: skip
    made = ""
    for kind, value in given:
        if kind is _constants.NEGATE:
            made += "^"
        elif kind is _constants.LITERAL:
            made += re.escape(chr(value))
        elif kind is _constants.RANGE:
            made += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            made += words[value]
    return re.compile(f"[{made}]")


def feed(pattern: Pattern, seconds: float = SECONDS) -> None:
    """Raises TooMuch where one of its worst texts takes too long."""
    made: Any = re.compile(pattern.text, pattern.flags)
    for text in worst(pattern):
        given = text.encode("latin-1", "replace") if isinstance(pattern.text, bytes) else text
        for way in pattern.ways:
            with bounded(seconds):
                if way in ("sub", "subn"):
                    made.sub(b"" if isinstance(given, bytes) else "", given)
                elif way == "finditer":
                    list(made.finditer(given))
                else:
                    getattr(made, way)(given)


@pytest.mark.parametrize("pattern", patterns(), ids=str)
def test_every_pattern_is_linear(pattern: Pattern) -> None:
    feed(pattern)


def test_patterns_are_found_and_bad_ones_noticed() -> None:
    assert len(patterns()) > 30
    assert any(one.text == r"\d{1,4}" for one in patterns())
    for text, way in ((r"[a-z\s]*={0,2}\s*", "fullmatch"), (r"BEGIN.*?END", "search"),
                      (r"(?:[a-z]{1,2}|\s)+", "fullmatch")):  # fmt: skip
        with pytest.raises(TooMuch):
            feed(Pattern("x", text, re.S, (way,), 400_000), seconds=3.0)


def test_what_took_the_place_of_patterns_is_linear() -> None:
    from nbformat.v4 import new_code_cell

    marks = [
        "### BEGIN SOLUTION\n",
        "### END START\n### BEGIN START\n",
        "`" * 3 + " ` ``",
        "` `` ``` ",
    ]
    for text in (mark * (WHOLE // len(mark)) for mark in marks):
        with bounded(SECONDS):
            by_text([new_code_cell(text)], [], {})
            said_as_html(text)
    with bounded(SECONDS):
        read_notebook(b'{"nbformat": 4, "cells": []' + b" " * WHOLE + b"}")
