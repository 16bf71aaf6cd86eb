"""`autograder accept`: a person has looked at the lines that hold a submission back, and lets it pass."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import DBAPIError

from autograder.grading.accepting import lines_of, was_read, with_verdicts
from autograder.grading.batch import Busy, alone
from autograder.grading.course import CannotWrite, folder_of, open_gradebook
from autograder.grading.grade_command import add_course_options, course_of
from autograder.grading.gradebook import Writer
from autograder.grading.handed_in import find, printable
from autograder.grading.lesson import NoLesson
from autograder.grading.records import Acceptance, Record, Records, now
from autograder.grading.result import Mark
from autograder.grading.scores import Score, read_scores
from autograder.grading.standing import GRADED, WAITS, standings
from autograder.grading.troubles import database_trouble

EXIT_DONE, EXIT_FAILED = 0, 1


class NotAccepted(Exception):
    """Nothing can be accepted here; why, and what to do."""


@dataclass(frozen=True)
class _Waiting:
    """A submission that waits because of lines a person has to look at."""

    student: str
    lesson: str
    folder: Path
    record: Record
    notebook: Path


def add_accept(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = commands.add_parser(
        "accept", help="let a submission pass whose lines you have looked at",
        description="Give a submission that waits because of the lines that `autograder status` names "
        "the points that the checks found. It says once more which lines these are, and asks. Work that "
        "is handed in again waits again.",
    )  # fmt: skip
    parser.add_argument("student")
    parser.add_argument("lesson", nargs="+")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--by", metavar="NAME", default=_me(), help="who accepts it (default: %(default)s)"
    )
    parser.add_argument(
        "--withdraw", action="store_true", help="take it back: graded again, it waits as before"
    )
    add_course_options(parser)
    parser.set_defaults(run=run_accept)


def run_accept(options: argparse.Namespace) -> int:
    """Accept lesson after lesson; 0 only if all could be, and were."""
    if not (options.yes or options.withdraw or sys.stdin.isatty()):
        raise ValueError("There is no terminal to ask on. If you have looked, say so with --yes.")
    course = course_of(options)
    status = EXIT_DONE
    for lesson in dict.fromkeys(options.lesson):
        try:
            if options.withdraw:
                print(_withdraw(course, options.student, lesson))
            elif not _accept(course, options.student, lesson, options.by, options.yes):
                status = EXIT_FAILED
        except DBAPIError as error:
            status = _failed(database_trouble(error, course.db_url))
        except (NotAccepted, Busy, CannotWrite, NoLesson) as error:
            status = _failed(str(error))
    return status


def _failed(words: str) -> int:
    print(f"autograder: {printable(words)}", file=sys.stderr)
    return EXIT_FAILED


def _accept(course: CourseDirectory, student: str, lesson: str, who: str, yes: bool) -> bool:
    """Show, ask and write; whether it was accepted."""
    waiting = _waiting(course, student, lesson)
    print("\n".join(printable(line) for line in _in_words(waiting)))
    if not yes and not _agreed():
        print("Nothing was changed.")
        return False
    with alone(Path(course.root)):
        if _waiting(course, student, lesson) != waiting:
            raise NotAccepted(f"{student}, {lesson} was graded again meanwhile. Look once more.")
        found = waiting.record.result
        accepted = Acceptance(found.content, lines_of(found), who, now())
        with Writer(course) as writer:
            text = waiting.notebook.read_text(encoding="utf-8")
            writer.write(replace(found, notebook=text), waiting.folder, accepted)
    score = _score(course, student, lesson)
    left = [cell.name for cell in score.cells if cell.waits]
    print(f"Accepted: {score.points:g} of {score.max_points:g} points are in the gradebook.")
    if left:
        print(f"Still waiting in formgrader, under Manual Grading: {', '.join(left)}.")
    return True


def _withdraw(course: CourseDirectory, student: str, lesson: str) -> str:
    """Forget an acceptance. What was graded counts as changed, so that it is graded again."""
    with alone(Path(course.root)):
        records = Records(Path(course.root))
        record = records.read(student, lesson)
        if record is None or record.accepted is None:
            raise NotAccepted(f"{student}, {lesson} was not accepted by anybody.")
        again = replace(record, accepted=None, result=replace(record.result, content=""))
        records.draft(again).place()
    return printable(
        f"{student}, {lesson} is accepted no more. `autograder grade {lesson} --student {student}` "
        "takes the points back."
    )


def _waiting(course: CourseDirectory, student: str, lesson: str) -> _Waiting:
    """The submission, if it is one that can be accepted. Raises NotAccepted, NoLesson, CannotWrite."""
    who = f"{student}, {lesson}"
    handed_in = find(course, lesson, student)
    if not handed_in:
        raise NotAccepted(f"{student} handed nothing in for {lesson}.")
    with closing(open_gradebook(course)) as gradebook, gradebook.engine.connect() as connection:
        standing = next(
            one for one in standings(course, connection, [lesson]) if one.student == student
        )
    record = standing.record
    if standing.state not in (GRADED, WAITS) or record is None:
        raise NotAccepted(
            f"{who}: {standing.state if record else 'not graded by autograder'}. Run "
            f"`autograder grade {lesson} --student {student}` first."
        )
    if record.accepted is not None:
        by = f"{who} was {record.accepted}."
        raise NotAccepted(" ".join([by, *standing.reasons]))
    if standing.state == GRADED:
        raise NotAccepted(f"{who} does not wait: it has its points.")
    if not was_read(record.result) or not lines_of(record.result):
        raise NotAccepted(
            f"{who} waits for another reason, so there are no verdicts to accept. Give its points in "
            f"formgrader. {' '.join(standing.reasons)}"
        )
    place = folder_of(course, course.autograded_directory, student, lesson)
    notebook = place / f"{lesson}.ipynb"
    return _Waiting(student, lesson, handed_in[0].folder, record, notebook)


def _in_words(waiting: _Waiting) -> Iterator[str]:
    before, after = waiting.record.result, with_verdicts(waiting.record.result)
    yield f"{waiting.student}, {waiting.lesson} waits because of"
    yield from (f"  {line}" for line in lines_of(before))
    yield "The checks found"
    yield from (f"  {_mark_in_words(mark)}" for mark in after.marks)
    yield f"Together {after.score:g} of {after.max_score:g} points. The whole notebook: {waiting.notebook}"


def _mark_in_words(mark: Mark) -> str:
    kind = f"{mark.exercise}, {'complete' if mark.hidden else 'visible'} check"
    name = kind if mark.exercise else mark.grade_id
    if mark.points is None:
        return f"{name}: a person gives its points in formgrader"
    said = "" if mark.report.get("passed") else f" ({_found(mark.report)})"
    return f"{name}: {mark.points:g} of {mark.max_points:g}{said}"


def _found(report: dict[str, Any]) -> str:
    """What a check found; where it did not come to that, why not: perhaps a package is missing here."""
    first = (report.get("findings") or [{}])[0]
    hint = first.get("hint", "") if first.get("rule") == "raises" else ""
    return f"{report.get('headline', '')} {hint}".strip()


def _agreed() -> bool:
    try:
        return input("Give these points? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _score(course: CourseDirectory, student: str, lesson: str) -> Score:
    with closing(open_gradebook(course)) as gradebook, gradebook.engine.connect() as connection:
        return next(one for one in read_scores(connection, [lesson]) if one.student == student)


def _me() -> str:
    """Who runs this, as far as the system knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "a person"
