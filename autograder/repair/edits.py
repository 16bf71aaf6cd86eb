"""Single edits of a syntax tree, each of which undoes a slip that people make. Nothing runs here.

An edit is done on the tree itself and undone again: copies would cost more than running the code.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Tree = ast.Module
LONGEST = 48  # characters of code that a headline may quote


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

    node   the node whose line is told
    words  what a headline says of it; "" to quote the code before and after
    above  the nodes around it, from the module to its parent
    same   a name for what it does, shared by edits that may be meant together; "" for none
    places the edits that are done together here, each in its place
    function  the name of the function it is in; "" for several
    """

    changes: tuple[tuple[Slot, Any], ...]
    node: ast.AST
    rank: int
    words: str = ""
    above: tuple[ast.AST, ...] = ()
    same: str = ""
    places: Sequence[Edit] = ()
    function: str = ""

    @contextlib.contextmanager
    def done(self) -> Iterator[None]:
        """The tree with this edit, inside the block."""
        before = [slot.get() for slot, _ in self.changes]
        for slot, value in self.changes:
            slot.put(value)
        try:
            yield
        finally:
            for (slot, _), value in zip(self.changes, before, strict=True):
                slot.put(value)


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

    def replaced(self, new: Any, rank: int, words: str = "", same: str = "") -> Edit:
        """The edit that puts something else here."""
        return Edit(
            ((self.slot, new),), self.node, rank, words, self.above, same,
            function=self.function.name,
        )  # fmt: skip


COUNTED = "__counted__"  # a call that ends a loop which no longer ends by itself


def places(tree: Tree) -> Iterator[Place]:
    """Every node inside a function that is worth an edit: no annotations, no words for a reader."""
    for top in tree.body:
        yield from _within(top, (tree,), None)


def _within(
    node: ast.AST, above: tuple[ast.AST, ...], function: ast.FunctionDef | None
) -> Iterator[Place]:
    if isinstance(node, ast.FunctionDef):
        function = node
        yield Place(node, Slot(above[-1], "body", _index(above[-1], node)), above, node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "ctx") or _is_telling(node, name):
            continue
        for slot, child in _children(node, name, value):
            if function is not None and not isinstance(child, ast.FunctionDef):
                yield Place(child, slot, (*above, node), function)
            yield from _within(child, (*above, node), function)


def _index(parent: ast.AST, node: ast.AST) -> int:
    return next(i for i, each in enumerate(getattr(parent, "body", [])) if each is node)


def _children(node: ast.AST, name: str, value: Any) -> Iterator[tuple[Slot, ast.AST]]:
    if isinstance(value, ast.AST):
        yield Slot(node, name), value
    elif isinstance(value, list):
        for i, child in enumerate(value):
            if isinstance(child, ast.AST):
                yield Slot(node, name, i), child


def _is_telling(node: ast.AST, name: str) -> bool:
    """Whether a part is only there for a reader: the words of an error, what is printed, a docstring."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr):
        value = node.value
        if isinstance(value, ast.Constant):
            return True
        return isinstance(value, ast.Call) and called(value) in ("print", "warn", COUNTED)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Assert) and name == "msg")


def called(node: ast.AST) -> str:
    """The last name of what a call calls ("sum" for x.sum()); "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def of_module(node: ast.Call) -> bool:
    """Whether a call is that of a module's function, torch.exp(x) or F.relu(x), and no method's."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in (
        "torch",
        "F",
        "math",
        "nn",
        "functional",
        "np",
    )
