"""Boxes with walls missing, to show what each wall is for. One of each kind in a test process."""

from __future__ import annotations

import atexit
import faulthandler
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from autograder.grading.box import Box, Limits, Outcome, Said, Step, Walls
from autograder.running.program import Piece
from tests.grading.attacks.confinement import NO_WALLS, OUTER_ONLY

WALLS = {
    NO_WALLS: Walls.none(),
    OUTER_ONLY: Walls(namespaces=False, landlock=False, seccomp=False),
}
# Without a file system of its own it would write where the grader's own processes start: in /.
_WORK = "import os\nos.chdir(os.environ['TMPDIR'])"
LIMITS = Limits(cell_seconds=5.0, seconds=20.0)
_NO_LIMITS = Limits(cell_seconds=30.0, seconds=60.0, text=2**30, answers=2**30)


@cache
def _box(without: str) -> Box:
    box = Box(LIMITS, WALLS[without])
    atexit.register(box.close)
    return box


def steps(source: str) -> list[Step]:
    """Where it runs has a folder to work in."""
    return [Step((Piece("where", _WORK),)), Step((Piece("attack", source),))]


def run_without(without: str, source: str) -> Outcome:
    """Run one cell in a box of that kind."""
    return _box(without).run(steps(source))


def said_without(without: str, source: str) -> str:
    """What a cell prints in a box of that kind; "" where it did not come to its end."""
    return (run_without(without, source).said(1) or Said()).text


@cache
def _relaxed() -> Box:
    walls = replace(WALLS[OUTER_ONLY], limits=False)
    box = Box(_NO_LIMITS, walls)
    atexit.register(box.close)
    return box


def run_relaxed(source: str) -> Outcome:
    """Run one cell where nothing is limited; the test itself keeps within bounds."""
    return _relaxed().run(steps(source))


def throw_away(do: Callable[[], float]) -> float:
    """What a function gives in a process of its own; 0 where that process does not come to its end."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()  # what is meant to crash need not be told
            os.setsid()  # whoever kills its group kills nobody else
            os.close(out)
            os.write(into, str(do()).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as file:
        text = file.read()
    os.waitpid(child, 0)
    return float(text or 0)
