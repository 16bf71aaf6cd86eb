"""`autograder replay`: for an appeal, the very same checks again, beside what was recorded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.batch import score_of
from autograder.grading.box import Walls
from autograder.grading.database import reading
from autograder.grading.execute import how_to_grade
from autograder.grading.handed_in import find, lesson_files
from autograder.grading.marking import How
from autograder.grading.one_submission import close_boxes, grade
from autograder.grading.processes import refuse_without_gpu
from autograder.grading.records import Records
from autograder.grading.words import CannotWrite, filled, the_names
from autograder.learner.lesson import LessonFiles, NoLesson, read_lesson

EXIT_SAME, EXIT_OTHER = 0, 1


def run_replay(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Print the reports; 0 if every mark is as recorded, 1 if one is another.

    Raises ValueError for an exercise that the lesson does not have.
    """
    refuse_without_gpu(options.device)
    files = lesson_files(course, options.lesson)
    wanted = _wanted(files, options.exercise)
    found = find(course, options.lesson, options.student)
    if not found:
        raise NoLesson(f"{options.student} handed nothing in for {options.lesson}.")
    record = Records(Path(course.root)).read(options.student, options.lesson)
    walls = Walls.none() if options.unsafe else Walls()
    how = How(device=options.device, walls=walls, tests=options.run_tests)
    how = how_to_grade(course, files.name, how)
    result = grade(found[0].read(), files, how)
    close_boxes()
    marks = [mark for mark in result.marks if mark.grade_id in wanted]
    if record is None:
        print("It has not been graded yet: nothing to compare with.", file=sys.stderr)
    elif record.result.content != result.content:
        changed = "What was handed in, or the lesson, has changed since it was graded."
        print(changed, file=sys.stderr)
    recorded = {mark.grade_id: mark.points for mark in record.result.marks} if record else {}
    pairs = [(mark, recorded.get(mark.grade_id)) for mark in marks if record]
    different = [(mark, before) for mark, before in pairs if before != mark.points]
    try:
        with reading(course) as connection:
            score = score_of(connection, options.student, options.lesson)
    except CannotWrite as error:  # the comparison stands without it
        print(f"autograder: {error}", file=sys.stderr)
        score = None
    kept = [one for one in (score.cells if score else ()) if one.by_hand and one.name in wanted]
    reasons = result.reasons if any(mark.points is None for mark in marks) else ()
    facts = {"marks": marks, "reasons": reasons, "record": record, "different": different}
    print(filled("replay.txt.j2", kept=kept, **facts), end="")
    return EXIT_OTHER if different else EXIT_SAME


def _wanted(files: LessonFiles, name: str | None) -> set[str]:
    """The graded cells that are asked for. Raises ValueError where there is none of that name."""
    graded = read_lesson(files).graded.values()
    found = {one.grade_id for one in graded if name in (None, one.exercise, one.grade_id)}
    if name is not None and not found:
        names = [*dict.fromkeys(one.exercise for one in graded if one.exercise)]
        names += [one.grade_id for one in graded]
        raise ValueError(f"{files.name} has no exercise {name}. {the_names('names', name, names)}")
    return found
