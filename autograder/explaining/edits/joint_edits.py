"""Edits of several places at once: the same slip everywhere, or one that shows in two places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograder.explaining.edits.tree_edits import Edit


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
