"""A naive judge, to show what each attack on a score is worth: it decides in the process it judges.

As a stock kernel does, it runs all cells of a notebook one after another in IPython, check(…) among
them, and takes what stands in the submission's metadata for true. It runs in a forked child that ends
afterwards; only the marks come back, from the file that the child leaves.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell

from autograder import evaluate
from tests.grading.attacks.lesson import HIDDEN_TESTS, RIGHT, SETUP

MARKS = "marks.json"
_SECONDS = 300.0  # every attack comes to its end by itself, however slow the machine is


class _Shell(InteractiveShell):
    """IPython as a kernel has it: an error is what its _showtraceback is told of."""

    failed = False

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any, *more: Any, **given: Any) -> None:
        type(self).failed = True

    def enable_gui(self, gui: Any = None) -> None:
        """There is no window to be opened."""


def naive_score(content: dict[str, Any], folder: Path, files: Mapping[str, str] = {}) -> float:
    """The points such a judge gives a notebook; 0 where it comes to no end.

    folder  an empty folder that the cells run in
    files   what was handed in beside the notebook, by name
    """
    _warm_up()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    child = os.fork()
    if child == 0:
        try:
            _be_judge_and_judged(content, folder)
        finally:
            os._exit(0)
    _wait(child)
    marks = folder / MARKS
    return float(sum(json.loads(marks.read_text()).values())) if marks.exists() else 0.0


@cache
def _warm_up() -> None:
    """Import in the parent what every child needs for its first check."""
    for name in RIGHT:
        evaluate(_right(name), name)


def _right(name: str) -> Any:
    names: dict[str, Any] = {}
    exec(SETUP + RIGHT[name], names)
    return names[name]


def _wait(child: int) -> None:
    until = time.monotonic() + _SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


def _be_judge_and_judged(content: dict[str, Any], folder: Path) -> None:
    gc.unfreeze()  # pytest's process leaves what it imported out of what an attack looks through
    torch.set_num_threads(1)  # a fork has none of its parent's threads: OpenMP would wait for them
    os.chdir(folder)
    os.environ["NBGRADER_EXECUTION"] = "autograde"
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if (folder / f"{name}.py").exists()]:
        del sys.modules[name]  # a kernel would import it for the first time now
    InteractiveShell.clear_instance()
    shell = _Shell.instance()
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        marks = {}
        for number, cell in enumerate(content["cells"]):
            role = cell["metadata"].get("nbgrader", {})
            points = _points(shell, cell)
            if role.get("grade"):
                marks[f"{number} {role.get('grade_id')}"] = points
        Path(MARKS).write_text(json.dumps(marks))
        import atexit

        atexit._run_exitfuncs()  # as Python does at its end


def _points(shell: Any, cell: dict[str, Any]) -> float:
    most = float(cell["metadata"].get("nbgrader", {}).get("points", 0))
    if cell["cell_type"] != "code" or "skip-execution" in cell["metadata"].get("tags", ()):
        return most  # nbclient leaves it out, and then no error stands in it
    type(shell).failed = False
    source = HIDDEN_TESTS.get(cell["source"], cell["source"])
    value = shell.run_cell(source, store_history=False).result
    if type(shell).failed:
        return 0.0
    # nbgrader takes a number that a test cell shows for partial credit.
    return float(value) if isinstance(value, int | float) else most
