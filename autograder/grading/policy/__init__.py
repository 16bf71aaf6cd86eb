"""Reads the cells of a submission, without running them, for what a person has to look at.

Values are judged outside the process that runs a submission and cannot be forged. What the structure
of an answer is (bytes kept, operations used) is seen from inside that process, so code that reaches
into Python, torch or the checks could forge it. Such code gets no automatic points: it waits for a
person, with its line named. This is an allow-list, so code that does nothing wrong may wait as well;
it never makes a submission fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.grading.policy.reader import Reader
from autograder.grading.safe_text import as_code
from autograder.learner.slice import Slice
from autograder.running.program import Piece

MOST = 20  # concerns of one submission that are named
_BEYOND = "Beyond these"
_CELL = re.compile(r"cell (\d+)")
_NAMED = re.compile(rf"(?:cell \d+(?: \([\w-]+\))?, line \d+|{_BEYOND}): ")


@dataclass(frozen=True)
class Concern:
    """One line that a person has to look at.

    cell    the cell's name for people, such as "cell 7 (sigmoid)"
    line    its line in the cell, from 1; 0 where no line is meant
    source  the text of that line
    what    what stands there: "import ctypes"
    why     what that can do
    """

    cell: str
    line: int
    source: str
    what: str
    why: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.cell}: {self.what} – {self.why}."
        shown = f" ({as_code(self.source)})" if self.source not in ("", self.what) else ""
        return f"{self.cell}, line {self.line}: {as_code(self.what)}{shown} – {self.why}."


def names_a_line(reason: str) -> bool:
    """Whether a reason to wait is a concern: code to be looked at, and no other trouble."""
    return _NAMED.match(reason) is not None


def named(concerns: Iterable[Concern]) -> list[Concern]:
    """Each once, in the order of the notebook, and not too many of them."""
    kept: dict[tuple[str, ...], Concern] = {}
    for concern in sorted(concerns, key=lambda c: (*_place(c.cell), c.line)):
        cut = concern.source if concern.what.endswith("…") else ""  # what alone says not all
        kept.setdefault((concern.cell, concern.what, cut), concern)
    first = list(kept.values())
    if len(first) <= MOST:
        return first
    more = f"{len(first) - MOST} more"  # nobody may think that the twenty are all there is
    return [*first[:MOST], Concern(_BEYOND, 0, "", more, "read the whole notebook")]


def concerns_in(one: Slice, allowed: Iterable[str] = ()) -> list[Concern]:
    """What in a slice a person has to look at; [] for honest work. Never raises for what it contains.

    allowed  dotted paths that are fine as well: what the instructor allows the class
    """
    return [*(Concern(*doubt) for doubt in one.doubts), *_concerns(one, frozenset(allowed))]


def _place(cell: str) -> tuple[int, str]:
    """Cells in the order of the notebook: "cell 7 (sigmoid)"."""
    found = _CELL.match(cell)
    return int(found[1]) if found else 0, cell


def _concerns(one: Slice, allowed: frozenset[str]) -> Iterator[Concern]:
    cell = ""
    try:
        trees: tuple[list[tuple[Piece, ast.Module]], ...] = [], []
        for piece in one.pieces:
            cell = piece.cell
            trees[cell in one.own].append((piece, piece.tree()))
        lesson, own = ([tree for _, tree in those] for those in trees)
        reader = Reader(lesson, own, allowed)
        for piece, tree in trees[True]:
            cell, reader.remarks = piece.cell, []
            reader.read(tree)
            for node, why in reader.remarks:
                line, what = getattr(node, "lineno", 1), ast.unparse(node).split("\n")[0]
                source = " ".join("".join(piece.text.splitlines()[line - 1 : line]).split())
                shown = what if len(what) <= 80 else what[:79] + "…"
                yield Concern(cell, line, source[:200], shown, why)
    except Exception as error:  # whatever a cell provokes here, a person can still read it
        # MemoryError and RecursionError are what deeply nested code provokes.
        why = "cannot be read, perhaps too deeply nested"
        yield Concern(cell, 1, "", type(error).__name__, why)
