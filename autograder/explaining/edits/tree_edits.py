"""Single edits of a syntax tree, each of which undoes a slip that people make. Nothing runs here.

An edit is done on the tree itself and undone again: copies would cost more than running the code.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.observation.syntax import called

Tree = ast.Module
_MODULES = ("torch", "F", "math", "nn", "functional", "np")
COUNTED = "__counted__"  # a call that ends a loop which no longer ends by itself


@dataclass(frozen=True)
class Slot:
    """A place in a tree that holds a node, or a list of them."""

    parent: ast.AST
    name: str
    index: int | None = None

    def get(self) -> Any:
        value = getattr(self.parent, self.name)
        return value if self.index is None else value[self.index]

    def put(self, value: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.name, value)
        else:
            getattr(self.parent, self.name)[self.index] = value


@dataclass(frozen=True)
class Edit:
    """What is put where. ``rank`` says how soon it is tried: 0 for what is the cause most often.

    node      the node whose line is told
    words     what is said of it; "" to quote the code before and after
    above     the nodes around it, from the module to its parent
    same      a name for what it does, shared by edits that may be meant together; "" for none
    places    the edits that are done together here, each in its place
    function  the name of the function it is in; "" for several
    artefact  it may only hide the fault: a refusal left out, a number for what has a name
    """

    changes: tuple[tuple[Slot, Any], ...]
    node: ast.AST
    rank: int
    words: str = ""
    above: tuple[ast.AST, ...] = ()
    same: str = ""
    places: Sequence[Edit] = ()
    function: str = ""
    artefact: bool = False

    @contextlib.contextmanager
    def done(self) -> Iterator[None]:
        """The tree with this edit, inside the block."""
        before = [slot.get() for slot, _ in self.changes]
        for slot, value in self.changes:
            slot.put(value)
            for new in value if isinstance(value, list) else [value]:
                if isinstance(new, ast.AST):
                    _locate(new, _with_line(self))
        try:
            yield
        finally:
            for (slot, _), value in zip(self.changes, before, strict=True):
                slot.put(value)

    @property
    def line(self) -> int:
        """The number of the line that it is in."""
        return int(getattr(_with_line(self), "lineno", 0))


def _locate(new: ast.AST, like: ast.AST) -> None:
    """Give the new nodes of a part a line; what stood in the tree already keeps its own."""
    if not hasattr(new, "lineno"):
        ast.copy_location(new, like)
    ast.fix_missing_locations(new)


def _with_line(edit: Edit) -> ast.AST:
    """The node that it is about, or the closest around it that has a line."""
    around = (edit.node, *reversed(edit.above))
    return next((n for n in around if hasattr(n, "lineno")), edit.node)


@dataclass(frozen=True)
class Place:
    """A node in its surroundings.

    slot      where it stands
    above     the nodes around it, from the module to its parent
    function  the function it is in
    """

    node: ast.AST
    slot: Slot
    above: tuple[ast.AST, ...]
    function: ast.FunctionDef

    def replaced(
        self, new: Any, rank: int, words: str = "", same: str = "", artefact: bool = False
    ) -> Edit:
        """The edit that puts something else here."""
        return Edit(
            ((self.slot, new),), self.node, rank, words, self.above, same,
            function=self.function.name, artefact=artefact,
        )  # fmt: skip


def places(tree: Tree) -> Iterator[Place]:
    """Every node inside a function that is worth an edit: no annotations, no words for a reader."""
    for i, top in enumerate(tree.body):
        yield from _within(top, Slot(tree, "body", i), (tree,), None)


def _within(
    node: ast.AST, slot: Slot, above: tuple[ast.AST, ...], function: ast.FunctionDef | None
) -> Iterator[Place]:
    function = node if isinstance(node, ast.FunctionDef) else function
    if function is not None:
        yield Place(node, slot, above, function)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "ctx") or _is_telling(node, name):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield from _within(child, Slot(node, name, index), (*above, node), function)


def _is_telling(node: ast.AST, name: str) -> bool:
    """Whether a part is only there for a reader: the words of an error, what is printed, a docstring."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr):
        value = node.value
        return isinstance(value, ast.Constant) or called(value) in ("print", "warn", COUNTED)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Assert) and name == "msg")


def of_module(node: ast.Call) -> bool:
    """Whether a call is that of a module's function, torch.exp(x) or F.relu(x), and no method's."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in _MODULES


def named(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def number(value: float) -> ast.expr:
    """A number as it is written."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if value == float("inf"):
        return ast.Call(named("float"), [ast.Constant("inf")], [])
    return ast.Constant(value)


def method(node: ast.expr, name: str, *given: ast.expr, **settings: ast.expr) -> ast.Call:
    """A method of what an expression gives: node.name(given, setting=…)."""
    keywords = [ast.keyword(key, value) for key, value in settings.items()]
    return ast.Call(ast.Attribute(node, name, ast.Load()), list(given), keywords)
