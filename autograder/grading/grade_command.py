"""`autograder grade`: everything handed in, graded, with a progress bar and a summary."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from autograder.grading.batch import Busy, Order, Tally, grade_all
from autograder.grading.box import CannotStart, Limits, Walls
from autograder.grading.course import CannotWrite, open_course
from autograder.grading.handed_in import lessons_handed_in
from autograder.grading.lesson import NoLesson
from autograder.grading.pool import NoCluster, processors
from autograder.grading.result import Result

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_BAR = 24


def add_grade(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = commands.add_parser(
        "grade", help="grade what was handed in, into nbgrader's gradebook",
        description="Grade everything that was handed in and has changed since it was last graded.",
    )  # fmt: skip
    parser.add_argument("lesson", nargs="*", help="lessons; without one, all that were handed in")
    add_course_options(parser)
    parser.add_argument("--student", metavar="ID", help="only this student's work")
    parser.add_argument("--all", action="store_true", help="also what has not changed")
    parser.add_argument(
        "--jobs", "-j", type=int, default=processors(), metavar="N",
        help="how many submissions at a time (default: one a processor)",
    )  # fmt: skip
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="a Dask scheduler")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--seconds", type=float, default=Limits().seconds, help="at most, for one submission"
    )
    parser.add_argument(
        "--run-tests", action="store_true",
        help="also run graded cells that are no check(…), in the submission's own process",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON line a result, for scripts")
    parser.add_argument(
        "--unsafe", action="store_true",
        help="without a sandbox: only for work of people you trust (see `autograder doctor`)",
    )  # fmt: skip
    parser.set_defaults(run=run_grade)


def add_course_options(parser: argparse.ArgumentParser) -> None:
    """Which course and which gradebook: the same for all commands of grading."""
    parser.add_argument(
        "--course", type=Path, default=Path("."), metavar="FOLDER",
        help="the folder with nbgrader_config.py (default: this one)",
    )  # fmt: skip
    parser.add_argument("--db", metavar="URL", help="another gradebook, as SQLAlchemy writes it")


def run_grade(options: argparse.Namespace) -> int:
    """Grade, and say how it went; 0 only if everything was graded or marked for a person."""
    course = open_course(options.course, options.db)
    lessons = tuple(dict.fromkeys(options.lesson)) or tuple(lessons_handed_in(course))
    if not lessons:
        print(f"Nothing was handed in: there is no submission in {course.submitted_directory}/.")
        return EXIT_DONE
    if options.jobs < 1:
        raise ValueError("--jobs is a number of processes, 1 or more")
    limits = Limits(seconds=options.seconds)
    order = Order(
        lessons, options.student, options.all, options.jobs, options.scheduler, options.device,
        options.run_tests, limits, Walls.none() if options.unsafe else Walls(),
    )  # fmt: skip
    if options.unsafe:
        print("--unsafe: submissions run WITHOUT a sandbox, as you.", file=sys.stderr)
    last = Tally()
    show = Json(sys.stdout) if options.json else Bar(sys.stderr)

    def told(tally: Tally, result: Result | None) -> None:
        nonlocal last
        last = tally
        show(tally, result)

    try:
        grade_all(course, order, told)
    except KeyboardInterrupt:
        _end(show)
        print(
            f"Stopped. {last.done} of {last.total} are graded and kept; "
            "run the same command to go on.",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    except (Busy, CannotStart, CannotWrite, NoCluster, NoLesson) as error:
        _end(show)
        print(f"autograder: {error}", file=sys.stderr)
        if last.total:
            print(
                f"{last.done} of {last.total} are graded and kept; mend this and run it again.",
                file=sys.stderr,
            )
        return EXIT_FAILED
    _end(show)
    if not options.json:
        print(in_words(last, options.student))
    return EXIT_DONE


def in_words(tally: Tally, student: str | None = None) -> str:
    """What a finished batch says."""
    lines = []
    if not tally.total and not tally.unchanged:
        who = f" by {student}" if student else ""
        return f"Nothing was handed in{who} for these lessons."
    if tally.total:
        rate = tally.seconds / tally.total
        lines.append(
            f"Graded {tally.total} in {tally.seconds:.1f} s ({rate:.2f} s each)."
            + (f" {tally.unchanged} had not changed." if tally.unchanged else "")
        )
    else:
        lines.append(f"All {tally.unchanged} were graded before and have not changed.")
    waiting = [one for one in tally.graded if one.needs_person]
    if waiting:
        lines.append(f"{len(waiting)} wait for a person (`autograder status` says why):")
        lines += [f"  {one.student}, {one.lesson}: {_why(one)}" for one in waiting[:10]]
        if len(waiting) > 10:
            lines.append(f"  … and {len(waiting) - 10} more")
    return "\n".join(lines)


def _why(result: Result) -> str:
    return result.reasons[0] if result.reasons else "a cell is graded by hand"


def _end(show: Callable[..., None]) -> None:
    if isinstance(show, Bar):
        show.end()


class Json:
    """A line for the beginning, one for each result."""

    def __init__(self, out: TextIO):
        self._out = out

    def __call__(self, tally: Tally, result: Result | None) -> None:
        if result is None:
            line: dict[str, Any] = {"to_grade": tally.total, "unchanged": tally.unchanged}
        else:
            line = {
                "student": result.student, "lesson": result.lesson, "score": result.score,
                "max_score": result.max_score, "needs_person": result.needs_person,
                "reasons": list(result.reasons), "seconds": result.seconds,
                "rules": {m.grade_id: m.rule for m in result.marks if m.rule},
            }  # fmt: skip
        print(json.dumps(line, ensure_ascii=False), file=self._out, flush=True)


class Bar:
    """A progress bar in a terminal; elsewhere a line now and then."""

    def __init__(self, out: TextIO):
        self._out, self._said = out, 0

    def __call__(self, tally: Tally, result: Result | None) -> None:
        if not tally.total:
            return
        share = tally.done / tally.total
        rate = tally.done / tally.seconds if tally.seconds else 0.0
        left = f"{(tally.total - tally.done) / rate:.0f} s left" if rate else "starting"
        text = f"{tally.done}/{tally.total}  {rate:.1f} a second  {left}"
        if self._out.isatty():
            bar = "█" * int(share * _BAR)
            print(f"\r\x1b[K{bar:░<{_BAR}} {text}", end="", file=self._out, flush=True)
        elif int(share * 10) > self._said:
            self._said = int(share * 10)
            print(text, file=self._out, flush=True)

    def end(self) -> None:
        """Leave the bar where it is and begin a new line."""
        if self._out.isatty():
            print(file=self._out)
