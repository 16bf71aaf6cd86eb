"""The repository's own lessons and what was built from them, copied so that tests leave them alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lessons.source import read_lessons
from lessons.stamp import worked_on

REPOSITORY = Path(__file__).resolve().parents[2]


def exercise_lessons() -> list[str]:
    """Names of the lessons that have exercises."""
    lessons = read_lessons(REPOSITORY / "lessons")
    return [lesson.name for lesson in lessons if lesson.has_exercises]


def copy_of_the_course(folder: Path, lessons: str = "[0-9]*") -> Path:
    """lessons/, course/, solutions/ and the configuration, as they were built; of the lessons those of this pattern.

    Where the person who runs the tests works in course/ themselves, the committed notebook is
    copied instead of theirs.
    """
    folder.mkdir(parents=True)
    shutil.copy(REPOSITORY / "nbgrader_config.py", folder)
    shutil.copytree(
        REPOSITORY / "lessons", folder / "lessons", ignore=shutil.ignore_patterns("__pycache__", "[0-9]*.py")
    )
    for path in (REPOSITORY / "lessons").glob(f"{lessons}.py"):
        shutil.copy(path, folder / "lessons")
    for part in ("course", "solutions"):
        for path in (REPOSITORY / part).glob(f"{lessons}/*.ipynb"):
            if path.stem == path.parent.name:
                target = folder / path.relative_to(REPOSITORY)
                target.parent.mkdir(parents=True)
                target.write_bytes(_as_built(path, outputs_count=part == "course"))
    return folder


def _as_built(path: Path, *, outputs_count: bool) -> bytes:
    if worked_on(path, outputs_count=outputs_count):
        name = path.relative_to(REPOSITORY).as_posix()
        committed = subprocess.run(
            ["git", "show", f"HEAD:{name}"], cwd=REPOSITORY, capture_output=True
        )
        if committed.returncode == 0:
            return committed.stdout
    return path.read_bytes()
