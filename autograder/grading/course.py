"""The course folder as nbgrader sees it: its configuration, its names, and why a write can fail."""

from __future__ import annotations

import logging
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from jupyter_core.application import JupyterApp
from nbgrader.api import Gradebook
from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from traitlets.config import Application

from autograder.grading.troubles import database_trouble

log = logging.getLogger("autograder.grading")


class CannotWrite(Exception):
    """Grades cannot be kept: a sentence that says why and what to do. Nothing was half-written."""


class NameTrouble(CannotWrite):
    """A student's name that no gradebook can hold: only this one submission is concerned."""


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


def folder_of(course: CourseDirectory, step: str, student: str, lesson: str) -> Path:
    """Where nbgrader keeps one submission at one of its steps (submitted, autograded, …).

    Raises ValueError for names that would lead out of there.
    """
    return Path(course.format_path(step, checked_name(student), checked_name(lesson)))


def checked_name(name: str) -> str:
    """The name, if it is one that a folder can have; ValueError otherwise."""
    separators = {os.sep, os.altsep or os.sep, "\0"}
    if name in ("", ".", "..") or separators & set(name):
        raise ValueError(f"{name!r} cannot be the name of a student or a lesson")
    return name


def course_version() -> str:
    """The version of this course that grades, as its package says; "" where it is not installed."""
    try:
        return version("backward-by-hand")
    except PackageNotFoundError:
        return ""


def open_gradebook(course: CourseDirectory) -> Gradebook:
    """nbgrader's gradebook of a course. Raises CannotWrite where there is none yet, or no way to it."""
    try:
        url = make_url(course.db_url)
        file = url.database if url.get_backend_name() == "sqlite" else None
        known = not file or file == ":memory:" or file.startswith("file:") or Path(file).exists()
        if known:
            engine = create_engine(url)
            known = inspect(engine).has_table("assignment")
            engine.dispose()
        if not known:
            raise CannotWrite("There is no gradebook yet. Run `make gradebook`, then grade again.")
        return Gradebook(course.db_url, course.course_id)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise CannotWrite(
            f"The gradebook's address cannot be used: {error}. Look at --db, or at "
            "CourseDirectory.db_url in nbgrader_config.py."
        ) from error
    except DBAPIError as error:
        raise CannotWrite(database_trouble(error, course.db_url)) from error
    except OSError as error:
        raise CannotWrite(f"The gradebook {error.filename}: {error.strerror}.") from error
