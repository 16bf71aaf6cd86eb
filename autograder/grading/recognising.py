"""Knows a lesson's cells by what stands in them, and a lesson's notebook by the cells it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nbformat import NotebookNode

# Read by its looks: an answer with a syntax error is still the answer to its exercise.
_DEFINED = re.compile(r"^(?:class|def)[ \t]+(\w+)", re.M)
_REMOVED = re.compile(
    r"^[ \t]*### BEGIN (HIDDEN TESTS|SOLUTION|START)\n.*?^[ \t]*### END \1[ \t]*(?:\n|\Z)",
    re.M | re.S,
)

_ID = re.compile(rb'id"\s*:\s*"([A-Za-z0-9_-]{1,64})"')  # "id" and "grade_id", as JSON has them
MUCH, LITTLE = 0.3, 0.1  # shares of a lesson's own cells
FEWEST = 3  # cells by which a lesson is known
SHORTEST = 40  # characters of a text that stands in no notebook by chance


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


@dataclass(frozen=True)
class Lessons:
    """Which lesson a notebook is of: by names of cells, and where it has none, by what stands in them.

    files  each lesson's notebook as bytes, by the lesson's name
    texts  gives the texts of a notebook's cells; none for what cannot be read
    """

    files: Mapping[str, bytes]
    texts: Callable[[bytes], Iterable[str]]

    def of(self, data: bytes) -> str:
        """The lesson that a notebook plainly is of; "" for one of several lessons, or of none.

        It has a good share of the cells that only this lesson has, and next to none of another's.
        """
        found = _ids(data)
        if not found.isdisjoint(self._every_id):
            return _plainly(found, self._own_ids)
        return _plainly(_long(self.texts(data)), self._own_texts)

    @cached_property
    def _every_id(self) -> frozenset[str]:
        return frozenset().union(*map(_ids, self.files.values()))

    @cached_property
    def _own_ids(self) -> dict[str, frozenset[str]]:
        return _only_there({name: _ids(data) for name, data in self.files.items()})

    @cached_property
    def _own_texts(self) -> dict[str, frozenset[str]]:
        return _only_there({name: _long(self.texts(data)) for name, data in self.files.items()})


def _ids(data: bytes) -> frozenset[str]:
    return frozenset(found.decode("ascii") for found in _ID.findall(data))


def _long(texts: Iterable[str]) -> frozenset[str]:
    released = (_REMOVED.sub("", text).strip() for text in texts)
    return frozenset(text for text in released if len(text) >= SHORTEST)


def _only_there(found: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """What only one of the lessons has."""
    seen = Counter(one for each in found.values() for one in each)
    return {name: frozenset(o for o in each if seen[o] == 1) for name, each in found.items()}


def _plainly(found: frozenset[str], own: Mapping[str, frozenset[str]]) -> str:
    shares = {name: len(found & each) / len(each) for name, each in own.items() if each}
    much = [n for n, share in shares.items() if share >= MUCH and len(found & own[n]) >= FEWEST]
    little = sum(share < LITTLE for share in shares.values())
    return much[0] if len(much) == 1 and little == len(shares) - 1 else ""
