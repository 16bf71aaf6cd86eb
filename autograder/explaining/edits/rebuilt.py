"""A submission made once more from its syntax tree, in variables of its own."""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from dataclasses import dataclass, field
from typing import Any

from autograder.explaining.edits.tree_edits import COUNTED
from autograder.observation.source import Source
from autograder.observation.syntax import codes_of
from autograder.running.function_classes import files_of
from autograder.running.submission import Submission

MOST_ROUNDS = 400  # of the loops of one submission, in one question


@dataclass
class Original:
    """A submission's syntax tree: its class or function, and before it what it uses of the same file.

    lines   of the file or notebook cell, in which the tree's line numbers count
    space   the variables that its code reads
    rounds  counts the rounds of its loops
    """

    name: str
    tree: ast.Module
    file: str
    lines: list[str]
    space: dict[str, Any]
    rounds: Rounds = field(default_factory=lambda: Rounds())

    @classmethod
    def of(cls, value: Any) -> Original | None:
        """None where there is no source to be read."""
        target = Submission(value).target
        name = getattr(target, "__name__", "")
        codes = _codes(target)
        for code in codes:
            lines = linecache.getlines(code.co_filename)
            try:
                whole = ast.parse("".join(lines))
            except (SyntaxError, ValueError):
                continue
            node = _definition(whole, name, code.co_firstlineno)
            if node is not None:
                space = _space(target)
                used = _used(node, space, code.co_filename, whole)
                tree = ast.Module([*used, node], [])
                _count_loops(tree)
                ast.fix_missing_locations(tree)
                return cls(name, tree, code.co_filename, lines, space)
        return None

    @classmethod
    def of_text(cls, source: str, name: str, value: Any) -> Original:
        """Of code that was run already and defined ``value``, the course's own."""
        tree = ast.parse(source)
        _count_loops(tree)
        ast.fix_missing_locations(tree)
        return cls(name, tree, f"<{name}>", source.splitlines(), _space(value))

    def built(self) -> Any:
        """The class or function as the tree now says; None where that cannot be compiled or run."""
        space = {**self.space, COUNTED: self.rounds}
        try:
            exec(compile(self.tree, self.file, "exec"), space)
        except Exception:
            return None
        return space.get(self.name)

    def text_of(self, line: int) -> str:
        """The text of a line."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def source(self) -> Source:
        """What the rules may read of it, as the tree now says."""
        return Source.of_tree(self.tree.body[-1], self.lines)


class Rounds:
    """Ends a loop that an edit has made endless: by a count, so that it ends the same everywhere."""

    def __init__(self) -> None:
        self.left = MOST_ROUNDS

    def start(self, questions: int) -> None:
        """Begin afresh, for so many questions."""
        self.left = MOST_ROUNDS * questions

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("a loop did not end")


def _count_loops(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            call = ast.Call(ast.Name(COUNTED, ast.Load()), [], [])
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node)))


def _codes(target: Any) -> list[types.CodeType]:
    values = [*vars(target).values()] if isinstance(target, type) else [target]
    mine = files_of(target)
    return [c for value in values for c in codes_of(value) if c.co_filename in mine]


def _definition(whole: ast.Module, name: str, line: int) -> ast.stmt | None:
    """The class or function of a name whose text holds a line."""
    for node in ast.walk(whole):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= line <= (node.end_lineno or 0):
                return node
    return None


def _space(target: Any) -> dict[str, Any]:
    """Global and enclosing variables of the functions of a submission."""
    space: dict[str, Any] = {}
    for value in [*vars(target).values()] if isinstance(target, type) else [target]:
        function = inspect.unwrap(getattr(value, "__func__", value))
        if isinstance(function, types.FunctionType):
            space |= function.__globals__
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            for name, cell in cells:
                try:
                    space[name] = cell.cell_contents
                except ValueError:  # a variable that is not set yet
                    continue
    return space


def _used(node: ast.stmt, space: dict[str, Any], file: str, whole: ast.Module) -> list[ast.stmt]:
    """The functions and classes of the same file that a definition uses, in the file's order."""
    known = {
        n.name: n for n in whole.body
        if isinstance(n, ast.ClassDef | ast.FunctionDef) and n is not node and n.name in space
    }  # fmt: skip
    waiting, found = [node], {node}
    while waiting:
        for part in ast.walk(waiting.pop()):
            other = known.get(part.id) if isinstance(part, ast.Name) else None
            if other is not None and other not in found and file in files_of(space[other.name]):
                found.add(other)
                waiting.append(other)
    return [n for n in whole.body if n in found and n is not node]
