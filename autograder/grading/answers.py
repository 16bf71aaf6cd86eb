"""The learners' own cells, read from the notebooks that were kept, for those who look at them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory

from autograder.grading.authoring import without_markers
from autograder.grading.lesson import LessonFiles

Answers = dict[str, list[tuple[str, str]]]  # by student: (exercise's grade_id, source)


def read_answers(course: CourseDirectory, lesson: str, students: Iterable[str]) -> Answers:
    """What each of the students wrote into the cells of the exercises; nobody who is unreadable."""
    found: Answers = {}
    for student in students:
        folder = course.format_path(course.autograded_directory, student, lesson)
        cells = list(_answers(_cells(Path(folder, f"{lesson}.ipynb"))))
        if cells:
            found[student] = cells
    return found


def seen_by_all(files: LessonFiles) -> dict[str, list[str]]:
    """By exercise: the stub that was released, and the solution, with its alternative beginnings."""
    seen: dict[str, list[str]] = {}
    for text in (files.released, files.source):
        cells = json.loads(text)["cells"] if text else []
        for name, source in _answers(cells):
            seen.setdefault(name, []).append(without_markers(source))
    return seen


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(path.read_bytes())["cells"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _answers(cells: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for cell in cells:
        role = cell.get("metadata", {}).get("nbgrader", {})
        if cell.get("cell_type") == "code" and role.get("solution"):
            source = cell.get("source", "")
            yield str(role.get("grade_id")), source if isinstance(source, str) else "".join(source)
