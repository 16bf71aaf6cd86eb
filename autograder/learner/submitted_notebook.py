"""Reads what was handed in, whatever it is, says which lesson it is of, and puts the lesson's own cells back in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.learner.lesson import Lesson, grade_id_of
from autograder.observation.packing import writable

LARGEST = 64 * 2**20  # bytes of a notebook file; released ones have about 100 kB
MOST_CELLS = 5000
_ENCODINGS = ("utf-8-sig", "utf-16", "latin-1")

# Read by its looks: an answer with a syntax error is still the answer to its exercise.
_DEFINED = re.compile(r"^(?:class|def)[ \t]+(\w+)", re.M)
_MARK = re.compile(r"[ \t]*### (BEGIN|END) (HIDDEN TESTS|SOLUTION|START)([ \t]*)")

_FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")


class UnreadableNotebook(ValueError):
    """A file that is no notebook; the message says what it is, for the person who looks."""


def read_notebook(data: bytes) -> NotebookNode:
    """The notebook in a file's bytes, in format 4 whatever it was. Raises UnreadableNotebook."""
    if not data.strip():
        raise UnreadableNotebook("The file is empty.")
    if len(data) > LARGEST:
        raise UnreadableNotebook(f"The file has {len(data) / 1e6:.0f} million bytes.")
    found = _json(data)
    if not isinstance(found, dict) or type(found.get("nbformat")) is not int:
        raise UnreadableNotebook("The file is no Jupyter notebook (it has no nbformat).")
    if found["nbformat"] != 4:
        try:
            # As a file it has its text in lines, which converting does not expect.
            minor = found.get("nbformat_minor", 0)
            whole = nbformat.versions[found["nbformat"]].to_notebook_json(found, minor=minor)
            found = nbformat.convert(whole, 4)
        except Exception as error:  # old notebooks can be damaged in many ways
            raise UnreadableNotebook(
                f"The notebook is in format {found['nbformat']} and cannot be brought to format 4."
            ) from error
    cells = found.get("cells")
    if not isinstance(cells, list):
        raise UnreadableNotebook("The notebook has no list of cells.")
    if len(cells) > MOST_CELLS:
        raise UnreadableNotebook(f"The notebook has {len(cells)} cells.")
    kept = [_cell(cell) for cell in cells if isinstance(cell, dict)]
    metadata = _plain(found.get("metadata"))
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=kept)


def _json(data: bytes) -> Any:
    for encoding in _ENCODINGS:
        try:
            return json.loads(data.decode(encoding))
        except (ValueError, RecursionError):  # a number of 5 000 digits is a ValueError, too
            continue
    raise UnreadableNotebook("The file is no JSON: it was cut short, or it is something else.")


def _plain(given: Any) -> NotebookNode:
    """A dict as notebooks have it; an empty one for anything else, and for what is nested too deeply."""
    try:
        return NotebookNode(nbformat.from_dict(given if isinstance(given, dict) else {}))
    except RecursionError:
        return NotebookNode()


def _cell(given: dict[str, Any]) -> NotebookNode:
    """A cell with nothing in it but text of the right kind, and what was to be seen below it."""
    kind, source = given.get("cell_type"), _joined(given.get("source"))
    cell = NotebookNode(cell_type=kind if kind in ("code", "raw") else "markdown", source=source)
    if kind == "code":
        cell.outputs, cell.execution_count = seen_below(given.get("outputs")), None
    elif isinstance(given.get("attachments"), dict):
        cell.attachments = _plain(given["attachments"])
    cell.metadata = _plain(given.get("metadata"))
    if isinstance(given.get("id"), str):
        cell.id = given["id"]
    return cell


def _joined(given: Any) -> str:
    """A text as it can be written to a file, which may have it in lines."""
    parts = given if isinstance(given, list) else [given]
    return writable("".join(part for part in parts if isinstance(part, str)))


def restore(notebook: NotebookNode, lesson: Lesson) -> None:
    """Say anew which cells are the lesson's, and have its text in all that are not to be filled in.

    Lost metadata (editors drop it) is found again by the cell's id, and where ids are lost as well
    by what stands in the cell; a cell that was copied keeps its role once, in its last copy, as
    nbgrader has it; a cell the lesson does not know has none. Graded cells that are missing come back,
    behind the cell of the lesson that stands before them there.
    """
    ours: dict[str, NotebookNode] = {}
    for name_of in (grade_id_of, _cell_id):
        known = {id(cell) for cell in ours.values()}
        named = {name_of(cell): cell for cell in notebook.cells if id(cell) not in known}
        ours = {name: cell for name, cell in named.items() if name in lesson.roles} | ours
    if not ours:
        ours = by_text(notebook.cells, lesson.notebook.cells, lesson.roles)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    place = 0
    for name, original in lesson.cells.items():
        if cell := ours.get(name):
            place = next(i for i, one in enumerate(notebook.cells) if one is cell)
            notebook.cells[place] = _as_in_lesson(original, lesson.roles[name], cell)
            place += 1
        elif name in lesson.graded:
            notebook.cells.insert(place, _as_in_lesson(original, lesson.roles[name], None))
            place += 1
    _give_ids(notebook)


def _cell_id(cell: NotebookNode) -> str:
    return str(cell.get("id") or "")


def _as_in_lesson(original: NotebookNode, role: Any, given: NotebookNode | None) -> NotebookNode:
    """A cell as the lesson has it; with what a learner wrote where it is to be filled in (and saw, below code)."""
    made = nbformat.from_dict(original)
    made.metadata = nbformat.from_dict({"nbgrader": role})
    is_code = made.cell_type == "code"
    if given is None:
        words = f"This cell (id:{role.grade_id}) was missing from the submission. It was added back by nbgrader."
        made.source = f"{'# ' if is_code else ''}{words}\n\n{made.source}"
        return NotebookNode(made)
    made.id = given.get("id", "")
    if is_code:
        made.outputs, made.execution_count = given.get("outputs", []), None
    elif "attachments" in given:
        made.attachments = given.attachments
    if not (role.get("locked") or (role.get("grade") and not role.get("solution"))):
        made.source = given.source
    return NotebookNode(made)


def _give_ids(notebook: NotebookNode) -> None:
    """An id for each cell, once each, as the notebook format wants it."""
    used: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        given, spare = _cell_id(cell), (f"cell-{number}{'-again' * more}" for more in count())
        while not _FITS.fullmatch(given) or given in used:
            given = next(spare)
        used.add(given)
        cell.id = given


def by_text(
    cells: Iterable[NotebookNode], lesson: Iterable[NotebookNode], roles: Mapping[str, Any]
) -> dict[str, NotebookNode]:
    """Which cells are the lesson's own, by grade_id.

    A cell to fill in is one that defines what the lesson's defines; any other has the text that
    learners got. Of several the last is meant. What stands twice in the lesson is not known so.
    """
    defined: dict[str, frozenset[str]] = {}
    texts: dict[tuple[str, str], list[str]] = {}
    for cell in lesson:
        name = grade_id_of(cell)
        if name in roles and roles[name].get("solution"):
            defined[name] = frozenset(_DEFINED.findall(released(cell.source)))
        elif name in roles:
            texts.setdefault(_text(cell), []).append(name)
    found: dict[str, NotebookNode] = {}
    for cell in cells:
        here = set(_DEFINED.findall(cell.source)) if cell.cell_type == "code" else set()
        solves = [name for name, wanted in defined.items() if wanted and wanted <= here]
        names = texts.get(_text(cell), solves[:1])
        if len(names) == 1:
            found[names[0]] = cell
    return found


def released(text: str) -> str:
    """The text without what stands between BEGIN and END of one kind, which a release leaves out."""
    kept: list[str] = []
    removed: list[str] = []  # since a BEGIN; they come back where no END of its kind follows
    kind = ""
    for line in text.split("\n"):
        mark = _MARK.fullmatch(line)
        if kind:
            removed.append(line)
            if mark and (mark[1], mark[2]) == ("END", kind):
                removed, kind = [], ""
        elif mark and mark[1] == "BEGIN" and not mark[3]:
            removed, kind = [line], mark[2]
        else:
            kept.append(line)
    return "\n".join(kept + removed)


def _text(cell: NotebookNode) -> tuple[str, str]:
    return cell.cell_type, released(cell.source).strip()


# ---- which lesson it is of -----------------------------------------------------------------------

MOST_TO_RECOGNISE = 4 * 2**20  # bytes of a notebook whose texts are compared with the lessons'
_ID = re.compile(rb'id"\s*:\s*"([A-Za-z0-9_-]{1,64})"')  # "id" and "grade_id", as JSON has them
MUCH, LITTLE = 0.3, 0.1  # shares of what only a lesson has
FEWEST = 5  # names and texts by which a lesson is known: of two cells it is not
SHORTEST = 40  # characters of a text that stands in no notebook by chance


@dataclass(frozen=True)
class Lessons:
    """Which lesson a notebook is of: by names of cells and by what stands in them, whichever it has kept.

    files  each lesson's notebook as bytes, by the lesson's name
    """

    files: Mapping[str, bytes]

    def of(self, data: bytes) -> str:
        """The lesson that a notebook plainly is of; "" for one of several lessons, or of none.

        It has a good share of what only this lesson has, and next to nothing of another's.
        """
        has = _marks(data)
        found = {name: len(has & own) for name, own in self._own.items()}
        shares = {name: found[name] / len(own) for name, own in self._own.items() if own}
        seen = [name for name, share in shares.items() if share >= LITTLE]
        known = [name for name in seen if shares[name] >= MUCH and found[name] >= FEWEST]
        return known[0] if known == seen and len(known) == 1 else ""

    @cached_property
    def _own(self) -> dict[str, frozenset[str]]:
        """What only one of the lessons has."""
        marks = {name: _marks(data) for name, data in self.files.items()}
        count = Counter(mark for each in marks.values() for mark in each)
        return {name: frozenset(m for m in each if count[m] == 1) for name, each in marks.items()}


def _marks(data: bytes) -> frozenset[str]:
    """The names of a notebook's cells, and their long texts; no texts of what is no notebook, or a large one."""
    names, texts = {found.decode("ascii") for found in _ID.findall(data)}, set[str]()
    if len(data) <= MOST_TO_RECOGNISE:
        with suppress(UnreadableNotebook):
            texts = {released(cell.source).strip() for cell in read_notebook(data).cells}
    return frozenset(names | {text for text in texts if len(text) >= SHORTEST})


# ---- what a learner saw below a cell: nothing of it runs again -----------------------------------

MOST_SEEN = 20_000  # characters of text below a cell that are kept for who reads it
LARGEST_SEEN = 2_000_000  # characters of a picture


def seen_below(outputs: Any) -> list[NotebookNode]:
    """What a learner saw below a cell, as text and pictures: nothing in it can act."""
    kept: list[NotebookNode] = []
    left = MOST_SEEN
    for given in outputs[:100] if isinstance(outputs, list) else ():
        if not isinstance(given, dict) or left <= 0:
            continue
        if given.get("output_type") == "error":
            text = f"{_joined(given.get('ename'))}: {_joined(given.get('evalue'))}"
        else:
            data = given.get("data")
            data = data if isinstance(data, dict) else {}
            picture = data.get("image/png")
            if isinstance(picture, str) and len(picture) <= LARGEST_SEEN and len(kept) < 20:
                kept.append(output_of("display_data", data={"image/png": picture}))
                continue
            text = _joined(given.get("text", data.get("text/plain")))
        if text:
            kept.append(output_of("stream", name="stdout", text=text[:left].rstrip("\n") + "\n"))
            left -= len(text)
    return kept


def output_of(kind: str, **fields: Any) -> NotebookNode:
    """An output as nbformat makes it, which compares each with a schema: a tenth of a submission's time."""
    metadata: dict[str, Any] = (
        {"metadata": {}} if kind in ("display_data", "execute_result") else {}
    )
    return NotebookNode(nbformat.from_dict({"output_type": kind, **metadata, **fields}))
