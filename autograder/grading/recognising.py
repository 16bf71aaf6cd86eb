"""Knows the lesson's cells by what stands in them, where a notebook has lost all that named them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

# Read by its looks: an answer with a syntax error is still the answer to its exercise.
_DEFINED = re.compile(r"^(?:class|def)[ \t]+(\w+)", re.M)
_REMOVED = re.compile(
    r"^[ \t]*### BEGIN (HIDDEN TESTS|SOLUTION|START)\n.*?^[ \t]*### END \1[ \t]*(?:\n|\Z)",
    re.M | re.S,
)


def by_text(
    cells: Iterable[NotebookNode], lesson: Iterable[NotebookNode], roles: Mapping[str, Any]
) -> dict[str, NotebookNode]:
    """Which cells are the lesson's own, by grade_id.

    A cell to fill in is one that defines what the lesson's defines; any other has the text that
    learners got. Of several the last is meant. What stands twice in the lesson is not known so.
    """
    texts: dict[tuple[str, str], str] = {}
    defined: dict[str, frozenset[str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for cell in lesson:
        name = str((cell.metadata.get("nbgrader") or {}).get("grade_id"))
        if name not in roles:
            continue
        if roles[name].get("solution"):
            defined[name] = frozenset(_DEFINED.findall(_released(cell)))
        else:
            texts[_text(cell)] = name
            seen[_text(cell)] += 1
    found: dict[str, NotebookNode] = {}
    for cell in cells:
        text = _text(cell)
        if seen[text] == 1:
            found[texts[text]] = cell
        elif cell.cell_type == "code" and not seen[text]:
            here = set(_DEFINED.findall(cell.source))
            for name, wanted in defined.items():
                if wanted and wanted <= here:
                    found[name] = cell
                    break
    return found


def _released(cell: NotebookNode) -> str:
    return _REMOVED.sub("", cell.source)


def _text(cell: NotebookNode) -> tuple[str, str]:
    return cell.cell_type, _released(cell).strip()
