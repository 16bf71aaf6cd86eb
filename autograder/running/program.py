"""What runs of a submission: of each cell some of its statements, without annotations, as plain Python.

The grader reads exactly the trees that are run here. Nothing in a cell is ever text that becomes code:
magics were taken out before, and annotations, which decorators like to evaluate, are not there.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.running.containment import failure_from

# Annotations of functions that stay, since custom operators and kernels read them; made of these names and nothing else.
ANNOTATIONS = frozenset(
    {"Tensor", "torch.Tensor", "int", "float", "bool", "None", "tl.constexpr", "triton.language.constexpr"}
)  # fmt: skip
_OF_SEVERAL = frozenset({"tuple", "list"})
NO_FIELDS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})
_FIELD = 2  # of an annotation in a class's body, as long as its tree is made
_made = itertools.count(1)


@dataclass(frozen=True)
class Piece:
    """Of a cell the top-level statements that run.

    cell    its name for people, such as "cell 7 (sigmoid)"
    text    the whole cell as Python, its lines numbered as in the notebook
    picked  the places of those statements; None for all of them
    """

    cell: str
    text: str
    picked: tuple[int, ...] | None = None

    def tree(self) -> ast.Module:
        """What is compiled. Raises SyntaxError, or what deeply nested text provokes."""
        tree = plain(self.text)
        if self.picked is not None:
            tree.body = [tree.body[place] for place in self.picked]
        return tree


@dataclass(frozen=True)
class Stop:
    """How a piece stopped: the error, and where ("line 3: y = z")."""

    cell: str
    kind: str
    message: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + (f" ({self.place})" if self.place else "")


class _WithoutAnnotations(ast.NodeTransformer):
    _classes = 0  # around what is visited

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = self._kept(node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = self._kept(node.returns)
        return self.generic_visit(node)

    def _kept(self, annotation: ast.expr | None) -> ast.expr | None:
        return annotation if annotation and not self._classes and _is_plain(annotation) else None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """That a class has an annotated name is what some decorators and bases make fields of."""
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and part.simple:
                part.annotation = _kind_of_field(part.annotation)
                part.simple = _FIELD
        self._classes += 1
        self.generic_visit(node)
        self._classes -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.simple == _FIELD:
            node.simple = 1
            return self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        plain = ast.Assign(targets=[node.target], value=node.value)
        return self.generic_visit(ast.copy_location(plain, node))


def _kind_of_field(annotation: ast.expr) -> ast.expr:
    """None, or what says that it is no field like others, without its brackets."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
    return head if name in NO_FIELDS else ast.copy_location(ast.Constant(None), annotation)


def _is_plain(annotation: ast.expr) -> bool:
    """Tensor, tuple[Tensor, Tensor], Tensor | None, and so on."""
    match annotation:
        case ast.Subscript(value=ast.Name(id=several), slice=inner) if several in _OF_SEVERAL:
            return all(map(_is_plain, inner.elts if isinstance(inner, ast.Tuple) else [inner]))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_plain(left) and _is_plain(right)
    return ast.unparse(annotation) in ANNOTATIONS


def plain(text: str) -> ast.Module:
    """The tree of a text with plain annotations only, and a statement for each thing it imports.

    Raises SyntaxError, or what deeply nested text provokes.
    """
    tree = ast.parse(text)
    _WithoutAnnotations().visit(tree)
    tree.body = [one for node in tree.body for one in _each_import(node)]
    return tree


def _each_import(node: ast.stmt) -> list[ast.stmt]:
    if isinstance(node, ast.Import):
        return [ast.copy_location(ast.Import([alias]), node) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [
            ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node)
            for alias in node.names
        ]
    return [node]


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of a folder can be imported, as in a kernel that runs there.

    The folder comes last, so that a file called torch.py hides nothing.
    """
    entry = str(folder.resolve())
    sys.path.append(entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def new_space() -> dict[str, Any]:
    """An empty namespace, that of what Python calls ``__main__`` from here on."""
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    return main.__dict__


def run(pieces: Iterable[Piece], space: dict[str, Any]) -> list[Stop]:
    """Run the pieces one after another; one that stops with an error keeps no other from running.

    KeyboardInterrupt ends the piece that it meets, as any error does.
    """
    stops = []
    for piece in pieces:
        file = f"<{piece.cell} #{next(_made)}>"
        # Tracebacks and the reports' "your line" read the source from here.
        lines = piece.text.splitlines(keepends=True)
        linecache.cache[file] = (len(piece.text), None, lines, file)
        try:
            exec(compile(piece.tree(), file, "exec", dont_inherit=True), space)
        except BaseException as error:  # an answer may raise anything, SystemExit too
            stops.append(_stop(piece.cell, error, file))
    return stops


def _stop(cell: str, error: BaseException, file: str) -> Stop:
    if isinstance(error, SyntaxError):  # str(error) names a file that the learner does not know
        return syntax_stop(cell, error)
    failure = failure_from(error, "cell", frozenset({file}))
    place = f"line {failure.line}: {failure.source}" if failure.line else ""
    return Stop(cell, failure.kind, failure.message[:1000], place)


def syntax_stop(cell: str, error: SyntaxError) -> Stop:
    """The stop of a cell that is no Python."""
    shown = (error.text or "").strip()[:200]
    place = f"line {error.lineno}: {shown}" if error.lineno else ""
    return Stop(cell, type(error).__name__, str(error.msg)[:1000], place)
