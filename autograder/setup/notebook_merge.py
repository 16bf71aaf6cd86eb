"""Joins a learner's notebook and a new version of it, cell by cell.

git merges lines, which can mix two versions inside one cell or break the notebook's JSON. Here a
cell is one thing: what the learner changed stays the learner's, everything else is the course's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Cell = dict[str, Any]
Notebook = dict[str, Any]
Metadata = dict[str, Any]
CellsById = Mapping[str, Cell]


@dataclass(frozen=True)
class Merge:
    """A joined notebook. `both_changed` are the ids of cells where the learner's version won."""

    notebook: Notebook
    both_changed: tuple[str, ...]


def read_notebook(content: bytes | None) -> Notebook | None:
    """The notebook in a file; None if it is not a notebook whose cells can be told apart."""
    try:
        notebook = json.loads(content or b"")
    except ValueError:
        return None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        return None
    cells = notebook["cells"]
    if not all(isinstance(cell, dict) and is_cell(cell) for cell in cells):
        return None
    ids = [cell["id"] for cell in cells]
    return notebook if len(ids) == len(set(ids)) else None


def is_cell(cell: Cell) -> bool:
    """Whether a cell has what every cell must have (and, if it holds code, its outputs)."""
    source = cell.get("source")
    return (
        cell.get("cell_type") in ("code", "markdown", "raw")
        and isinstance(cell.get("id"), str)
        and isinstance(cell.get("metadata"), dict)
        and isinstance(source, (str, list))
        and (cell["cell_type"] != "code" or isinstance(cell.get("outputs"), list))
    )


def write_notebook(notebook: Notebook) -> bytes:
    """The notebook as Jupyter itself would save it."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    return (text + "\n").encode("utf-8", errors="surrogatepass")


def text_of(cell: Cell | None) -> tuple[str, str] | None:
    """What a person would call the cell: its kind and its text."""
    return None if cell is None else (cell["cell_type"], "".join(cell["source"]))


def join_metadata(base: Metadata, learner: Metadata, course: Metadata) -> Metadata:
    """The learner's metadata, with what the course changed, added or took away."""
    news = {key: value for key, value in course.items() if value != base.get(key)}
    joined = {**learner, **news}
    return {key: value for key, value in joined.items() if key in course or key not in base}


def join_cells(base: Cell | None, learner: Cell, course: Cell) -> tuple[Cell, bool]:
    """The cell to keep, and whether the learner's version won over a change of the course."""
    old_metadata = base["metadata"] if base else {}
    metadata = join_metadata(old_metadata, learner["metadata"], course["metadata"])
    learner_changed = text_of(learner) != text_of(base)
    course_changed = text_of(course) != text_of(base)
    if course_changed and not learner_changed:
        return {**course, "metadata": metadata}, False
    differ = text_of(learner) != text_of(course)
    return {**learner, "metadata": metadata}, learner_changed and course_changed and differ


def kept_cells(
    base: Mapping[str, Cell], learner: Mapping[str, Cell], course: Notebook
) -> list[Cell]:
    """The course's cells, without those that the learner deleted and the course left alone."""
    return [
        cell
        for cell in course["cells"]
        if cell["id"] in learner
        or cell["id"] not in base
        or text_of(cell) != text_of(base[cell["id"]])
    ]


def own_cells(
    base: Mapping[str, Cell], learner: Notebook, course: Mapping[str, Cell]
) -> list[Cell]:
    """Cells that only the learner has: added, or changed before the course dropped them."""
    return [
        cell
        for cell in learner["cells"]
        if cell["id"] not in course and text_of(cell) != text_of(base.get(cell["id"]))
    ]


def by_id(notebook: Notebook) -> dict[str, Cell]:
    """The cells of a notebook, found by their ids."""
    return {cell["id"]: cell for cell in notebook["cells"]}


def insert_after_neighbour(cells: list[Cell], cell: Cell, order: list[str]) -> None:
    """Put cell into cells behind the nearest cell that came before it in `order` (of ids)."""
    places = {known["id"]: place for place, known in enumerate(cells)}
    before = reversed(order[: order.index(cell["id"])])
    nearest = next((places[name] for name in before if name in places), -1)
    cells.insert(nearest + 1, cell)


def merge_notebooks(base: Notebook, learner: Notebook, course: Notebook) -> Merge:
    """The course's new notebook with everything the learner did to the old one, `base`."""
    base_cells, learner_cells, course_cells = by_id(base), by_id(learner), by_id(course)
    cells, both_changed = [], []
    for cell in kept_cells(base_cells, learner_cells, course):
        name = cell["id"]
        if name in learner_cells:
            cell, learner_won = join_cells(base_cells.get(name), learner_cells[name], cell)
            if learner_won:
                both_changed.append(name)
        cells.append(cell)
    order = [cell["id"] for cell in learner["cells"]]
    for cell in own_cells(base_cells, learner, course_cells):
        insert_after_neighbour(cells, cell, order)
    metadata = join_metadata(*(version.get("metadata", {}) for version in (base, learner, course)))
    return Merge({**course, "metadata": metadata, "cells": cells}, tuple(both_changed))
