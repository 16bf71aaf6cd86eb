"""What the writer leaves is what nbgrader's own steps leave: one class, entered by both."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.grading.course import open_course
from tests.build.mini_course import NAME
from tests.grading.gradebooks import contents, tree

pytestmark = [pytest.mark.slow]

STOCK = """
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.OverwriteCells"]
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors." + name
    for name in ("SaveAutoGrades", "AssignLatePenalties", "CheckCellMetadata")
]
"""


def entered_by_nbgrader(course: Any, folder: Path) -> Any:
    """The graded notebooks of a class, from which nbgrader's own steps read off what to enter."""
    for part in ("build", "submitted", "gradebook.db", "nbgrader_config.py"):
        source = Path(course.root, part)
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / part)
    for graded in Path(course.root, "autograded").rglob("*.ipynb"):
        shutil.copy(
            graded, folder / "submitted" / graded.relative_to(Path(course.root, "autograded"))
        )
    with (folder / "nbgrader_config.py").open("a") as settings:
        settings.write(STOCK)
    fresh = open_course(folder)
    with Gradebook(fresh.db_url, fresh.course_id) as gradebook:
        for student in gradebook.students:
            gradebook.remove_student(student.id)
    assert contents(fresh) == {}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", NAME], cwd=folder, check=False,
        env={**os.environ, "PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    print(done.stdout + done.stderr)
    return fresh


def test_gradebook_and_files_are_the_same(guarded_class: Path, tmp_path: Path) -> None:
    ours = open_course(guarded_class)
    theirs = entered_by_nbgrader(ours, tmp_path)
    students = sorted(path.name for path in (guarded_class / "submitted").iterdir())
    found, expected = contents(ours), contents(theirs)
    assert len({key[1] for key in expected if key[0] == "grade"}) == len(students) > 10
    assert found == expected
    files, more = tree(guarded_class / "autograded"), tree(tmp_path / "autograded")
    for place, (kind, mode, content) in files.items():  # nbgrader copies what is no data, too
        assert more[place][:2] == (kind, mode)
        assert place.endswith(".ipynb") or more[place][2] == content
