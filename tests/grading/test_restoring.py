"""Whatever was handed in is read without trusting it, and the lesson's cells are the lesson's again."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.learner.lesson import LessonFiles, check_in, grade_id_of, read_lesson
from autograder.learner.submitted_notebook import (
    MOST_CELLS,
    UnreadableNotebook,
    read_notebook,
    restore,
)


def role(name: str, **more: Any) -> dict[str, Any]:
    kinds = {"grade": False, "solution": False, "locked": True, "task": False, "schema_version": 3}
    return {"nbgrader": {**kinds, "grade_id": name, **more}}


def source() -> nbformat.NotebookNode:
    cells = [
        new_markdown_cell("# Title"),
        new_code_cell("import torch", metadata=role("setup"), id="setup"),
        new_code_cell("print('demo')", metadata=role("demo-a"), id="demo-a"),
        new_code_cell("class A: ...", metadata=role("a", solution=True, locked=False), id="a"),
        new_code_cell("check(A)", metadata=role("a-check", grade=True, points=2), id="a-check"),
        new_code_cell(
            "check(A, hidden=True)", metadata=role("a-hidden", grade=True, points=3), id="a-hidden"
        ),
        new_code_cell("1 + 1", metadata=role("try-a", locked=False), id="try-a"),
    ]
    return new_notebook(cells=cells)


LESSON = read_lesson(LessonFiles("lesson", nbformat.writes(source())))


def restored(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    read = read_notebook(json.dumps(notebook).encode())
    restore(read, LESSON)
    return read


def test_what_a_check_is() -> None:
    assert check_in("# words\ncheck(A, hidden=True)\n") == ("A", True)
    assert check_in("check(A)") == ("A", False)
    for other in (
        "check(A); x",
        "check(A.b)",
        "check(A, exercise='B')",
        "assert f() == 1",
        "(",
        "",
    ):
        assert check_in(other) == ("", False)


def test_points_and_text_come_from_the_lesson() -> None:
    notebook = source()
    notebook.cells[4].source = "pass"
    notebook.cells[4].metadata.nbgrader.points = 9999
    notebook.cells[1].source = "import os"
    found = {grade_id_of(c): c for c in restored(notebook).cells}
    assert found["a-check"].source == "check(A)"
    assert found["a-check"].metadata.nbgrader.points == 2
    assert found["setup"].source == "import torch"


def test_lost_metadata_is_found_again_by_the_id() -> None:
    notebook = source()
    for cell in notebook.cells:
        cell.metadata = nbformat.NotebookNode()
    names = [grade_id_of(c) for c in restored(notebook).cells]
    assert [n for n in names if n] == ["setup", "demo-a", "a", "a-check", "a-hidden"]


def test_a_deleted_graded_cell_comes_back_behind_the_one_before_it() -> None:
    notebook = source()
    del notebook.cells[4:6]
    found = restored(notebook).cells
    names = [grade_id_of(c) for c in found]
    assert names[3:6] == ["a", "a-check", "a-hidden"]
    assert "was missing" in found[4].source
    assert found[4].source.endswith("check(A)")


def test_a_copied_cell_counts_once_and_ids_are_unique() -> None:
    notebook = source()
    notebook.cells.insert(3, nbformat.from_dict(notebook.cells[3]))
    found = restored(notebook)
    assert [grade_id_of(c) for c in found.cells].count("a") == 1
    assert len({c.id for c in found.cells}) == len(found.cells)


def test_old_formats_are_read() -> None:
    old = {
        "nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""},
        "worksheets": [{"cells": [
            {"cell_type": "code", "input": "class A: ...", "outputs": [], "language": "python",
             "metadata": {}, "collapsed": False}
        ], "metadata": {}}],
    }  # fmt: skip
    assert read_notebook(json.dumps(old).encode()).cells[0].source == "class A: ..."


def test_without_metadata_and_ids_cells_are_known_by_their_text() -> None:
    """As Jupyter of before 2021 saves them, after an editor that knows nothing of nbgrader."""
    notebook = source()
    notebook.cells[3].source = "HELP = 1\n\nclass A:\n    answer ="  # half typed
    notebook.cells.insert(4, new_code_cell("class B(A): ..."))
    for cell in notebook.cells:
        cell.metadata = {}
        del cell["id"]
    read = restored(notebook)
    names = ["", "setup", "demo-a", "a", "", "a-check", "a-hidden", ""]
    assert [grade_id_of(cell) for cell in read.cells] == names
    assert read.cells[3].source.startswith("HELP")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"PK\x03\x04 a zip", "no JSON"),
        (b'{"nbformat": 4, "cells": [', "no JSON"),
        (b"[1, 2]", "no Jupyter notebook"),
        (b'{"cells": []}', "no Jupyter notebook"),
        (b'{"nbformat": 4, "cells": 3}', "no list of cells"),
        (b'{"nbformat": 99, "cells": []}', "format 99"),
        (json.dumps({"nbformat": 4, "cells": [{}] * (MOST_CELLS + 1)}).encode(), "cells"),
        (b"[" * 200_000, "no JSON"),
    ],
)
def test_what_is_no_notebook_is_said(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableNotebook, match=words):
        read_notebook(data)


def test_odd_cells_do_no_harm() -> None:
    odd = {
        "nbformat": 4, "nbformat_minor": 5, "metadata": 7,
        "cells": [
            3, None, {"cell_type": "code", "source": ["class ", "A: ..."], "metadata": [1]},
            {"cell_type": "code", "source": 5}, {"cell_type": "zzz", "source": "\ud800"},
            {"source": {"a": 1}, "id": 9, "outputs": "x"},
        ],
    }  # fmt: skip
    read = read_notebook(json.dumps(odd).encode())
    assert [c.source for c in read.cells] == ["class A: ...", "", "?", ""]
    restore(read, LESSON)
    nbformat.validate(read)
    assert nbformat.writes(read).encode()
