"""nbgrader's own converters, run on one lesson at a time in the ignored folder build/.

The configuration is the course's nbgrader_config.py; only the folders are moved, because
generate_assignment would delete a lesson's whole folder in course/, a learner's notes included.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import traitlets.log
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment, GenerateSolution
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from lessons.source import BuildError, Lesson
from lessons.stamp import stamp

EXECUTE = "nbgrader.preprocessors.Execute"


def notebook_path(folder: Path, name: str) -> Path:
    """Where the notebook of lesson `name` lies in `folder`, as nbgrader lays folders out."""
    return folder / name / f"{name}.ipynb"


def released(root: Path, lesson: Lesson) -> NotebookNode:
    """The notebook a learner gets: nbgrader's release, or the lesson itself if it asks nothing."""
    if lesson.has_exercises:
        _convert(GenerateAssignment, _staging_config(root), lesson)
        notebook = nbformat.read(notebook_path(root / "build/release", lesson.name), as_version=4)
    else:
        notebook = lesson.notebook.copy()
        for cell in notebook.cells:
            cell.metadata.pop("nbgrader", None)
    stamp(notebook)
    return notebook


def solved(root: Path, lesson: Lesson, *, execute: bool) -> NotebookNode:
    """The lesson with its answers; call `released` first. Raises BuildError when a cell fails."""
    config = _staging_config(root)
    if not execute:
        config.GenerateSolution.preprocessors.remove(EXECUTE)
    _convert(GenerateSolution, config, lesson)
    notebook = nbformat.read(notebook_path(root / "build/solution", lesson.name), as_version=4)
    for cell in notebook.cells:
        if "raises-exception" not in cell.metadata.get("tags", []):
            _refuse_errors(lesson.name, cell)
    stamp(notebook, lesson=lesson.digest)
    return notebook


def _refuse_errors(lesson: str, cell: NotebookNode) -> None:
    """Raise BuildError when a cell of the executed solution ended in an error."""
    for output in cell.get("outputs", []):
        if output.output_type != "error":
            continue
        if output.ename == "KeyboardInterrupt":  # how nbgrader ends a cell that takes too long
            raise BuildError(f"{lesson}: with the solution, cell {cell.id!r} takes too long.")
        raise BuildError(
            f"{lesson}: with the solution, cell {cell.id!r} fails with {output.ename}: "
            f"{output.evalue}\n(A cell that is meant to fail carries the tag raises-exception.)"
        )


def fill_gradebook(root: Path, lessons: list[Lesson], db_url: str | None = None) -> None:
    """Tell nbgrader's own gradebook (or another one) about the lessons, and leave course/ alone."""
    config = _course_config(root)
    if db_url:
        config.CourseDirectory.db_url = db_url
    config.CourseDirectory.release_directory = "build/release"
    for lesson in lessons:
        if lesson.has_exercises:
            _convert(GenerateAssignment, config, lesson)


def _course_config(root: Path) -> Config:
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.CourseDirectory.root = str(root)
    return config


def _staging_config(root: Path) -> Config:
    """The course's configuration with everything that is written moved into build/."""
    config = _course_config(root)
    config.CourseDirectory.release_directory = "build/release"
    config.CourseDirectory.solution_directory = "build/solution"
    config.CourseDirectory.db_url = f"sqlite:///{root / 'build' / 'build.db'}"
    # Seconds: on a busy machine a cell ends, and what it printed arrives, later than nbclient expects.
    config.ExecutePreprocessor.timeout = config.ExecutePreprocessor.iopub_timeout = 600
    return config


def _convert(converter: type[BaseConverter], config: Config, lesson: Lesson) -> None:
    """Run one converter on one lesson. Raises BuildError with what nbgrader logged."""
    course = CourseDirectory(config=config)
    course.assignment_id = lesson.name
    with course_environment(Path(course.root)), _collected_errors() as errors:
        try:
            converter(coursedir=course, config=config, force=True).start()
        except NbGraderException as error:
            said = "\n".join(errors) or str(error)
            raise BuildError(
                f"{lesson.name}: nbgrader's {converter.__name__} refused it.\n{said}"
            ) from error


@contextlib.contextmanager
def _collected_errors() -> Iterator[list[str]]:
    """Keep nbgrader's log quiet, and collect what it says at level ERROR."""
    log = traitlets.log.get_logger()
    assert isinstance(log, logging.Logger)  # no application is running
    errors: list[str] = []
    level, propagate, handlers = log.level, log.propagate, log.handlers

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            errors.append(record.getMessage())

    log.handlers, log.propagate = [Collect(logging.ERROR)], False
    try:
        yield errors
    finally:
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@contextlib.contextmanager
def course_environment(root: Path) -> Iterator[None]:
    """What converters and the kernels they start find in os.environ.

    nbgrader calls `alembic` by name; solutions import this course's packages, and running them is
    nobody's progress.
    """
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as nobody:
        os.environ["PATH"] = _in_front(Path(sys.executable).parent, before.get("PATH"))
        os.environ["PYTHONPATH"] = _in_front(root, before.get("PYTHONPATH"))
        os.environ["BACKWARD_BY_HAND_HOME"] = nobody
        # tensors in lessons are small: threads would mostly wait for each other
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.pop("NBGRADER_EXECUTION", None)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _in_front(folder: Path, path_list: str | None) -> str:
    return os.pathsep.join([str(folder), *filter(None, [path_list])])
