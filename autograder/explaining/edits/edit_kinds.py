"""Which edits are worth a try in somebody's code, the likeliest first.

Each kind undoes a slip: what is written there is another comparison, another name, a call too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograder.explaining.edits import (
    call_edits,
    joint_edits,
    missing_parts,
    name_edits,
    rewrites,
    statement_edits,
    value_edits,
)
from autograder.explaining.edits.tree_edits import Edit, Place, Tree, places

KINDS: tuple[Callable[[Place], Iterator[Edit]], ...] = (
    rewrites.rewritten, value_edits.other_number,
    call_edits.other_call, call_edits.without_call, call_edits.arguments,
    name_edits.exchanged, name_edits.other_name,
    missing_parts.keyword, missing_parts.factor,
    statement_edits.without_statement, statement_edits.without_decorator,
    statement_edits.augmented,
)  # fmt: skip


def edits(tree: Tree) -> list[Edit]:
    """All edits of a tree: by rank, and with the same rank in the order of the code."""
    found = [edit for place in places(tree) for kind in KINDS for edit in kind(place)]
    found += joint_edits.everywhere(found)
    return sorted(found, key=lambda edit: edit.rank)
