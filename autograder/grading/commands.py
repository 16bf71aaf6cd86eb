"""What instructors type: every command of the grading room with its options, and the small ones themselves."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory

from autograder.grading.accept_command import run_accept
from autograder.grading.box import Limits
from autograder.grading.class_overview import as_lines, in_words, overview
from autograder.grading.course import course_in
from autograder.grading.database import reading
from autograder.grading.doctor import run_doctor
from autograder.grading.export import CSV, FORMATS, GRADESCOPE, export
from autograder.grading.feedback import run_feedback
from autograder.grading.grade_command import run_grade
from autograder.grading.gradescope import pack
from autograder.grading.processes import processors
from autograder.grading.replay import run_replay
from autograder.grading.summary import write_summary

EXIT_DONE = 0
AUTOGRADER = "gradescope-autograder"


def add_commands(commands: Any) -> None:
    """Add the commands to argparse's subparsers."""

    def add(
        name: str, run: Callable[..., int], help: str, lessons: str = "", more: str = ""
    ) -> Callable[..., Any]:
        """A command on a course; gives what adds its options."""
        parser = commands.add_parser(name, help=help, description=f"{help.capitalize()}. {more}")
        if lessons:
            parser.add_argument("lesson", nargs="*", help=lessons)
        parser.add_argument(
            "--course", type=Path, default=Path("."), metavar="FOLDER",
            help="the folder with nbgrader_config.py (default: this one)",
        )  # fmt: skip
        parser.add_argument(
            "--db", metavar="URL", help="another gradebook, as SQLAlchemy writes it"
        )
        parser.set_defaults(run=lambda o: run(o, course_in(o.course, o.db)))
        option: Callable[..., Any] = parser.add_argument
        return option

    handed_in = "lessons; without one, all that were handed in"
    option = add(
        "grade", run_grade, "grade what was handed in, into nbgrader's gradebook", handed_in,
        "What has not changed since it was graded stays as it is.",
    )  # fmt: skip
    option("--student", metavar="ID", help="only this student's work")
    option("--all", action="store_true", help="also what has not changed")
    most = "how many submissions at a time (default: one a processor)"
    option("--jobs", "-j", type=int, default=processors(), metavar="N", help=most)
    option("--scheduler", default="", metavar="ADDRESS", help="a Dask scheduler")
    option("--device", choices=("cpu", "cuda"), default="cpu")
    at_most = "at most, for one submission (default: %(default)g)"
    option("--seconds", type=float, default=Limits().seconds, help=at_most)
    own_tests = "also run graded cells that are no check(…), in the submission's own process"
    option("--run-tests", action="store_true", help=own_tests)
    option("--json", action="store_true", help="one JSON line a result, for scripts")
    trusted = "without a sandbox: only for work of people you trust (see `autograder doctor`)"
    option("--unsafe", action="store_true", help=trusted)

    option = add("status", _status, "say who is graded, who needs a person, and why", handed_in)
    option("--json", action="store_true", help="one JSON line a student and lesson")

    option = add(
        "feedback", run_feedback, "write the feedback pages that are missing or out of date",
        "lessons; without one, all that are graded",
    )  # fmt: skip
    option("--student", metavar="ID", help="only this student's pages")
    option("--all", action="store_true", help="also pages that are up to date")
    option("--jobs", "-j", type=int, default=processors(), metavar="N", help="pages at a time")

    option = add(
        "accept", run_accept, "let submissions pass whose lines you have looked at",
        more="The checks' own points are given to a submission that waits because of lines that "
        "`autograder status` names. It says which lines these are, and asks. Work that is handed in "
        "again waits again.",
    )  # fmt: skip
    option("student", nargs="?", help="whose; without one, --reason says what is accepted")
    option("lesson", nargs="*")
    wanted = "accept everybody who waits for nothing but lines with these words in them"
    option("--reason", metavar="WORDS", help=wanted)
    option("--yes", action="store_true", help="do not ask")
    option("--by", metavar="NAME", default=_me(), help="who accepts it (default: %(default)s)")
    option("--withdraw", action="store_true", help="take it back: graded again, it waits as before")

    option = add(
        "export", _export, "write the gradebook's scores for another program",
        more="csv: as `nbgrader export` has them. canvas: a table for Canvas's gradebook, or with --into "
        "Canvas's own, filled in. moodle: its offline grading worksheet, filled in. gradescope: "
        "LESSON/STUDENT/results.json. gradescope-autograder: the zip that grades a lesson there.",
    )  # fmt: skip
    option("--format", choices=(*FORMATS, AUTOGRADER), default=CSV)
    option("--lesson", help="only this lesson")
    own = (
        "the table that Canvas or Moodle exported: it is filled in, its ids, columns and order kept"
    )
    option("--into", type=Path, metavar="FILE", help=own)
    where = "where to (default: grades.csv, canvas.csv, moodle.csv or the folder gradescope/)"
    option("--output", "-o", type=Path, metavar="PATH", help=where)
    option("--partial", action="store_true", help="leave out what is not final")

    option = add(
        "summary", _summary, "write a page about the class: scores, and what to teach again",
        handed_in,
    )  # fmt: skip
    page = "where to (default: grading/summary.html)"
    option("--output", "-o", type=Path, metavar="FILE", help=page)

    option = add(
        "replay", run_replay, "grade one submission again with its own seed and show every value",
        more="For an appeal: the very same checks again, with inputs, values and seeds, beside what "
        "was recorded. Nothing is written. Not for learners' eyes while others still work.",
    )  # fmt: skip
    option("student")
    option("lesson")
    option("--exercise", metavar="NAME", help="only this exercise, or graded cell")
    option("--device", choices=("cpu", "cuda"), default="cpu", help="as it was graded")
    option("--run-tests", action="store_true", help="as it was graded")
    option("--unsafe", action="store_true", help="without a sandbox")

    doctor = commands.add_parser("doctor", help="say what this machine can and cannot isolate")
    doctor.set_defaults(run=run_doctor)


def _status(options: argparse.Namespace, course: CourseDirectory) -> int:
    with reading(course) as connection:
        found = overview(course, connection, list(dict.fromkeys(options.lesson)))
    if options.json:
        for line in as_lines(found):
            print(json.dumps(line))
    else:
        print(in_words(found))
    return EXIT_DONE


def _export(options: argparse.Namespace, course: CourseDirectory) -> int:
    if options.format == AUTOGRADER:
        if options.lesson is None:
            raise ValueError("Say with --lesson which lesson the autograder is for.")
        place = options.output or Path(course.root, f"{options.lesson}-autograder.zip")
        pack(course, options.lesson, place)
        print(f"Written: {place} (the answers are in it: for Gradescope only)")
        return EXIT_DONE
    done = export(
        course, options.format, options.lesson, options.output, options.partial, options.into
    )
    many = f" ({done.files} files)" if options.format == GRADESCOPE else ""
    print(f"Written: {done.path}{many}")
    for remark in done.remarks:
        print(remark, file=sys.stderr)
    for found, words in (
        (done.left_out, "Left out, as they are not final"),
        (done.misplaced, "Not in it, as nobody looks for a notebook there"),
    ):
        if found:
            print(f"{words}: {len(found)}. `autograder status` names them.", file=sys.stderr)
    return EXIT_DONE


def _summary(options: argparse.Namespace, course: CourseDirectory) -> int:
    path = write_summary(course, list(dict.fromkeys(options.lesson)), options.output)
    print(f"Written: {path} (open it in a browser; it is for instructors only)")
    return EXIT_DONE


def _me() -> str:
    """Who runs this, as far as the system knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "a person"
