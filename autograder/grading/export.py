"""Scores for other programs: nbgrader's own columns, Canvas's, Moodle's and Gradescope's."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.class_overview import Standing, overview
from autograder.grading.database import reading
from autograder.grading.gradescope import results
from autograder.grading.handed_in import Misplaced, lessons_handed_in
from autograder.grading.kept_files import replace_file
from autograder.grading.records import Records, file_name
from autograder.grading.scores import (
    LessonScore,
    Score,
    Student,
    read_comments,
    read_lessons,
    read_scores,
    read_students,
)
from autograder.grading.troubles import Trouble
from autograder.grading.words import the_names
from autograder.grading.worksheets import NotItsTable, fill_canvas, fill_moodle
from autograder.learner.lesson import NoLesson

CSV, CANVAS, MOODLE, GRADESCOPE = "csv", "canvas", "moodle", "gradescope"
FORMATS = (CSV, CANVAS, MOODLE, GRADESCOPE)


class NotFinal(Trouble):
    """Scores that are not final were to be exported; the message says whose."""


@dataclass(frozen=True)
class Exported:
    """What was written, and which submissions are not in it because they are not final.

    misplaced  notebooks that nobody looks for: their students may have handed something in
    remarks    what else a person has to know, of a table that was filled in
    """

    path: Path
    files: int
    left_out: tuple[Standing, ...]
    misplaced: tuple[Misplaced, ...] = ()
    remarks: tuple[str, ...] = ()


def export(
    course: CourseDirectory,
    kind: str,
    lesson: str | None = None,
    output: Path | None = None,
    partial: bool = False,
    into: Path | None = None,
) -> Exported:
    """Write the scores as they stand in the gradebook, a person's corrections included.

    kind     CSV, CANVAS or MOODLE (a file), or GRADESCOPE (a folder with LESSON/STUDENT/results.json)
    lesson   None: all lessons the gradebook knows
    partial  leave out what is not final (not graded, changed since, waits for a person)
    into     the table that Canvas or Moodle wrote, which is filled in (and not changed itself)
    Raises NotFinal if something is not final and `partial` is not set, NoLesson for a name that the
    gradebook does not know, CannotWrite where there is no gradebook, NotItsTable for a wrong `into`.
    """
    if kind == MOODLE if into is None else kind not in (CANVAS, MOODLE):
        raise NotItsTable(
            "Moodle's own worksheet is filled in (--into FILE), or Canvas's own gradebook; nothing else."
        )
    if kind == MOODLE and lesson is None:
        raise NotItsTable("A worksheet of Moodle is of one assignment: say which with --lesson.")
    with reading(course) as connection:
        every = read_lessons(connection)
        lessons = [one for one in every if lesson in (None, one.name)]
        if not lessons and lesson is not None:
            every_name = the_names("lessons", lesson, [one.name for one in every])
            raise NoLesson(f"There is no lesson {lesson}. {every_name}")
        names = [one.name for one in lessons]
        used = [name for name in lessons_handed_in(course) if name in names]
        look = overview(course, connection, names, used)
        scores = {(one.student, one.lesson): one for one in read_scores(connection, names)}
        students = read_students(connection)
        comments = {name: read_comments(connection, name) for name in names}
    if look.not_final and not partial:
        raise NotFinal(_whose(look.not_final))
    for one in look.not_final:
        scores.pop((one.student, one.lesson), None)
    lost = tuple(one for one in look.misplaced if not one.spare)
    if kind == GRADESCOPE:
        folder, records = output or Path(course.root, "gradescope"), Records(Path(course.root))
        for (student, name), score in scores.items():
            said = [text for _, text, by_person in comments[name].get(student, ()) if by_person]
            place = folder / file_name(name) / file_name(student)
            place.mkdir(parents=True, exist_ok=True)
            text = json.dumps(results(score, records.read(student, name), said), indent=1)
            replace_file(place / "results.json", text.encode("ascii"))
        return Exported(folder, len(scores), look.not_final, lost)
    if into is not None:
        points = {key: one.points for key, one in scores.items()}
        if kind == MOODLE:
            filled = fill_moodle(into.read_bytes(), students, lessons[0], points)
        else:
            filled = fill_canvas(into.read_bytes(), students, lessons, points)
        path = output or Path(course.root, f"{kind}.csv")
        replace_file(path, filled.text.encode("utf-8"))
        return Exported(path, 1, look.not_final, lost, tuple(filled.remarks))
    if kind == CANVAS and lesson is None:  # no empty columns for lessons that are yet to come
        there = {name for _, name in scores} | {one.lesson for one in look.not_final}
        lessons = [one for one in lessons if one.name in there]
    left_out = frozenset((one.student, one.lesson) for one in look.not_final)
    if kind == CSV:
        name, text = "grades.csv", nbgrader_csv(students, lessons, scores, left_out)
    else:
        name, text = "canvas.csv", canvas_csv(students, lessons, scores)
    path = output or Path(course.root, name)
    replace_file(path, text.encode("utf-8"))
    return Exported(path, 1, look.not_final, lost)


def _whose(not_final: Sequence[Standing]) -> str:
    lines = [f"  {one.student}, {one.lesson}: {one.state}" for one in not_final[:20]]
    if len(not_final) > 20:
        lines.append(f"  … and {len(not_final) - 20} more")
    return (
        "These scores are not final, so nothing was exported (`autograder status` says why; "
        "--partial exports the others):\n" + "\n".join(lines)
    )


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
    students: Sequence[Student], lessons: Sequence[LessonScore], scores: Scores,
    left_out: frozenset[tuple[str, str]],
) -> str:  # fmt: skip
    """What `nbgrader export` writes, but with names quoted that need it.

    A student who handed nothing in has 0 points, as there; one who is left out has no line.
    """
    rows: list[Sequence[object]] = [COLUMNS]
    for lesson in lessons:
        for one in students:
            key = (one.id, lesson.name)
            if key in left_out:
                continue
            score = scores.get(key, Score(*key, None, 0.0))
            rows.append(
                (
                    lesson.name, lesson.due or "", score.handed_in or "", one.id, one.last_name,
                    one.first_name, one.email, float(score.before_penalty), float(score.penalty),
                    float(score.points), lesson.points,
                )
            )  # fmt: skip
    return _csv(rows)


def canvas_csv(students: Sequence[Student], lessons: Sequence[LessonScore], scores: Scores) -> str:
    """A table that Canvas's gradebook imports: a column a lesson, named as the lesson is.

    Canvas finds a student by the ID (the gradebook's lms_user_id), then by the SIS names, which
    are the student's id here. Who handed nothing in, or is left out, has an empty field.
    """
    head = [*CANVAS_COLUMNS, *(lesson.name for lesson in lessons)]
    rows = [head, [CANVAS_POINTS_ROW, "", "", "", "", *(_number(one.points) for one in lessons)]]
    for one in students:
        given = [scores.get((one.id, lesson.name)) for lesson in lessons]
        points = ["" if score is None else _number(score.points) for score in given]
        rows.append([one.name, one.lms, one.id, one.id, "", *points])
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
