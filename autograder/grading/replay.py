"""`autograder replay`: grades one submission again with the seed it was graded with, for an appeal."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.grading.batch import Order, how_to_grade
from autograder.grading.box import Walls
from autograder.grading.grade_command import add_course_options, course_of
from autograder.grading.handed_in import find, lesson_files
from autograder.grading.lesson import NoLesson
from autograder.grading.records import Records
from autograder.grading.result import Mark, Result
from autograder.grading.work import close_boxes, content_hash, grade

EXIT_SAME, EXIT_OTHER, EXIT_USAGE = 0, 1, 2


def add_replay(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = commands.add_parser(
        "replay", help="grade one submission again with its own seed and show every value",
        description="For an appeal: the very same checks again, with inputs, values and seeds, "
        "beside what was recorded. Nothing is written. Not for learners' eyes while others still work.",
    )  # fmt: skip
    parser.add_argument("student")
    parser.add_argument("lesson")
    add_course_options(parser)
    parser.add_argument("--exercise", help="only this exercise")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="as it was graded")
    parser.add_argument("--run-tests", action="store_true", help="as it was graded")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    parser.set_defaults(run=run_replay)


def run_replay(options: argparse.Namespace) -> int:
    """Print the reports; 0 if every mark is as recorded, 1 if one is another."""
    course = course_of(options)
    files = lesson_files(course, options.lesson)
    found = find(course, options.lesson, options.student)
    if not found:
        raise NoLesson(f"{options.student} handed nothing in for {options.lesson}.")
    record = Records(Path(course.root)).read(options.student, options.lesson)
    order = Order((options.lesson,), device=options.device, tests=options.run_tests)
    how = how_to_grade(course, options.lesson, order, ())
    if options.unsafe:
        how = replace(how, walls=Walls.none())
    submission = found[0].read()
    result = grade(submission, files, how)
    close_boxes()
    for mark in result.marks:
        if mark.report and options.exercise in (None, mark.exercise):
            print(_mark_in_words(mark))
    if record is None:
        print("It has not been graded yet: nothing to compare with.", file=sys.stderr)
        return EXIT_SAME
    if record.result.content != content_hash(submission, files, how):
        print(
            "What was handed in, or the lesson, has changed since it was graded.", file=sys.stderr
        )
    return _compare(record.result, result)


def _mark_in_words(mark: Mark) -> str:
    kind = "complete" if mark.hidden else "visible"
    points = (
        "a person decides" if mark.points is None else f"{mark.points:g} of {mark.max_points:g}"
    )
    lines = [f"{mark.exercise}, {kind} check ({mark.grade_id}): {points}"]
    report = mark.report
    lines.append(f"  {report.get('headline', '')}")
    for finding in report.get("findings", []):
        lines.append(f"  {finding['rule']}: {finding['message']}")
        lines += [f"    {name} = {value}" for name, value in finding.get("evidence", {}).items()]
    lines.append(f"  seed {report.get('seed')}")
    return "\n".join(lines) + "\n"


def _compare(before: Result, now: Result) -> int:
    recorded = {mark.grade_id: mark.points for mark in before.marks}
    different = [m for m in now.marks if recorded.get(m.grade_id) != m.points]
    for mark in different:
        print(f"{mark.grade_id}: recorded {recorded.get(mark.grade_id)}, now {mark.points}")
    if not different:
        print(f"All {len(now.marks)} marks are as recorded.")
    return EXIT_OTHER if different else EXIT_SAME
