"""`autograder status`, `export` and `summary`: what an instructor asks once a class is graded."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from autograder.grading.accept_command import add_accept
from autograder.grading.course import CannotWrite, open_course, open_gradebook
from autograder.grading.export import CSV, FORMATS, GRADESCOPE, NotFinal, export
from autograder.grading.feedback_command import add_feedback
from autograder.grading.grade_command import add_course_options
from autograder.grading.lesson import NoLesson
from autograder.grading.standing import as_lines, in_words, overview
from autograder.grading.summary_page import write_summary

EXIT_DONE, EXIT_FAILED = 0, 1


def add_commands(commands: Any) -> None:
    """Add the commands to argparse's subparsers."""
    add_feedback(commands)
    add_accept(commands)
    status = commands.add_parser(
        "status", help="say who is graded, who is not yet, and who needs a person and why"
    )
    status.add_argument("lesson", nargs="*", help="lessons; without one, all that were handed in")
    status.add_argument("--json", action="store_true", help="one JSON line a student and lesson")
    add_course_options(status)
    status.set_defaults(run=_run_status)

    exporting = commands.add_parser(
        "export", help="write the gradebook's scores for another program",
        description="csv: as `nbgrader export` has them. canvas: a table for Canvas's gradebook. "
        "gradescope: LESSON/STUDENT/results.json.",
    )  # fmt: skip
    exporting.add_argument("--format", choices=FORMATS, default=CSV)
    exporting.add_argument("--lesson", help="only this lesson")
    exporting.add_argument(
        "--output", "-o", type=Path, metavar="PATH",
        help="where to (default: grades.csv, canvas.csv or the folder gradescope/ of the course)",
    )  # fmt: skip
    exporting.add_argument(
        "--partial", action="store_true", help="leave out what is not final, and export the rest"
    )
    add_course_options(exporting)
    exporting.set_defaults(run=_run_export)

    summary = commands.add_parser(
        "summary", help="write a page about the class: scores, and what to teach again"
    )
    summary.add_argument("lesson", nargs="*", help="lessons; without one, all that were handed in")
    summary.add_argument(
        "--output", "-o", type=Path, metavar="FILE", help="where to (default: grading/summary.html)"
    )
    add_course_options(summary)
    summary.set_defaults(run=_run_summary)


def _run_status(options: argparse.Namespace) -> int:
    try:
        course = open_course(options.course, options.db)
        gradebook = open_gradebook(course)
        try:
            with gradebook.engine.connect() as connection:
                found = overview(course, connection, list(dict.fromkeys(options.lesson)))
        finally:
            gradebook.close()
    except (CannotWrite, NoLesson) as error:
        return _failed(error)
    if options.json:
        for line in as_lines(found):
            print(json.dumps(line))
    else:
        print(in_words(found))
    return EXIT_DONE


def _run_export(options: argparse.Namespace) -> int:
    try:
        course = open_course(options.course, options.db)
        done = export(course, options.format, options.lesson, options.output, options.partial)
    except (CannotWrite, NoLesson, NotFinal, OSError) as error:
        return _failed(error)
    many = f" ({done.files} files)" if options.format == GRADESCOPE else ""
    print(f"Written: {done.path}{many}")
    if done.left_out:
        print(
            f"Left out, as they are not final: {len(done.left_out)}. `autograder status` names them.",
            file=sys.stderr,
        )
    if done.misplaced:
        print(
            f"Not in it, as nobody looks for a notebook there: {len(done.misplaced)}. "
            "`autograder status` names them.",
            file=sys.stderr,
        )
    return EXIT_DONE


def _run_summary(options: argparse.Namespace) -> int:
    try:
        course = open_course(options.course, options.db)
        path = write_summary(course, list(dict.fromkeys(options.lesson)), options.output)
    except (CannotWrite, NoLesson, OSError) as error:
        return _failed(error)
    print(f"Written: {path} (open it in a browser; it is for instructors only)")
    return EXIT_DONE


def _failed(error: Exception) -> int:
    print(f"autograder: {error}", file=sys.stderr)
    return EXIT_FAILED
