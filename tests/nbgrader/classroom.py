"""Classes that were graded with nbgrader's own commands, for tests to look at.

Grading takes seconds, so a class is made once a session, also where pytest-xdist runs several
processes: the first one makes it, the others wait for it. Tests leave it as it is, or take a copy.
"""

from __future__ import annotations

import csv
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

DONE = "graded"
# The course's folders and nothing else: none of our plug-ins.
STOCK_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
"""


def shared_folder(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder all test processes share; `make` fills it, once. A failure is raised in each."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / name
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / DONE).exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            (folder / DONE).touch()
    return folder


def scores(folder: Path) -> dict[tuple[str, str], float]:
    """What nbgrader exported last, by (learner, lesson)."""
    with (folder / "grades.csv").open(newline="") as file:
        return {
            (row["student_id"], row["assignment"]): float(row["score"])
            for row in csv.DictReader(file)
        }
