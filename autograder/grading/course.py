"""The course folder as nbgrader sees it, and in plain words why something in it cannot be written."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

from jupyter_core.application import JupyterApp
from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Application

from autograder.grading.words import CannotWrite

log = logging.getLogger("autograder.grading")


def open_course(root: Path, db_url: str | None = None) -> CourseDirectory:
    """The course in `root` with the configuration nbgrader's own commands would use there.

    db_url  another gradebook than the configured one, as SQLAlchemy writes addresses
    """
    app = NbGrader(log=log)
    app.load_cwd_config = False  # the course counts, not the folder somebody happens to be in
    JupyterApp.load_config_file(app)
    root = Path(root).resolve()
    Application.load_config_file(app, "nbgrader_config.py", path=str(root))
    course = CourseDirectory(config=app.config, log=log)
    course.root = str(root)
    if db_url is not None:
        course.db_url = db_url
    return course


def course_in(root: Path, db_url: str | None = None) -> CourseDirectory:
    """As `open_course`, for a folder that somebody named. Raises ValueError where it is no course."""
    if not root.is_dir():
        raise ValueError(f"There is no folder {root}.")
    course = open_course(root, db_url)
    known = (root / "nbgrader_config.py", *(
        Path(course.root, name) for name in (course.source_directory, course.submitted_directory)
    ))  # fmt: skip
    if not any(path.exists() for path in known):
        raise ValueError(
            f"{root.resolve()} is no course folder: there is no nbgrader_config.py in it. "
            "Say where the course is with --course."
        )
    return course


def builder_of(course: CourseDirectory) -> Path | None:
    """What fills the gradebook in a clone of this course; None in a course folder of somebody's own."""
    path = Path(course.root, "lessons", "build.py")
    return path if path.is_file() else None


def how_to_prepare(course: CourseDirectory) -> str:
    """What to do where the gradebook does not know a lesson as it is now."""
    own = course.db_url != f"sqlite:///{Path(course.root, 'gradebook.db')}"
    if builder_of(course):
        return f"Run `make gradebook{f' DB={course.db_url}' if own else ''}`, then grade again."
    more = f" --db {course.db_url}" if own else ""
    return (
        f"Run `nbgrader generate_assignment LESSON --force{more}` for each lesson in "
        f"{course.source_directory}/, then grade again."
    )


def prepare(course: CourseDirectory, again: str) -> None:
    """Fill the gradebook with the lessons, in a clone of this course.

    again  what it is for, for the sentence that is raised as CannotWrite where that is not possible
    """
    builder = builder_of(course)
    if builder is None:
        raise CannotWrite(f"{again} {how_to_prepare(course)}")
    print(f"{again} Preparing it; that takes a minute, once.", file=sys.stderr, flush=True)
    done = run_python(Path(course.root), str(builder), "--gradebook", "--db", course.db_url)
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-5:])
        raise CannotWrite(f"The gradebook could not be prepared:\n{end}")


def run_python(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run this Python on a command in a folder; ``stdout`` has all that it said."""
    # nbgrader calls `alembic` by its name
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env={"OMP_NUM_THREADS": "1", **os.environ, "PATH": path},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def folder_of(course: CourseDirectory, step: str, student: str, lesson: str) -> Path:
    """Where nbgrader keeps one submission at one of its steps (submitted, autograded, …).

    Raises ValueError for names that would lead out of there.
    """
    return Path(course.format_path(step, checked_name(student), checked_name(lesson)))


def checked_name(name: str) -> str:
    """The name, if it is one that a folder can have; ValueError otherwise."""
    if name in ("", ".", "..") or {"/", "\0"} & set(name):
        raise ValueError(f"{name!r} cannot be the name of a student or a lesson")
    return name
