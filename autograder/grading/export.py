"""Scores for other programs: nbgrader's own columns, Canvas's, Moodle's and Gradescope's."""

from __future__ import annotations

import argparse
import csv
import io
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.class_overview import Overview, overview
from autograder.grading.database import reading
from autograder.grading.gradescope import pack, results
from autograder.grading.handed_in import lessons_handed_in
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
from autograder.grading.words import Trouble, filled, the_names
from autograder.grading.worksheets import Filled, fill_canvas, fill_moodle
from autograder.learner.lesson import NoLesson

CSV, CANVAS, MOODLE, GRADESCOPE = "csv", "canvas", "moodle", "gradescope"


@dataclass(frozen=True)
class Exported:
    """What was written, and how the class stood: what is not final is not in it.

    remarks  what else a person has to know, of a table that was filled in
    """

    path: Path
    files: int
    look: Overview
    remarks: Sequence[str] = ()


def run_export(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Write what is asked for, and say where it is and what is not in it."""
    if options.format == "gradescope-autograder":
        if options.lesson is None:
            raise ValueError("Say with --lesson which lesson the autograder is for.")
        place = options.output or Path(course.root, f"{options.lesson}-autograder.zip")
        pack(course, options.lesson, place)
        print(f"Written: {place} (the answers are in it: for Gradescope only)")
        return 0
    done = export(
        course, options.format, options.lesson, options.output, options.partial, options.into
    )
    print(
        f"Written: {done.path}" + (f" ({done.files} files)" if options.format == GRADESCOPE else "")
    )
    lost = [one for one in done.look.misplaced if not one.spare]
    absent = {
        "Left out, as they are not final": done.look.not_final,
        "Not in it, as nobody looks for a notebook there": lost,
    }
    more = "`autograder status` names them."
    said = [f"{words}: {len(found)}. {more}" for words, found in absent.items() if found]
    for remark in (*done.remarks, *said):
        print(remark, file=sys.stderr)
    return 0


def export(
    course: CourseDirectory, kind: str, lesson: str | None = None, output: Path | None = None,
    partial: bool = False, into: Path | None = None,
) -> Exported:  # fmt: skip
    """Write the scores as they stand in the gradebook, a person's corrections included.

    kind     CSV, CANVAS or MOODLE (a file), or GRADESCOPE (a folder with LESSON/STUDENT/results.json)
    lesson   None: all lessons the gradebook knows
    partial  leave out what is not final (not graded, changed since, waits for a person)
    into     the table that Canvas or Moodle wrote, which is filled in (and not changed itself)
    Raises Trouble if something is not final and `partial` is not set, and for a wrong `into`; NoLesson for a
    name that the gradebook does not know, CannotWrite where there is no gradebook.
    """
    if kind == MOODLE if into is None else kind not in (CANVAS, MOODLE):
        raise Trouble(
            "Moodle's own worksheet is filled in (--into FILE), or Canvas's own gradebook; nothing else."
        )
    if kind == MOODLE and lesson is None:
        raise Trouble("A worksheet of Moodle is of one assignment: say which with --lesson.")
    with reading(course) as connection:
        every = {one.name: one for one in read_lessons(connection)}
        if lesson is not None and lesson not in every:
            raise NoLesson(f"There is no lesson {lesson}. {the_names('lessons', lesson, [*every])}")
        names = [*every] if lesson is None else [lesson]
        used = [name for name in lessons_handed_in(course) if name in names]
        look = overview(course, connection, names, used)
        scores = {(one.student, one.lesson): one for one in read_scores(connection, names)}
        students = read_students(connection)
        comments = {name: read_comments(connection, name) for name in names}
    if look.not_final and not partial:
        raise Trouble(filled("not_final.txt.j2", those=look.not_final))
    left_out = {(one.student, one.lesson) for one in look.not_final}
    if kind == CANVAS and lesson is None:  # no empty columns for lessons that are yet to come
        names = [one for one in names if any(one == name for _, name in scores.keys() | left_out)]
    scores = {key: score for key, score in scores.items() if key not in left_out}
    if kind == GRADESCOPE:
        folder, records = output or Path(course.root, "gradescope"), Records(Path(course.root))
        for (student, name), score in scores.items():
            said = [text for _, text, by_person in comments[name].get(student, ()) if by_person]
            place = folder / file_name(name) / file_name(student)
            place.mkdir(parents=True, exist_ok=True)
            replace_file(place / "results.json", results(score, records.read(student, name), said))
        return Exported(folder, len(scores), look)
    lessons, points = [every[name] for name in names], {k: one.points for k, one in scores.items()}
    if kind == CSV:
        table = Filled(nbgrader_csv(students, lessons, scores, left_out), [])
    elif into is None:
        table = Filled(canvas_csv(students, lessons, points), [])
    elif kind == CANVAS:
        table = fill_canvas(into.read_bytes(), students, lessons, points)
    else:
        table = fill_moodle(into.read_bytes(), students, lessons[0], points)
    path = output or Path(course.root, f"{'grades' if kind == CSV else kind}.csv")
    replace_file(path, table.text.encode("utf-8"))
    return Exported(path, 1, look, table.remarks)


# As `nbgrader export` has them.
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip
# The columns that Canvas needs before those of the assignments, in this order.
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_POINTS_ROW = "    Points Possible"  # so indented in Canvas's own exports

Key = tuple[str, str]  # student, lesson


def nbgrader_csv(
    students: Sequence[Student], lessons: Sequence[LessonScore], scores: Mapping[Key, Score],
    left_out: Collection[Key],
) -> str:  # fmt: skip
    """What `nbgrader export` writes, but with names quoted that need it.

    A student who handed nothing in has 0 points, as there; one who is left out has no line.
    """
    rows: list[Sequence[object]] = [COLUMNS]
    for lesson in lessons:
        for one in students:
            key = (one.id, lesson.name)
            score = scores.get(key, Score(*key, None, 0.0))
            if key not in left_out:
                rows.append((
                    lesson.name, lesson.due or "", score.handed_in or "", one.id, one.last_name,
                    one.first_name, one.email, float(score.before_penalty), float(score.penalty),
                    float(score.points), lesson.points,
                ))  # fmt: skip
    return _csv(rows)


def canvas_csv(
    students: Sequence[Student], lessons: Sequence[LessonScore], points: Mapping[Key, float]
) -> str:
    """A table that Canvas's gradebook imports: a column a lesson, named as the lesson is.

    Canvas finds a student by the ID (the gradebook's lms_user_id), then by the SIS names, which
    are the student's id here. Who handed nothing in, or is left out, has an empty field.
    """
    rows: list[Sequence[object]] = [
        (*CANVAS_COLUMNS, *(lesson.name for lesson in lessons)),
        (CANVAS_POINTS_ROW, "", "", "", "", *(_number(one.points) for one in lessons)),
    ]
    for one in students:
        given = (points.get((one.id, lesson.name)) for lesson in lessons)
        fields = ("" if number is None else _number(number) for number in given)
        rows.append((one.name, one.lms, one.id, one.id, "", *fields))
    return _csv(rows)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before what might be one."""
    text = text.replace("\r", "\n")  # Python's csv module quotes only one of them
    begin = unicodedata.normalize("NFKC", text).lstrip(" ")[:1]
    return f"'{text}" if begin and begin in "=+-@\t\r\n" else text


def _number(value: float) -> str:
    return f"{value:.10g}"


def _csv(rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [field if isinstance(field, float) else harmless(str(field)) for field in row]
        for row in rows
    )
    return out.getvalue().encode("utf-8", "replace").decode("utf-8")
