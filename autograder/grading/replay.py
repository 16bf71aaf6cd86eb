"""`autograder replay`: grades one submission again with the seed it was graded with, for an appeal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.grading.batch import Order, Reader, how_to_grade
from autograder.grading.box import Walls
from autograder.grading.course import CannotWrite
from autograder.grading.grade_command import add_course_options, course_of
from autograder.grading.handed_in import find, lesson_files, printable, the_names
from autograder.grading.lesson import LessonFiles, NoLesson, read_lesson
from autograder.grading.records import Records
from autograder.grading.result import Mark, Result
from autograder.grading.scores import Score
from autograder.grading.troubles import refuse_without_gpu
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
    parser.add_argument("--exercise", metavar="NAME", help="only this exercise, or graded cell")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="as it was graded")
    parser.add_argument("--run-tests", action="store_true", help="as it was graded")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    parser.set_defaults(run=run_replay)


def run_replay(options: argparse.Namespace) -> int:
    """Print the reports; 0 if every mark is as recorded, 1 if one is another.

    Raises ValueError for an exercise that the lesson does not have.
    """
    refuse_without_gpu(options.device)
    course = course_of(options)
    files = lesson_files(course, options.lesson)
    wanted = _wanted(files, options.exercise)
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
    marks = [mark for mark in result.marks if mark.grade_id in wanted]
    for reason in result.reasons:
        print(f"A person decides: {printable(reason)}\n")
    for mark in marks:
        if mark.report:
            print(_mark_in_words(mark))
    status = EXIT_SAME
    if record is None:
        print("It has not been graded yet: nothing to compare with.", file=sys.stderr)
    else:
        if record.result.content != content_hash(submission, files, how):
            print(
                "What was handed in, or the lesson, has changed since it was graded.",
                file=sys.stderr,
            )
        status = _compare(record.result, marks)
        if record.accepted is not None:
            words = f"The points of what a person decides were {record.accepted}: what the checks found."
            print(printable(words))
    try:
        with Reader(course) as reader:
            _say_kept(reader.score(options.student, options.lesson), marks)
    except CannotWrite as error:  # the comparison stands without it
        print(f"autograder: {error}", file=sys.stderr)
    return status


def _wanted(files: LessonFiles, name: str | None) -> set[str]:
    """The graded cells that are asked for. Raises ValueError where there is none of that name."""
    graded = read_lesson(files).graded.values()
    found = {one.grade_id for one in graded if name in (None, one.exercise, one.grade_id)}
    if name is not None and not found:
        names = [*dict.fromkeys(one.exercise for one in graded if one.exercise)]
        names += [one.grade_id for one in graded]
        raise ValueError(f"{files.name} has no exercise {name}. {the_names('names', name, names)}")
    return found


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


def _compare(before: Result, now: Sequence[Mark]) -> int:
    recorded = {mark.grade_id: mark.points for mark in before.marks}
    different = [m for m in now if recorded.get(m.grade_id) != m.points]
    for mark in different:
        print(f"{mark.grade_id}: recorded {recorded.get(mark.grade_id)}, now {mark.points}")
    if not different:
        one = len(now) == 1
        print("The mark is as recorded." if one else f"All {len(now)} marks are as recorded.")
    return EXIT_OTHER if different else EXIT_SAME


def _say_kept(score: Score | None, marks: Sequence[Mark]) -> None:
    """Which of these marks do not count, since a person gave other points."""
    by_hand = {cell.name: cell for cell in score.cells if cell.by_hand} if score else {}
    kept = [by_hand[mark.grade_id] for mark in marks if mark.grade_id in by_hand]
    if not kept:
        return
    print("In the gradebook these have points given by hand, which are kept and count:")
    for cell in kept:
        print(f"  {cell.name}: {cell.points:g} of {cell.max_points:g}")
    if any(cell.waits for cell in kept):
        print("Something was handed in since they were given: a person decides what counts.")
