"""Files that are handed in as notebooks: damaged, hostile, old, or saved by an odd editor."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nbformat

from tests.grading.attacks.lesson import RIGHT, Cell, as_file, code, handed_in, notebook

Change = Callable[[Cell], Any]


def right() -> Cell:
    return handed_in(RIGHT)


def changed(change: Change) -> bytes:
    """A right notebook with something done to it."""
    made = right()
    change(made)
    return as_file(made)


def deep(levels: int, inside: Any = 0) -> Any:
    for _ in range(levels):
        inside = {"a": [inside]}
    return inside


def _deep_json(levels: int) -> bytes:
    return b'{"nbformat": 4, "cells": ' + b"[" * levels + b"]" * levels + b"}"


def as_version(version: int) -> bytes:
    made = nbformat.convert(nbformat.from_dict(right()), version)
    return nbformat.writes(made, version=nbformat.NO_CONVERT).encode()


# ---- what is no notebook -----------------------------------------------------------------------
UNREADABLE: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b"  \n\t\n",
    "cut short": as_file(right())[:-400],
    "noise": bytes(range(256)) * 40,
    "a page": b"<!doctype html><title>01_two</title>",
    "an archive": b"PK\x03\x04" + bytes(200),
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "Python": RIGHT["Square"].encode(),
    "a list": b"[]",
    "a number": b"4",
    "text": b'"nbformat"',
    "null": b"null",
    "no format": b'{"cells": []}',
    "a format that is text": b'{"nbformat": "4", "cells": []}',
    "a format of the future": b'{"nbformat": 99, "nbformat_minor": 0, "cells": []}',
    "a format before the first": b'{"nbformat": -1, "nbformat_minor": 0, "cells": []}',
    "a format that is true": b'{"nbformat": true, "cells": []}',
    "a format that is endless": b'{"nbformat": 1e999, "cells": []}',
    "no cells": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    "cells that are no list": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": {"0": {}}}',
    "too many cells": as_file(notebook([code("")] * 5001)),
    "deep": _deep_json(100_000),
    "old and damaged": b'{"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [7]}]}',
    "old and deep": b'{"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [], "x": '
    + b'{"a":' * 800 + b"1" + b"}" * 800 + b"}]}",
    "a number that is too long": b'{"nbformat": 4, "cells": [], "x": ' + b"9" * 5000 + b"}",
    "a key that is too long": b'{"nbformat": 4, "cells": 7, "' + b"x" * 10**7 + b'": 1}',
}  # fmt: skip


# ---- right answers in an odd file: all points stay --------------------------------------------
def _on_cells(change: Change) -> bytes:
    def on_all(made: Cell) -> None:
        for cell in made["cells"]:
            change(cell)

    return changed(on_all)


def _append(*cells: Any) -> bytes:
    return changed(lambda made: made["cells"].extend(cells))


def _prepend(*cells: Any) -> bytes:
    return changed(lambda made: made["cells"].__setitem__(slice(0, 0), cells))


def _roles(change: Change) -> bytes:
    return _on_cells(lambda cell: change(cell["metadata"].get("nbgrader", {})))


def _with_comment(text: str, encoding: str) -> bytes:
    made = handed_in(RIGHT, before=[f"# {text}"])
    return json.dumps(made, ensure_ascii=False).encode(encoding)


ODD: dict[str, bytes] = {
    "UTF-8 with a mark": _with_comment("σ′", "utf-8-sig"),
    "UTF-16": _with_comment("σ′", "utf-16"),
    "Latin 1": _with_comment("naïve", "latin-1"),
    "Windows line ends": as_file(right()).replace(b"\\n", b"\\r\\n"),
    "format 3": as_version(3),
    "a minor version of the future": changed(lambda made: made.update(nbformat_minor=99)),
    "a minor version that is text": changed(lambda made: made.update(nbformat_minor="five")),
    "no metadata at all": _on_cells(lambda cell: cell.pop("metadata")),
    "no roles": _on_cells(lambda cell: cell["metadata"].clear()),
    "no ids": _on_cells(lambda cell: cell.pop("id")),
    "ids that are numbers": _on_cells(lambda cell: cell.update(id=7)),
    "the same id everywhere": _on_cells(lambda cell: cell.update(id="same")),
    "ids that are paths": _on_cells(lambda cell: cell.update(id="../../../etc/passwd")),
    "lines as a list": _on_cells(lambda cell: cell.update(source=cell["source"].splitlines(True))),
    "metadata of other kinds": changed(lambda made: made.update(metadata=["kernelspec"])),
    "a kernel of another kind": changed(lambda made: made.update(metadata={"kernelspec": 7, "language_info": None})),
    "roles of other kinds": _append({"cell_type": "code", "source": "", "metadata": {"nbgrader": ["x"]}}),
    "a name of another kind": _append({"cell_type": "code", "source": "", "metadata": {"nbgrader": {"grade_id": {"a": 1}}}}),
    "points that are no number": _roles(lambda role: role.update(points=float("nan"))),
    "points without end": _roles(lambda role: role.update(points=float("inf"))),
    "points that are text": _roles(lambda role: role.update(points="1000")),
    "an old scheme": _roles(lambda role: role.update(schema_version=1)),
    "a scheme of the future": _roles(lambda role: role.update(schema_version=99)),
    "cells that are no cells": _append(None, 7, "text", [], {}),
    "cells of no kind": _append({"cell_type": None, "source": "x"}, {"source": "y"}, {"cell_type": ["code"]}),
    "cells without text": _append({"cell_type": "code"}, {"cell_type": "code", "source": None}, {"cell_type": "markdown", "source": 7}),
    "lines that are no text": _append({"cell_type": "code", "source": [1, None, "pass", []]}),
    "half characters": _append({"cell_type": "code", "source": "# \ud800", "metadata": {"\udfff": "\ud800"}}, {"cell_type": "markdown", "source": "\udc00"}),
    "a null character": _append(code("# \0"), {"cell_type": "markdown", "source": "\0"}),
    "outputs of other kinds": _on_cells(lambda cell: cell.update(outputs=7, execution_count="many")),
    "large outputs": _on_cells(lambda cell: cell.update(outputs=[{"output_type": "stream", "name": "stdout", "text": "x" * 10**6}])),
    "attachments of other kinds": _append({"cell_type": "markdown", "source": "x", "attachments": {"a": 7, "b": {"image/png": {}}, "c": []}}),
    "attachments that are text": _append({"cell_type": "markdown", "source": "x", "attachments": "a.png"}),
    "deep metadata of a cell": _append({"cell_type": "code", "source": "", "metadata": deep(300)}),
    "deep metadata": changed(lambda made: made.update(metadata=deep(300))),
    "deep attachments": _append({"cell_type": "markdown", "source": "", "attachments": {"a": deep(300)}}),
    "four thousand empty cells": _append(*[code("")] * 4000),
    "a set-up cell that is text": changed(lambda made: made["cells"][0].update(cell_type="markdown")),
    "text in front of everything": _prepend({"cell_type": "raw", "source": "---\nx: 1\n---"}),
    "another language": changed(lambda made: made.update(metadata={"language_info": {"name": "R"}, "kernelspec": {"name": "ir", "display_name": "R"}})),
}  # fmt: skip


# ---- text that is hard to read, in a notebook that is right besides ----------------------------
@dataclass(frozen=True)
class Hard:
    """A cell that is hard to read for whoever decides; it may wait for a person, and costs no one else.

    kind  of the cell
    """

    name: str
    source: str
    kind: str = "code"

    def file(self) -> bytes:
        if not self.source:
            cells = [
                code(f"# Square {n}\n" + "%time x = 1\n" * 40 + "y = 2\n" * 300) for n in range(30)
            ]
            return _append(*cells)
        return _append(
            {"cell_type": self.kind, "source": self.source, "metadata": {}, "id": "hard"}
        )


HARD: tuple[Hard, ...] = (
    Hard("a deep expression", "x = " + "-" * 40_000 + "1"),
    Hard("a long sum", "x = 1" + " + 1" * 12_000),
    Hard("many brackets", "x = " + "(" * 3_000 + ")" * 3_000),
    Hard("a long chain", "x" + ".a" * 20_000),
    Hard("a large cell", "x = 1\n" * 500_000),
    Hard("a large cell with an exercise in it", "class Square(Function):\n    x = 1\n" + "    y = 2\n" * 300_000),
    Hard("many magics", "%time x = 1\n" * 2_000),
    Hard("many magics of the shell", "!ls\n" * 5_000),
    Hard("a magic in a large cell", "%time x = 1\n" + "y = 2\n" * 200_000),
    Hard("many magics in many cells", ""),
    Hard("many names", "".join(f"a{i} = a{i + 1} or a{i + 2}\n" for i in range(3_000))),
    Hard("a null character", "x = 1\0"),
    Hard("blank lines", "# Square\n" + "\n" * 1_000_000 + " " * 1_000_000),
    Hard("open text", "'''" + "x\n" * 1_000),
    Hard("large text", "<b>" * 300_000, "markdown"),
    Hard("large links", "[" * 50_000 + "](" * 50_000, "markdown"),
    Hard("large formulas", "$" + "{" * 50_000 + "$", "markdown"),
    Hard("large raw text", "<script>" * 100_000, "raw"),
    Hard("stars", "*a " * 50_000, "markdown"),
)  # fmt: skip
