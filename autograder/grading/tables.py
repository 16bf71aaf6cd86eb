"""Tables of scores for other programs: nbgrader's own columns, and Canvas's."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence

from autograder.grading.scores import LessonScore, Score, Student

# As `nbgrader export` has them.
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip
# The columns that Canvas needs before those of the assignments, in this order.
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_POINTS_ROW = "    Points Possible"  # so indented in Canvas's own exports

Scores = Mapping[tuple[str, str], Score]  # by (student, lesson)


def nbgrader_csv(
    students: Sequence[Student],
    lessons: Sequence[LessonScore],
    scores: Scores,
    left_out: frozenset[tuple[str, str]] = frozenset(),
) -> str:
    """What `nbgrader export` writes, but with names quoted that need it.

    A student who handed nothing in has 0 points, as there.
    """
    rows: list[Sequence[object]] = [COLUMNS]
    for lesson in lessons:
        for student in students:
            if (student.id, lesson.name) in left_out:
                continue
            score = scores.get((student.id, lesson.name))
            given = (
                (score.handed_in or "", score.before_penalty, score.penalty, score.points)
                if score
                else ("", 0.0, 0.0, 0.0)
            )
            when, before, penalty, points = given
            rows.append(
                (
                    lesson.name, lesson.due or "", when, student.id, student.last_name,
                    student.first_name, student.email, before, penalty, points, lesson.points,
                )
            )  # fmt: skip
    return _csv(rows)


def canvas_csv(
    students: Sequence[Student],
    lessons: Sequence[LessonScore],
    scores: Scores,
    left_out: frozenset[tuple[str, str]] = frozenset(),
) -> str:
    """A table that Canvas's gradebook imports: a column a lesson, named as the lesson is.

    Canvas finds a student by the ID (the gradebook's lms_user_id), then by the SIS names, which
    are the student's id here. Who handed nothing in has an empty field.
    """
    head = [*CANVAS_COLUMNS, *(lesson.name for lesson in lessons)]
    rows = [head, [CANVAS_POINTS_ROW, "", "", "", "", *(_number(one.points) for one in lessons)]]
    for student in students:
        given = []
        for lesson in lessons:
            key = (student.id, lesson.name)
            score = None if key in left_out else scores.get(key)
            given.append("" if score is None else _number(score.points))
        rows.append([student.name, student.lms, student.id, student.id, "", *given])
    return _csv(rows)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before what might be one."""
    text = text.replace("\r", "\n")  # Python's csv module quotes only one of them
    begin = unicodedata.normalize("NFKC", text).lstrip(" ")[:1]
    return f"'{text}" if begin and begin in "=+-@\t\r\n" else text


def _number(value: float) -> str:
    return f"{value:.10g}"


def _csv(rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow(
            [field if isinstance(field, float) else harmless(str(field)) for field in row]
        )
    return out.getvalue().encode("utf-8", "replace").decode("utf-8")
