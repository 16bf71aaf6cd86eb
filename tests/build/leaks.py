"""What a released notebook must not hold, and how solving must relate to it.

Each function takes notebooks and gives a list of sentences, empty where all is well, so that the
same rules are put to the real lessons and to planted faults. Text is compared as tokens: renaming a
marker, re-indenting or joining lines does not hide a leak.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from nbformat import NotebookNode

STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
# A run this long is no idiom any more: `(x,) = ctx.saved_tensors` and a return are shorter.
LONG_ENOUGH = 18
WORDS_OF_A_NOTE = 12

_REGION = re.compile(r"BEGIN (SOLUTION|HIDDEN TESTS)[^\n]*\n(.*?)\n[^\n]*END \1", re.S)
_TOKEN = re.compile(r"\w+|[^\w\s;#]")  # neither joining lines nor commenting them out hides them
_WORD = re.compile(r"[^\W\d_]{2,}")  # a note's formulas may well stand in the text, too
_COMMENT = re.compile(r"#[^\n]*")


def leaks(source: NotebookNode, released: NotebookNode) -> list[str]:
    """Where the released notebook holds a solution, a hidden test, a solution note or a marker.

    The whole file is searched, metadata and outputs included. Where a short answer (a line or two
    that a demonstration may well hold too) would be no proof, its own cell is still searched.
    """
    found = []
    whole = _tokens(_everything(released))
    words = _WORD.findall(_everything(released))
    cells = {cell.id: cell for cell in released.cells}
    for cell, kind, region in _regions(source):
        for run in _runs(_tokens(_COMMENT.sub("", region)), LONG_ENOUGH):
            if _holds(whole, run):
                found.append(f"{cell.id}: {kind.lower()} stands in the release: {' '.join(run)}")
                break
        own = _COMMENT.sub("", cells[cell.id].source) if cell.id in cells else ""
        if _holds(_tokens(own), _tokens(_COMMENT.sub("", region))):
            found.append(f"{cell.id}: its own cell still holds its {kind.lower()}")
    for cell in source.cells:
        if "solution-note" in cell.metadata.get("tags", []):
            runs = _runs(_WORD.findall(cell.source), WORDS_OF_A_NOTE)
            if any(_holds(words, run) for run in runs):
                found.append(f"{cell.id}: a solution note stands in the release")
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "END HIDDEN"):
        if marker in _everything(released):
            found.append(f"the marker {marker} stands in the release")
    return found


def changes_besides_adding(released: NotebookNode, solved: NotebookNode) -> list[str]:
    """Exercises whose solution does more than replace the stub's two lines by new ones."""
    found = []
    answers = {cell.id: cell for cell in solved.cells}
    for cell in released.cells:
        role = cell.metadata.get("nbgrader", {})
        if not role.get("solution") or "repair" in cell.metadata.get("tags", []):
            continue
        lines = [line for line in cell.source.splitlines() if line.strip() not in STUB]
        if len(lines) == len(cell.source.splitlines()):
            found.append(f"{cell.id}: nothing in it says where to write")
        remaining = iter(answers[cell.id].source.splitlines())
        if not all(line in remaining for line in lines):
            found.append(f"{cell.id}: solving it changes lines that are not the stub's")
    return found


def _regions(source: NotebookNode) -> Iterator[tuple[NotebookNode, str, str]]:
    for cell in source.cells:
        for match in _REGION.finditer(cell.source):
            yield cell, match[1], match[2]


def _everything(notebook: NotebookNode) -> str:
    """All text of a notebook as it reads, not as JSON escapes it."""
    texts: list[str] = []

    def collect(value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                collect(key)
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)
        else:
            texts.append(str(value))

    collect(json.loads(json.dumps(notebook)))
    return "\n".join(texts)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _runs(tokens: list[str], length: int) -> Iterator[list[str]]:
    for start in range(len(tokens) - length + 1):
        yield tokens[start : start + length]


def _holds(tokens: list[str], run: list[str]) -> bool:
    """Whether `run` stands somewhere in `tokens`, one token after the other."""
    if not run:
        return False
    joined = "\x00".join(["", *tokens, ""])
    return "\x00".join(["", *run, ""]) in joined
