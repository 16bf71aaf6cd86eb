"""Edits of several places at once: the same slip everywhere, or one that shows in two places."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograder.explaining.edits.tree_edits import Edit, Slot, Tree
from autograder.observation.syntax import called

_FIRST = ("forward", "setup_context")


def everywhere(edits: list[Edit]) -> Iterator[Edit]:
    """The same edit in all places where it is possible: `.reshape` for each `.view`.

    edits  those of single places, with what they do in ``Edit.same``
    """
    alike: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.same:
            alike[edit.same].append(edit)
    for several in alike.values():
        if len(several) > 1:
            yield together(several)


def together(several: Sequence[Edit]) -> Edit:
    """One edit of several; of one alone, that one."""
    first = several[0]
    if len(several) == 1:
        return first
    changes = tuple(change for edit in several for change in edit.changes)
    return Edit(changes, first.node, first.rank, first.words, first.above, places=several)


def kept_for_nothing(tree: Tree) -> Iterator[Edit]:
    """One tensor less in save_for_backward, and in the line that takes them out again."""
    for cls in (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)):
        methods = [n for n in cls.body if isinstance(n, ast.FunctionDef)]
        saves = [
            n for m in methods if m.name in _FIRST for n in ast.walk(m)
            if called(n) == "save_for_backward" and isinstance(n, ast.Call)
        ]  # fmt: skip
        reads = [
            n for m in methods for n in ast.walk(m)
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Tuple)
            and isinstance(n.value, ast.Attribute) and n.value.attr == "saved_tensors"
        ]  # fmt: skip
        if len(saves) != 1 or len(reads) != 1:
            continue
        save, targets = saves[0], reads[0].targets[0]
        if not isinstance(targets, ast.Tuple) or len(targets.elts) != len(save.args) < 2:
            continue
        for i, argument in enumerate(save.args):
            rest = save.args[:i] + save.args[i + 1 :]
            names = targets.elts[:i] + targets.elts[i + 1 :]
            yield Edit(
                ((Slot(save, "args"), rest), (Slot(targets, "elts"), names)), argument, 0,
                f"without `{ast.unparse(argument)}` in save_for_backward",
            )  # fmt: skip
