"""`autograder grade`: everything handed in, graded, with a progress bar and a summary."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from nbgrader.coursedir import CourseDirectory

from autograder.grading.batch import Order, Tally, grade_all
from autograder.grading.class_overview import WAITS, Overview, Standing
from autograder.grading.class_overview import in_words as standing_in_words
from autograder.grading.course import prepare
from autograder.grading.database import NONE_YET, is_there
from autograder.grading.handed_in import find_misplaced, lesson_names, lessons_handed_in
from autograder.grading.marking import How
from autograder.grading.processes import refuse_without_gpu
from autograder.grading.progress_bar import progress
from autograder.grading.words import Trouble, filled
from autograder.learner.lesson import NoLesson

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130


def run_grade(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Grade, and say how it went; 0 only if everything was graded or marked for a person."""
    if options.jobs < 1:
        raise ValueError("--jobs is a number of processes, 1 or more.")
    if not options.seconds > 0:
        raise ValueError("--seconds is a time, more than 0.")
    refuse_without_gpu(options.device, options.scheduler)
    if not is_there(course):
        prepare(course, NONE_YET)
    elif not lesson_names(course):
        prepare(course, f"There is no lesson in {course.source_directory}/.")
    lessons = tuple(dict.fromkeys(options.lesson)) or tuple(lessons_handed_in(course))
    if not lessons:
        print(
            f"Nothing was handed in: no lesson has a submission in {course.submitted_directory}/.",
            file=sys.stderr if options.json else sys.stdout,
        )
        return _say_misplaced(course, options.student, options.json)
    how = How.given(options.device, options.unsafe, options.run_tests, options.seconds)
    order = Order(lessons, options.student, options.all, options.jobs, options.scheduler, how)
    if options.unsafe:
        print("--unsafe: submissions run WITHOUT a sandbox, as you.", file=sys.stderr)
    status = _grade(course, order, options.json)
    if status == EXIT_INTERRUPTED:
        return status
    return max(status, _say_misplaced(course, options.student, options.json))


def _say_misplaced(course: CourseDirectory, student: str | None, as_json: bool) -> int:
    """Name the notebooks that nobody looks for; the exit status is 1 where one may be lost."""
    found = [
        one for one in find_misplaced(course, frozenset(filter(None, [student])))
        if student in (None, one.student)
    ]  # fmt: skip
    if as_json:
        for one in found:
            print(json.dumps(one.as_data()), flush=True)
    elif found:
        print(standing_in_words(Overview((), (), {}, tuple(found)), whole=False))
    return EXIT_FAILED if any(not one.spare for one in found) else EXIT_DONE


def _grade(course: CourseDirectory, order: Order, as_json: bool) -> int:
    tally = Tally()
    try:
        with (
            _told_to_end() as has_been_told,
            closing(grade_all(course, order)) as found,
            ExitStack() as shown,
        ):
            for tally, one in found:
                if as_json:
                    print(json.dumps(_line(tally, one), ensure_ascii=False), flush=True)
                elif one is None:
                    one_more = shown.enter_context(progress(tally.total))
                else:
                    one_more()
                # Raised in a callback or a finaliser of some library it would have been swallowed.
                if has_been_told:
                    raise KeyboardInterrupt
    except (KeyboardInterrupt, Trouble, NoLesson, OSError) as error:
        kept = f"{tally.done} of {tally.total} are graded and kept; "
        again = "run the same command again to go on."
        if isinstance(error, KeyboardInterrupt):
            print(f"Stopped. {kept}{again}", file=sys.stderr)
            return EXIT_INTERRUPTED
        if tally.done:
            print(f"{kept}mend this, then {again}", file=sys.stderr)
        raise
    if order.student and not tally.total and not tally.unchanged:
        raise NoLesson(f"{order.student} handed nothing in for these lessons.")
    if not as_json:
        print(filled("grade.txt.j2", tally=tally, seconds=tally.seconds))
    return EXIT_FAILED if tally.left_out else EXIT_DONE


@contextmanager
def _told_to_end() -> Iterator[list[int]]:
    """A terminal that is closed and a `kill` end a batch as Ctrl-C does; gives those that came."""
    told: list[int] = []

    def end(number: int, frame: object) -> None:
        told.append(number)
        raise KeyboardInterrupt

    ways = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in ways}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line(tally: Tally, one: Standing | None) -> dict[str, Any]:
    """For scripts: of the beginning, and of each result."""
    if one is None:
        return {"to_grade": tally.total, "unchanged": tally.unchanged, "waiting": tally.waited}
    result = one.record.result
    return one.as_data() | {
        "automatic": sum(cell.automatic or 0.0 for cell in one.score.cells),
        "needs_person": one.state == WAITS, "seconds": result.seconds,
        "reasons": list(one.reasons or one.record.reasons),
        "rules": {m.grade_id: m.rule for m in result.marks if m.rule},
    }  # fmt: skip
