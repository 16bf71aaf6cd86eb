"""`autograder export`: the gradebook's scores for nbgrader's own users, Canvas and Gradescope."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.course import open_gradebook
from autograder.grading.gradescope import results
from autograder.grading.handed_in import Misplaced, find_misplaced, lessons_handed_in, the_names
from autograder.grading.lesson import NoLesson
from autograder.grading.records import Records, file_name
from autograder.grading.scores import (
    read_comments,
    read_lessons,
    read_scores,
    read_students,
)
from autograder.grading.standing import Standing, gone, standings
from autograder.grading.storage import replace_file
from autograder.grading.tables import canvas_csv, nbgrader_csv

CSV, CANVAS, GRADESCOPE = "csv", "canvas", "gradescope"
FORMATS = (CSV, CANVAS, GRADESCOPE)


class NotFinal(ValueError):
    """Scores that are not final were to be exported; the message says whose."""


@dataclass(frozen=True)
class Exported:
    """What was written, and which submissions are not in it because they are not final.

    misplaced  notebooks that nobody looks for: their students may have handed something in
    """

    path: Path
    files: int
    left_out: tuple[Standing, ...]
    misplaced: tuple[Misplaced, ...] = ()


def export(
    course: CourseDirectory,
    kind: str,
    lesson: str | None = None,
    output: Path | None = None,
    partial: bool = False,
) -> Exported:
    """Write the scores as they stand in the gradebook, a person's corrections included.

    kind     CSV or CANVAS (a file), or GRADESCOPE (a folder with LESSON/STUDENT/results.json)
    lesson   None: all lessons the gradebook knows
    partial  leave out what is not final (not graded, changed since, waits for a person)
    Raises NotFinal if something is not final and `partial` is not set, NoLesson for a name that the
    gradebook does not know, CannotWrite where there is no gradebook.
    """
    gradebook = open_gradebook(course)
    try:
        with gradebook.engine.connect() as connection:
            done = _export(course, connection, kind, lesson, output, partial)
            students = {one.id for one in read_students(connection)}
    finally:
        gradebook.close()
    lost = tuple(one for one in find_misplaced(course, students) if not one.spare)
    return replace(done, misplaced=lost)


def _export(
    course: CourseDirectory,
    connection: Connection,
    kind: str,
    lesson: str | None,
    output: Path | None,
    partial: bool,
) -> Exported:
    every = read_lessons(connection)
    lessons = [one for one in every if lesson in (None, one.name)]
    if not every:
        raise NoLesson("The gradebook knows no lesson at all: run `make gradebook`.")
    if not lessons and lesson is not None:
        every_name = the_names("lessons", lesson, [one.name for one in every])
        raise NoLesson(f"There is no lesson {lesson}. {every_name}")
    names = [one.name for one in lessons]
    scores = {(one.student, one.lesson): one for one in read_scores(connection, names)}
    not_final = _not_final(course, connection, names)
    if not_final and not partial:
        raise NotFinal(_whose(not_final))
    left_out = frozenset((one.student, one.lesson) for one in not_final)
    students = read_students(connection)
    if kind == GRADESCOPE:
        folder = output or Path(course.root, "gradescope")
        final = [one for key, one in scores.items() if key not in left_out]
        records = Records(Path(course.root))
        for name in names:
            comments = read_comments(connection, name)
            for one in final:
                if one.lesson == name:
                    record = records.read(one.student, name)
                    data = results(one, record, comments.get(one.student, ()))
                    place = folder / file_name(name) / file_name(one.student)
                    place.mkdir(parents=True, exist_ok=True)
                    text = json.dumps(data, indent=1)
                    replace_file(place / "results.json", text.encode("ascii"))
        return Exported(folder, len(final), not_final)
    if kind == CANVAS and lesson is None:  # no empty columns for lessons that are yet to come
        lessons = [one for one in lessons if any(key[1] == one.name for key in scores)]
    table = nbgrader_csv if kind == CSV else canvas_csv
    path = output or Path(course.root, "grades.csv" if kind == CSV else "canvas.csv")
    replace_file(path, table(students, lessons, scores, left_out).encode("utf-8"))
    return Exported(path, 1, not_final)


def _not_final(
    course: CourseDirectory,
    connection: Connection,
    names: Sequence[str],
) -> tuple[Standing, ...]:
    """What was handed in and has no final score; and what waits though it is no longer there."""
    in_use = [name for name in lessons_handed_in(course) if name in names]
    found = list(standings(course, connection, in_use)) if in_use else []
    lost = gone(course, connection, found, names)
    return tuple(one for one in [*found, *lost] if not one.is_final)


def _whose(not_final: Sequence[Standing]) -> str:
    lines = [f"  {one.student}, {one.lesson}: {one.state}" for one in not_final[:20]]
    if len(not_final) > 20:
        lines.append(f"  … and {len(not_final) - 20} more")
    return (
        "These scores are not final, so nothing was exported (`autograder status` says why; "
        "--partial exports the others):\n" + "\n".join(lines)
    )
