"""Reads the cells of a submission, without running them, for what a person has to look at.

Values are judged outside the process that runs a submission and cannot be forged. What the structure
of an answer is (bytes kept, operations used) is seen from inside that process, so code that reaches
into Python, torch or the checks could forge it. Such code gets no automatic points: it waits for a
person, with its line named. This is an allow-list, so code that does nothing wrong may wait as well;
it never makes a submission fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.grading.definition import MOST_MAGICS, count_magics
from autograder.grading.policy.magics import trees
from autograder.grading.policy.names import Names
from autograder.grading.policy.reader import Reader
from autograder.grading.policy.remarks import MODES
from autograder.grading.said import as_code

SIZE_LIMIT = 60_000  # characters a cell; the longest answer we know has 4 000
WHOLE_LIMIT = 400_000  # characters of all cells
MOST = 20  # concerns of one submission that are named
_BEYOND = "Beyond these"
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


def read_cells(
    cells: Sequence[tuple[str, str]], allowed_imports: Iterable[str] = ()
) -> list[Concern]:
    """What in these cells a person has to look at, in the order of the cells; [] for honest work.

    cells            (name for people, source) of every cell that runs and is not the lesson's own
    allowed_imports  dotted paths that are fine as well: what the instructor allows the class
    Never raises for what a cell contains.
    """
    names, allowed = Names(), frozenset(allowed_imports)
    concerns: list[Concern] = []
    readable = []
    size = magics = 0
    for cell, source in cells:
        size, magics = size + len(source), magics + count_magics(source)
        if magics > MOST_MAGICS:  # IPython reads a whole cell again for each
            concerns.append(Concern(cell, 1, "", "magics", "too many to be read here"))
            continue
        limit = SIZE_LIMIT if size <= WHOLE_LIMIT else 0
        if len(source) > limit:
            what = f"{len(source)} characters"
            concerns.append(Concern(cell, 1, "", what, "too long to be read here"))
            continue
        try:
            found = list(trees(source))
            for tree in found:
                names.read(tree.root)
        except Exception as error:  # whatever a cell provokes here, a person can still read it
            concerns.append(_unreadable(cell, error))
            continue
        readable.append((cell, source, found))
    has_mode = any(mode in source for _, source in cells for mode in MODES)
    reader = Reader(names, allowed, has_mode)
    for cell, source, found in readable:
        for tree in found:
            try:
                reader.read(tree.root, cell, source, tree.lines_before)
            except Exception as error:
                concerns.append(_unreadable(cell, error))
    reader.finish()
    concerns += [Concern(*remark) for remark in reader.remarks]
    order = {cell: i for i, (cell, _) in enumerate(cells)}
    concerns.sort(key=lambda c: (order[c.cell], c.line))
    kept = _without_repeats(concerns)
    if len(kept) <= MOST:
        return kept
    more = f"{len(kept) - MOST} more"  # nobody may think that the twenty are all there is
    return [*kept[:MOST], Concern(_BEYOND, 0, "", more, "read the whole notebook")]


def _unreadable(cell: str, error: Exception) -> Concern:
    """MemoryError and RecursionError are what deeply nested code provokes."""
    return Concern(cell, 1, "", type(error).__name__, "cannot be read, perhaps too deeply nested")


def _without_repeats(concerns: Iterable[Concern]) -> list[Concern]:
    """One concern for each thing in each cell: the first line that has it."""
    seen: set[tuple[str, ...]] = set()
    kept = []
    for concern in concerns:
        cut = concern.source if concern.what.endswith("…") else ""  # what alone says not all
        if (thing := (concern.cell, concern.what, cut)) not in seen:
            seen.add(thing)
            kept.append(concern)
    return kept
