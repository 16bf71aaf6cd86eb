"""Boxes with walls missing, to show what each wall is for. One of each kind in a test process."""

from __future__ import annotations

import atexit
from functools import cache

from autograder.grading.box import Box, Job, Limits, Outcome, Run, Walls
from tests.grading.attacks.confinement import NO_WALLS, OUTER_ONLY

WALLS = {
    NO_WALLS: Walls.none(),
    OUTER_ONLY: Walls(namespaces=False, landlock=False, seccomp=False),
}
# Without a file system of its own it would write where the grader's own processes start: in /.
_WORK = "import os\nos.chdir(os.environ['TMPDIR'])"
LIMITS = Limits(cell_seconds=5.0, seconds=20.0)


@cache
def _box(without: str) -> Box:
    box = Box(LIMITS, WALLS[without])
    atexit.register(box.close)
    return box


def run_without(without: str, source: str) -> Outcome:
    """Run one cell in a box of that kind."""
    return _box(without).run(Job((Run("where", _WORK), Run("attack", source))))


def said_without(without: str, source: str) -> str:
    """What a cell prints in a box of that kind; "" where it did not come to its end."""
    said = run_without(without, source).said.get(1)
    return said.text if said is not None else ""
