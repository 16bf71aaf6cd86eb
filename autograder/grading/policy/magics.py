"""From the text of a cell to Python's syntax trees, as IPython would run it.

Magics and shell lines become calls of get_ipython(). Where a magic runs code that stands in the cell
(%time, %%timeit, %%capture), that code gives a tree of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Any

from autograder.grading.policy.lists import (
    CODE_MAGICS,
    LINE_MAGICS,
    MAGICS_WITH,
    QUIET_MAGICS,
    SCRIPT_MAGICS,
)

_FIRST_WORD = re.compile(r"\s*([^\W\d][\w.]*)(?![\w.]|\s*=[^=])(.*)", re.DOTALL)
_NESTED = 4  # magics inside magics that are followed
# What `!command` and `x = !command` call. In the box they take the text and do nothing with it; the
# shell's other ways to run a command (system_piped) would fill in what stands in braces.
_SHELL_METHODS = ("system", "getoutput")
# Options that give a script's output, which there is none of, to the cells below.
_KEEPS_OUTPUT = re.compile(r"(?:^|\s)--(?:o|e|p)")


@dataclass(frozen=True)
class Tree:
    """Code as a tree; a line of the tree is that many lines further down in the cell."""

    root: ast.AST
    lines_before: int = 0


def trees(source: str, depth: int = 0) -> Iterator[Tree]:
    """The cell's code and the code its magics run; nothing for a syntax error, which cannot run.

    Raises RecursionError or MemoryError for code that is too deeply nested to be read.
    """
    for text in _as_ipython_reads(source):
        try:
            root = ast.parse(text)
        except (SyntaxError, UnicodeError, ValueError):
            continue
        yield Tree(root)
        yield from _trees_of_magics(root, depth)


def _as_ipython_reads(source: str) -> Iterator[str]:
    """The cell as Python. A single line that begins with a magic's name may be meant as that magic."""
    try:
        plain = _transformer().transform_cell(source)
    except (SyntaxError, UnicodeError, ValueError):
        return
    yield plain
    if _may_be_a_magic(plain):
        name, rest = _FIRST_WORD.match(plain).groups()  # type: ignore[union-attr]
        yield _transformer().transform_cell(f"%{name} {rest.strip()}")


def _may_be_a_magic(line: str) -> bool:
    """Whether IPython may take this for a magic without its %: by its name, or as it is no Python."""
    first = _FIRST_WORD.match(line)
    if first is None or len(line.splitlines()) != 1 or iskeyword(first[1]):
        return False
    return first[1] in LINE_MAGICS or not _is_python(line)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, UnicodeError, ValueError):
        return False
    return True


def _trees_of_magics(root: ast.AST, depth: int) -> Iterator[Tree]:
    for node in ast.walk(root):
        magic = magic_of(node)
        if magic is None or not magic.runs_code:
            continue
        if depth >= _NESTED:
            raise RecursionError("magics inside magics")
        for text, below in magic.code():
            for tree in trees(text, depth + 1):
                yield Tree(tree.root, tree.lines_before + node.lineno - 1 + below)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Magic:
    """A call of get_ipython(): its method and arguments; an argument that is no constant is None."""

    method: str
    arguments: tuple[str | None, ...]

    @property
    def name(self) -> str:
        return (self.arguments[0] or "") if self.arguments else ""

    @property
    def runs_code(self) -> bool:
        return self.method.endswith("_magic") and self.name in CODE_MAGICS

    def code(self) -> Iterator[tuple[str, int]]:
        """Text that may run as Python, and how many lines it stands below the magic's line."""
        if len(self.arguments) > 2 and self.arguments[2]:
            yield self.arguments[2], 1
        rest = (self.arguments[1] or "") if len(self.arguments) > 1 else ""
        # What follows the options is code. Where they end is not certain: each end is tried.
        word = before = "-"
        while rest.strip() and (word.startswith("-") or before.startswith("-")):
            yield rest.strip(), 0
            before = word
            word, _, rest = rest.strip().partition(" ")

    @property
    def is_harmless(self) -> bool:
        """Whether it shows, times or installs something, or would start a program, and nothing else."""
        if None in self.arguments or not self.arguments:
            return False
        rest = " ".join(a for a in self.arguments[1:2] if a)
        if self.method in _SHELL_METHODS:
            return len(self.arguments) == 1
        if self.method not in ("run_line_magic", "run_cell_magic"):
            return False
        if self.name in CODE_MAGICS:
            return True
        if self.method == "run_cell_magic" and self.name in SCRIPT_MAGICS:
            return not _KEEPS_OUTPUT.search(rest)
        if "{" in rest or "$" in rest:  # IPython would run what stands there
            return False
        if self.name in MAGICS_WITH:
            return rest.strip().startswith(MAGICS_WITH[self.name])
        return self.name in QUIET_MAGICS


def magic_of(node: ast.AST) -> Magic | None:
    """The magic a node calls: get_ipython().method(...)."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    shell = node.func.value
    if not (
        isinstance(shell, ast.Call)
        and isinstance(shell.func, ast.Name)
        and shell.func.id == "get_ipython"
    ):
        return None
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return Magic(node.func.attr, tuple(map(_text, values)))


def _text(node: ast.expr) -> str | None:
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if constant else None  # type: ignore[attr-defined]


@cache
def _transformer() -> Any:
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()
