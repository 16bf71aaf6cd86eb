"""Joins three versions of a notebook cell by cell: git runs it for each that the learner and the course both changed.

git alone merges lines, which can mix two versions inside one cell or break the notebook's JSON.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat

Metadata = dict[str, Any]


def main(before: str, yours: str, course: str, path: str, backup: str) -> None:
    """Write into the file ``yours`` what came of it, and into the backup what a person has to know."""
    old, mine, new = (Path(version).read_bytes() for version in (before, yours, course))
    joined, both_changed = joined_cells(old, mine, new)
    kept = Path(backup, "course-version", path)
    if joined is None or both_changed:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(new)
    words = f"{path} was joined with what you did there."
    if joined is None:
        words = (
            f"{path} could not be joined with the new version: yours stayed as it was.\n"
            f"  The course's version is {kept}"
        )
    elif both_changed:
        words = (
            f"In {path} you and the course changed the same cell: {', '.join(both_changed)}.\n"
            f"  Yours stayed. The course's is in {kept}"
        )
    Path(yours).write_bytes(mine if joined is None else joined)
    with Path(backup, "joined.txt").open("a", encoding="utf-8") as told:
        print(words, file=told)


def joined_cells(
    before: bytes, yours: bytes, course: bytes
) -> tuple[bytes | None, tuple[str, ...]]:
    """All three cell by cell, as Jupyter would save it, and the ids of cells where the learner's version won.

    A cell is one thing: what the learner changed stays the learner's, everything else is the course's.
    None for what is no notebook whose cells can be told apart.
    """
    versions = [_notebook(one) for one in (before, yours, course)]
    if not all(versions):
        return None, ()
    old, mine, here = ({cell["id"]: cell for cell in v["cells"]} for v in versions)
    cells, both_changed = [], []
    for name, cell in here.items():
        was, own = old.get(name), mine.get(name)
        news = _text(cell) != _text(was)
        if own is not None:
            changed = _text(own) != _text(was)
            if changed and news and _text(own) != _text(cell):
                both_changed.append(name)
            metadata = _joined((was or {}).get("metadata", {}), own["metadata"], cell["metadata"])
            cells.append({**(own if changed or not news else cell), "metadata": metadata})
        elif was is None or news:  # what the learner deleted stays deleted
            cells.append(cell)
    place = 0
    for name, cell in mine.items():
        if name in here:
            place = 1 + next(i for i, known in enumerate(cells) if known["id"] == name)
        # Cells that only the learner has: added, or changed before the course dropped them.
        elif _text(cell) != _text(old.get(name)):
            cells.insert(place, cell)
            place += 1
    whole = _joined(*(version.get("metadata", {}) for version in versions))
    made = nbformat.from_dict({**versions[-1], "metadata": whole, "cells": cells})
    written = nbformat.writes(made) + "\n"
    return written.encode("utf-8", errors="surrogatepass"), tuple(both_changed)


def _notebook(content: bytes) -> Any:
    """The notebook in a file; None if it is not a notebook whose cells can be told apart."""
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        ids = {cell.id: _text(cell) for cell in notebook.cells}
    except (ValueError, AttributeError, TypeError):
        return None
    return notebook if len(ids) == len(notebook.cells) else None


def _text(cell: Any) -> tuple[str, str] | None:
    """What a person would call the cell: its kind and its text."""
    return None if cell is None else (cell.cell_type, cell.source)


def _joined(base: Metadata, learner: Metadata, course: Metadata) -> Metadata:
    """The learner's metadata, with what the course changed, added or took away."""
    news = {key: value for key, value in course.items() if value != base.get(key)}
    both = {**learner, **news}
    return {key: value for key, value in both.items() if key in course or key not in base}


if __name__ == "__main__":
    main(*sys.argv[1:])
