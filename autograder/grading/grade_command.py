"""`autograder grade`: everything handed in, graded, with a progress bar and a summary."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TextIO

from nbgrader.coursedir import CourseDirectory

from autograder.grading.batch import Order, Tally, grade_all
from autograder.grading.box import Limits, Walls
from autograder.grading.class_overview import WAITS, Overview, Standing
from autograder.grading.class_overview import in_words as standing_in_words
from autograder.grading.course import prepare
from autograder.grading.database import NONE_YET, is_there
from autograder.grading.handed_in import find_misplaced, lesson_names, lessons_handed_in
from autograder.grading.marking import How
from autograder.grading.processes import refuse_without_gpu
from autograder.grading.words import Trouble, filled
from autograder.learner.lesson import NoLesson

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_BAR = 24


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
    walls = Walls.none() if options.unsafe else Walls()
    how = How(0, options.device, Limits(seconds=options.seconds), walls, options.run_tests)
    order = Order(lessons, options.student, options.all, options.jobs, options.scheduler, how)
    if options.unsafe:
        print("--unsafe: submissions run WITHOUT a sandbox, as you.", file=sys.stderr)
    status = _grade(course, order, Json(sys.stdout) if options.json else Bar(sys.stderr))
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


def _grade(course: CourseDirectory, order: Order, show: Json | Bar) -> int:
    last = Tally()

    try:
        with _told_to_end() as has_been_told:

            def told(tally: Tally, one: Standing | None) -> None:
                nonlocal last
                last = tally
                show(tally, one)
                # Raised in a callback or a finaliser of some library it would have been swallowed.
                if has_been_told():
                    raise KeyboardInterrupt

            grade_all(course, order, told)
    except KeyboardInterrupt:
        show.end()
        print(
            f"Stopped. {last.done} of {last.total} are graded and kept; "
            "run the same command again to go on.",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    except (Trouble, NoLesson, OSError):
        show.end()
        if last.done:
            print(
                f"{last.done} of {last.total} are graded and kept; mend this, then run the same "
                "command again to go on.",
                file=sys.stderr,
            )
        raise
    show.end()
    if order.student and not last.total and not last.unchanged:
        raise NoLesson(f"{order.student} handed nothing in for these lessons.")
    if not isinstance(show, Json):
        print(in_words(last))
    return EXIT_FAILED if last.left_out else EXIT_DONE


@contextmanager
def _told_to_end() -> Iterator[Callable[[], bool]]:
    """A terminal that is closed and a `kill` end a batch as Ctrl-C does; gives whether one came."""
    told: list[int] = []

    def end(number: int, frame: object) -> None:
        told.append(number)
        raise KeyboardInterrupt

    ways = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in ways}
    try:
        yield lambda: bool(told)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def in_words(tally: Tally) -> str:
    """What a finished batch says."""
    return filled("grade.txt.j2", tally=tally, seconds=tally.seconds)


class Json:
    """A line for the beginning, one for each result."""

    def __init__(self, out: TextIO):
        self._out = out

    def __call__(self, tally: Tally, one: Standing | None) -> None:
        if one is None:
            line: dict[str, Any] = {
                "to_grade": tally.total, "unchanged": tally.unchanged, "waiting": tally.waited,
            }  # fmt: skip
        else:
            assert one.score is not None
            assert one.record is not None
            result = one.record.result
            line = one.as_data() | {
                "automatic": sum(cell.automatic or 0.0 for cell in one.score.cells),
                "needs_person": one.state == WAITS, "seconds": result.seconds,
                "reasons": list(one.reasons or one.record.reasons),
                "rules": {m.grade_id: m.rule for m in result.marks if m.rule},
            }  # fmt: skip
        print(json.dumps(line, ensure_ascii=False), file=self._out, flush=True)

    def end(self) -> None:
        """Nothing is left open."""


class Bar:
    """A progress bar in a terminal; elsewhere a line now and then."""

    def __init__(self, out: TextIO):
        self._out, self._said = out, 0
        self._first = 0.0  # seconds until the first result: workers have to get ready

    def __call__(self, tally: Tally, one: Standing | None) -> None:
        if not tally.total:
            return
        text = f"{tally.done}/{tally.total}  {self._speed(tally)}"
        share = tally.done / tally.total
        if self._out.isatty():
            bar = "█" * int(share * _BAR)
            print(f"\r\x1b[K{bar:░<{_BAR}} {text}", end="", file=self._out, flush=True)
        elif int(share * 10) > self._said:
            self._said = int(share * 10)
            print(text, file=self._out, flush=True)

    def _speed(self, tally: Tally) -> str:
        if not tally.done:
            return "getting ready"
        self._first = self._first or tally.seconds
        passed = tally.seconds - self._first
        if tally.done < 2 or not passed:
            return f"the first after {self._first:.0f} s"
        rate = (tally.done - 1) / passed
        left = timedelta(seconds=round((tally.total - tally.done) / rate))
        return f"{rate:.1f} a second  {left} left"

    def end(self) -> None:
        """Leave the bar where it is and begin a new line."""
        if self._out.isatty():
            print(file=self._out)
