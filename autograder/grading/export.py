"""Scores for other programs: nbgrader's own columns, Canvas's, Moodle's and Gradescope's.

Gradescope can also grade each submission itself, in a container of its own: with a zip of a lesson, the grader
and two scripts, `setup.sh` (which runs once) and `run_autograder`. Both are named, and the folders lie, as
Gradescope's documentation of autograders says.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import pickle
import sys
import tomllib
import unicodedata
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.explaining.pages import TITLES
from autograder.grading.box import Walls, trouble
from autograder.grading.class_overview import NO_SCORE, Overview, overview
from autograder.grading.database import reading
from autograder.grading.execute import how_to_grade
from autograder.grading.handed_in import HandedIn, lesson_files, lessons_handed_in, notebooks_in
from autograder.grading.kept_files import replace_file
from autograder.grading.marking import How, Result
from autograder.grading.one_submission import Submission, close_boxes, grade
from autograder.grading.records import Record, file_name, new_record
from autograder.grading.scores import CellScore, Score, read_comments, read_lessons
from autograder.grading.words import Trouble, filled
from autograder.grading.worksheets import Filled, fill_canvas, fill_moodle
from autograder.learner.lesson import LessonFiles

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
    lesson, place = options.lesson, options.output
    if options.format == "gradescope-autograder":
        if lesson is None:
            raise ValueError("Say with --lesson which lesson the autograder is for.")
        place = pack(course, lesson, place or Path(course.root, f"{lesson}-autograder.zip"))
        print(f"Written: {place} (the answers are in it: for Gradescope only)")
        return 0
    done = export(course, options.format, lesson, place, options.partial, options.into)
    files = f" ({done.files} files)" if options.format == GRADESCOPE else ""
    print(f"Written: {done.path}{files}")
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
        lessons = read_lessons(connection, [lesson] if lesson is not None else ())
        names = [one.name for one in lessons]
        used = [name for name in lessons_handed_in(course) if name in names]
        look = overview(course, connection, names, used)
        said_for = names if kind == GRADESCOPE else ()
        comments = {name: read_comments(connection, name) for name in said_for}
    if look.not_final and not partial:
        raise Trouble(filled("not_final.txt.j2", those=look.not_final))
    final = [one for one in look.every if one.is_final]
    scores = {(one.student, one.lesson): one.score for one in final}
    if kind == GRADESCOPE:
        folder = output or Path(course.root, "gradescope")
        for one in final:
            told = comments[one.lesson].get(one.student, ())
            said = [text for _, text, by_person in told if by_person]
            place = folder / file_name(one.lesson) / file_name(one.student) / "results.json"
            replace_file(place, results(one.score, one.record, said))
        return Exported(folder, len(final), look)
    if into is not None:
        points = {key: one.points for key, one in scores.items()}
        given = (into.read_bytes(), look.students, lessons, points)
        table = fill_canvas(*given) if kind == CANVAS else fill_moodle(*given)
    else:
        if kind == CANVAS and lesson is None:  # no empty columns for lessons that are yet to come
            there = {one.lesson for one in look.every}
            lessons = [one for one in lessons if one.name in there]
        facts = {"students": look.students, "lessons": lessons, "scores": scores, "row": _row}
        left_out = {(one.student, one.lesson) for one in look.not_final}
        template = "grades.csv.j2" if kind == CSV else "canvas.csv.j2"
        table = Filled(filled(template, left_out=left_out, nothing=NO_SCORE, **facts), [])
    path = output or Path(course.root, "grades.csv" if kind == CSV else f"{kind}.csv")
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


# ---- Gradescope ----------------------------------------------------------------------------


def results(score: Score, record: Record, comments: Sequence[str] = ()) -> bytes:
    """One student's results.json, with the scores of the gradebook.

    Learners see the first checks at once, and the rest when the instructor publishes grades.

    record    what the grader remembers, for the words
    comments  what people wrote to the student
    """
    marks = {mark.grade_id: mark for mark in record.result.marks}
    order = [*marks, *(cell.name for cell in score.cells)]
    text = filled(
        "gradescope/results.json.j2", score=score, marks=marks, titles=TITLES,
        cells=sorted(score.cells, key=lambda cell: order.index(cell.name)),
        comments=[f"Comment: {comment}" for comment in comments],
    )  # fmt: skip
    return json.dumps(json.loads(text), indent=1).encode("ascii")


REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = "/opt/backward-by-hand/bin/python"
# Where namespaces are forbidden, as in most containers, what needs none of them still holds.
WALLS = (
    Walls(),
    Walls(outer=False, namespaces=False),
    Walls(outer=False, namespaces=False, landlock=False),
    Walls.none(),
)


def pack(course: CourseDirectory, lesson: str, path: Path) -> Path:
    """Write the zip that grades a lesson on Gradescope, with the course's seed and settings.

    Raises NoLesson for a lesson there is none of, Trouble where this is no clone of the course.
    """
    listing = REPOSITORY / "pyproject.toml"
    if not listing.is_file():
        raise Trouble("The zip is made in a clone of this course: what it needs is listed there.")
    needs = tomllib.loads(listing.read_text("utf-8"))["project"]["dependencies"]
    torch = next(one for one in needs if one.startswith("torch"))
    given = pickle.dumps((lesson_files(course, lesson), how_to_grade(course, lesson, How())))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        index = os.environ.get("TORCH_INDEX", "")
        for name in ("setup.sh", "run_autograder"):
            script = zipfile.ZipInfo(name)
            script.external_attr = 0o100755 << 16
            facts = {"python": PYTHON, "torch": torch, "index": index}
            archive.writestr(script, filled(f"gradescope/{name}.j2", **facts) + "\n")
        archive.writestr("requirements.txt", "\n".join(needs) + "\n")
        archive.writestr("lesson.pickle", given)
        for package in ("autograder", "widgets"):
            for file in sorted((REPOSITORY / package).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, Path("course", file.relative_to(REPOSITORY)))
    return path


def main(place: Path) -> int:
    """Grade what lies in submission/ of Gradescope's folder, into results/results.json."""
    given: tuple[LessonFiles, How] = pickle.loads((place / "source/lesson.pickle").read_bytes())
    files, how = given
    walls = next(one for one in WALLS if one == WALLS[-1] or not trouble(one))
    result = grade(_handed_in(place / "submission", files.name), files, replace(how, walls=walls))
    close_boxes()
    data = results(_score(result), new_record(result))
    replace_file(place / "results" / "results.json", data)
    print(f"Graded {files.name}: {result.score:g} of {result.max_score:g}. {walls}")
    print(*result.reasons, sep="\n")
    return 0


def _handed_in(folder: Path, lesson: str) -> Submission:
    """The lesson's notebook, or the only one there, whatever its name."""
    there = notebooks_in(folder)
    return HandedIn("", lesson, folder).read(there[0] if len(there) == 1 else None)


def _score(result: Result) -> Score:
    """The score as a gradebook would have it."""
    cells = (
        CellScore(
            mark.grade_id, result.lesson, mark.points or 0.0, mark.max_points, mark.points is None,
            mark.points,
        )
        for mark in result.marks
    )  # fmt: skip
    return Score(result.student, result.lesson, None, 0.0, tuple(cells))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
