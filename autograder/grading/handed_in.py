"""Finds what was handed in, as nbgrader collects it, and reads it without trusting it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.lesson import LessonFiles, NoLesson, read_files
from autograder.grading.restoring import LARGEST
from autograder.grading.storage import NotPlain, read_plain
from autograder.grading.work import Submission


@dataclass(frozen=True)
class HandedIn:
    """One student's folder for one lesson."""

    student: str
    lesson: str
    folder: Path

    def read(self) -> Submission:
        """The notebook's bytes; an ordinary file only, so that a link leads to nobody else's work."""
        path = self.folder / f"{self.lesson}.ipynb"
        try:
            return Submission(self.student, read_plain(path, LARGEST))
        except FileNotFoundError:
            return Submission(self.student, None)
        except NotPlain as error:
            size = error.size
            why = error.why if size is None else f"has {size / 1e6:.0f} million bytes"
            return Submission(self.student, None, f"{path.name} {why}.")


def find(course: CourseDirectory, lesson: str, student: str | None = None) -> list[HandedIn]:
    """What was handed in for a lesson, by student; of one student only where one is named."""
    pattern = course.format_path(
        course.submitted_directory, "(?P<student>[^/]+)", lesson, escape=True
    )
    whole = re.compile(pattern)
    found = []
    for folder in _folders(course, lesson):
        match = whole.fullmatch(str(folder))
        if match and student in (None, match["student"]):
            found.append(HandedIn(match["student"], lesson, folder))
    return sorted(found, key=lambda one: one.student)


def lessons_handed_in(course: CourseDirectory) -> list[str]:
    """The lessons for which there is a source notebook and somebody handed something in."""
    root = Path(course.format_path(course.source_directory, ".", "."))
    names = sorted(p.name for p in root.iterdir() if p.is_dir()) if root.is_dir() else []
    return [name for name in names if any(True for _ in _folders(course, name))]


def lesson_files(course: CourseDirectory, name: str) -> LessonFiles:
    """A lesson's source and released notebook. Raises NoLesson."""
    source, released = (
        Path(course.format_path(step, ".", name), f"{name}.ipynb")
        for step in (course.source_directory, course.release_directory)
    )
    if "/" in name or name in ("", ".", ".."):
        raise NoLesson(f"{name!r} is no name of a lesson.")
    return read_files(name, source, released)


def _folders(course: CourseDirectory, lesson: str) -> Iterator[Path]:
    """Folders that may hold a submission for a lesson; no link, wherever it leads."""
    pattern = Path(course.format_path(course.submitted_directory, "*", lesson))
    for folder in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        if folder.is_dir() and not folder.is_symlink() and not folder.parent.is_symlink():
            yield folder
