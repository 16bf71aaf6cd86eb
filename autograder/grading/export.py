"""Scores for other programs: nbgrader's own columns, Canvas's, Moodle's and Gradescope's."""

from __future__ import annotations

import argparse
import csv
import io
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.class_overview import Overview, overview
from autograder.grading.database import reading
from autograder.grading.gradescope import pack, results
from autograder.grading.handed_in import lessons_handed_in
from autograder.grading.kept_files import replace_file
from autograder.grading.records import file_name
from autograder.grading.scores import Score, read_comments, read_lessons
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
        comments = {name: read_comments(connection, name) for name in names}
    if look.not_final and not partial:
        raise Trouble(filled("not_final.txt.j2", those=look.not_final))
    if kind == CANVAS and lesson is None:  # no empty columns for lessons that are yet to come
        names = [name for name in names if any(one.lesson == name for one in look.every)]
    final = {(one.student, one.lesson): one for one in look.every if one.is_final}
    scores = {key: one.score for key, one in final.items() if one.score}
    if kind == GRADESCOPE:
        folder = output or Path(course.root, "gradescope")
        for (student, name), score in scores.items():
            said = [text for _, text, by_person in comments[name].get(student, ()) if by_person]
            place = folder / file_name(name) / file_name(student)
            place.mkdir(parents=True, exist_ok=True)
            data = results(score, final[student, name].record, said)
            replace_file(place / "results.json", data)
        return Exported(folder, len(scores), look)
    lessons, points = [every[name] for name in names], {k: one.points for k, one in scores.items()}
    name, students = "grades" if kind == CSV else kind, look.students
    if into is None:
        left_out = {(one.student, one.lesson) for one in look.not_final}
        facts = {"students": students, "lessons": lessons, "scores": scores, "left_out": left_out}
        nobody = Score("", "", None, 0.0)
        table = Filled(filled(f"{name}.csv.j2", row=_row, nothing=nobody, **facts), [])
    elif kind == CANVAS:
        table = fill_canvas(into.read_bytes(), students, lessons, points)
    else:
        table = fill_moodle(into.read_bytes(), students, lessons[0], points)
    path = output or Path(course.root, f"{name}.csv")
    replace_file(path, table.text.encode("utf-8", "replace"))
    return Exported(path, 1, look, table.remarks)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before what might be one."""
    text = text.replace("\r", "\n")  # Python's csv module quotes only one of them
    begin = unicodedata.normalize("NFKC", text).lstrip(" ")[:1]
    return f"'{text}" if begin and begin in "=+-@\t\r\n" else text


def _row(fields: Sequence[object]) -> str:
    """A line of a table."""
    out = io.StringIO()
    given = [field if isinstance(field, float) else harmless(str(field)) for field in fields]
    csv.writer(out, lineterminator="\n").writerow(
        given
    )  # which quotes what has an end of a line in it
    return out.getvalue()[:-1]
