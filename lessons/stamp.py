"""Tells a notebook as it was built from one that somebody has worked in, and keeps the latter safe.

A built notebook carries the digest of its own cells. As long as they still agree nobody has changed
anything, whatever version, clone or copy the file comes from, with or without git.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from itertools import chain
from pathlib import Path

import nbformat
from nbformat import NotebookNode

KEY = "backward_by_hand"


def stamp(notebook: NotebookNode, **facts: str) -> None:
    """Write two digests, and other facts about its making, into a built notebook.

    "cells" is what `worked_on` compares; "build" covers metadata too, and tells builds apart.
    """
    notebook.metadata.pop(KEY, None)
    notebook.metadata[KEY] = {
        "cells": cells_digest(notebook),
        "build": _digest(without_outputs(notebook)),
        **facts,
    }


def stamped(notebook: NotebookNode) -> dict[str, str]:
    """What `stamp` wrote; empty where the notebook was not made by us."""
    return dict(notebook.metadata.get(KEY, {}))


def cells_digest(notebook: NotebookNode) -> str:
    """Digest of what a person can edit: kind, order and text of the cells."""
    return _digest([[cell.cell_type, cell.source] for cell in notebook.cells])


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """A copy without what running it leaves behind."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copy


def worked_on(path: Path, *, outputs_count: bool) -> bool:
    """Whether the notebook at `path` holds somebody's work: edited cells, or results of a run.

    `outputs_count` False: the notebook was built with outputs. A file that cannot be read as a
    notebook counts as work too: it is not ours to throw away.
    """
    if not path.exists():
        return False
    try:
        notebook = nbformat.read(path, as_version=4)
        edited = stamped(notebook).get("cells") != cells_digest(notebook)
    except Exception:
        return True
    ran = any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    return edited or (outputs_count and ran)


def back_up(path: Path, folder: Path) -> Path:
    """Copy the notebook into `folder` under a dated name that is not taken; gives that path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{path.parent.parent.name}-{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    numbered = (folder / f"{name}-{number}.ipynb" for number in range(2, 10**6))
    copy = next(one for one in chain([folder / f"{name}.ipynb"], numbered) if not one.exists())
    shutil.copy2(path, copy)
    return copy


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
