"""From a lesson's .py file to the notebook nbgrader calls the source: stable ids, full metadata."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
from nbformat import NotebookNode

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
NBGRADER_DEFAULTS = {
    "grade": False,
    "solution": False,
    "locked": False,
    "task": False,
    "schema_version": 3,
}
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
SOLUTION_NOTE = "solution-note"


class BuildError(Exception):
    """What is wrong with a lesson, in a sentence that says where and what to do."""


@dataclass(frozen=True)
class Lesson:
    """A lesson as it was read: its name, its source notebook, and the digest of its file."""

    name: str
    notebook: NotebookNode
    digest: str

    @property
    def has_exercises(self) -> bool:
        """Whether this lesson is an nbgrader assignment; the start page, for one, is not."""
        return any(cell.metadata.get("nbgrader", {}).get("grade") for cell in self.notebook.cells)


def read_lessons(folder: Path) -> list[Lesson]:
    """All lessons of the folder, in order. Raises BuildError if there is none, or one is wrong."""
    paths = sorted(folder.glob("[0-9][0-9]_*.py"))
    if not paths:
        raise BuildError(f"There is no lesson in {folder}: they are named like 01_template.py.")
    return [read_lesson(path) for path in paths]


def read_lesson(path: Path) -> Lesson:
    """Read one jupytext percent file. Raises BuildError for a cell the grader could not place."""
    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    seen: set[str] = set()
    for cell in notebook.cells:
        for key in [key for key in cell.metadata if key.startswith("lines_to_")]:
            del cell.metadata[key]  # jupytext's own notes on blank lines
        _complete_nbgrader(cell, path.stem, seen)
    _set_cell_ids(notebook, path.stem)
    digest = hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()
    return Lesson(path.stem, notebook, digest)


def is_solution_note(cell: NotebookNode) -> bool:
    """Whether this cell belongs to solutions/ only."""
    return SOLUTION_NOTE in cell.metadata.get("tags", [])


def _complete_nbgrader(cell: NotebookNode, lesson: str, seen: set[str]) -> None:
    """Fill in nbgrader's defaults; every code cell needs a grade_id that no other cell has."""
    given = cell.metadata.get("nbgrader")
    if given is None:
        if cell.cell_type == "code":
            raise BuildError(
                f"{lesson}: this code cell has no grade_id, so the grader could not tell whose it "
                f'is. Write `# %% nbgrader={{"grade_id": "demo-…", "locked": true}}` above it:\n\n'
                + _first_lines(cell)
            )
        return
    grade_id = str(given.get("grade_id", ""))
    if not CELL_ID.fullmatch(grade_id):
        raise BuildError(
            f"{lesson}: the grade_id {grade_id!r} is not a name of 1 to 64 letters, digits, "
            f"- and _:\n\n{_first_lines(cell)}"
        )
    if grade_id in seen:
        raise BuildError(f"{lesson}: two cells have the grade_id {grade_id!r}; rename one.")
    seen.add(grade_id)
    cell.metadata["nbgrader"] = NotebookNode({**NBGRADER_DEFAULTS, **given})


def _set_cell_ids(notebook: NotebookNode, lesson: str) -> None:
    """Give every cell an id that a rebuild gives again: jupytext invents new ones on each read.

    A code cell is called as its grade_id. A text cell is called after the code cell above it and
    counted from there, solution notes apart, so that editing a text changes no id and adding one
    renames only its neighbours.
    """
    above, counts = "top", {"text": 0, "note": 0}
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id:
            cell["id"], above, counts = grade_id, grade_id, {"text": 0, "note": 0}
            continue
        kind = "note" if is_solution_note(cell) else "text"
        counts[kind] += 1
        cell["id"] = f"{above[:50]}--{kind}-{counts[kind]}"
    ids = [cell["id"] for cell in notebook.cells]
    twice = {one for one in ids if ids.count(one) > 1}
    if twice:
        raise BuildError(f"{lesson}: the cell ids {sorted(twice)} are not unique; rename a cell.")


def _first_lines(cell: NotebookNode) -> str:
    return "\n".join("    " + line for line in cell.source.splitlines()[:3])
