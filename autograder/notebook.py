"""Runs a course notebook's own cells in a plain process and reports on its exercises.

For people who work without a browser or with a screen reader: the same reports, in a terminal.
"""

from __future__ import annotations

import ast
import io
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.api import evaluate
from autograder.evidence import Finding
from autograder.report import Report

_CHECK = re.compile(r"^\s*check\((?P<name>\w+)", re.MULTILINE)


@dataclass
class NotebookReports:
    """The reports of one notebook, in its order, and the cells that stopped with an error."""

    reports: list[Report] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return bool(self.reports) and all(r.passed for r in self.reports)


class NotANotebook(ValueError):
    """A file that is missing, is no notebook, or has no exercises."""


# What no exercise depends on, by the beginning of its grade_id.
_SKIPPED = ("demo-", "try-", "see-", "finale-", "quiz-")


def check_notebook(path: Path, hidden: bool = False, seed: int | None = None) -> NotebookReports:
    """Run the set-up and the learner's cells of a notebook and check every exercise in it.

    Demonstrations, trials, widgets and finales are skipped. Raises NotANotebook.
    """
    cells = _code_cells(path)
    space: dict[str, Any] = {"__name__": "__main__"}
    found = NotebookReports()
    names: list[str] = []
    with importable(path.parent):
        for number, (grade_id, graded, source) in enumerate(cells, 1):
            match = _CHECK.search(source)
            if graded and match:
                names += [match["name"]] if match["name"] not in names else []
            elif not graded and not grade_id.startswith(_SKIPPED):
                words = f"the cell {grade_id!r}" if grade_id else f"code cell {number}"
                _run(source, f"<{words} of {path.name}>", space, found)
        for name in names:
            found.reports.append(_report(name, space, hidden, seed))
    if not names:
        raise NotANotebook(f"{path} has no exercises: no graded cell calls check(…).")
    return found


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of a folder can be imported, as in a kernel that runs there.

    The folder comes last, so that a file called torch.py hides nothing.
    """
    entry = str(folder.resolve())
    sys.path.append(entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def _code_cells(path: Path) -> list[tuple[str, bool, str]]:
    """(grade_id, graded, source) of every code cell."""
    import nbformat

    if not path.is_file():
        raise NotANotebook(f"There is no file {path}.")
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises many kinds for what is no notebook
        raise NotANotebook(f"{path} is not a readable notebook ({type(error).__name__}).") from None
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            data = cell.metadata.get("nbgrader", {})
            cells.append((str(data.get("grade_id", "")), bool(data.get("grade")), cell.source))
    return cells


def _run(source: str, file: str, space: dict[str, Any], found: NotebookReports) -> None:
    """One cell, as far as it goes; an error is noted and the next cell runs."""
    # Magics and shell lines mean nothing here; everything else stays on its own line.
    plain = "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n")
    )
    linecache.cache[file] = (len(plain), None, plain.splitlines(keepends=True), file)
    try:
        tree = ast.parse(plain, file)
        with redirect_stdout(io.StringIO()):
            exec(compile(tree, file, "exec"), space)
    except (Exception, SystemExit) as error:
        line = getattr(error, "lineno", None) or _line(error, file)
        place = f", line {line}" if line else ""
        found.troubles.append(f"{file.strip('<>')}{place}: {type(error).__name__}: {error}"[:300])


def _line(error: BaseException, file: str) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _report(name: str, space: dict[str, Any], hidden: bool, seed: int | None) -> Report:
    if name not in space:
        message = (
            f"{name} is not there: the cell that defines it is missing or stopped with an error."
        )
        return Report(
            name, False, [Finding("raises", message, "Mend that cell first.")], hidden=hidden
        )
    return evaluate(space[name], exercise=name, hidden=hidden, seed=seed)
