"""`autograder accept`: a person has looked at the lines that hold submissions back, and lets them pass."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.batch import alone, score_of
from autograder.grading.class_overview import GRADED, WAITS, Standing, standings
from autograder.grading.course import folder_of
from autograder.grading.database import reading
from autograder.grading.gradebook import Writer
from autograder.grading.records import Acceptance, Records, now
from autograder.grading.result import Mark
from autograder.grading.scores import Score
from autograder.grading.troubles import Trouble
from autograder.grading.waiting import lines_of, was_read, with_verdicts
from autograder.grading.words import counted, listed, printable
from autograder.learner.lesson import NoLesson

EXIT_DONE, EXIT_FAILED = 0, 1
MOST_NAMED = 10  # students beside one line


class NotAccepted(Trouble):
    """Nothing can be accepted here; why, and what to do."""


def run_accept(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Accept one student's lessons, or whoever waits for one reason; 0 only if all could be, and were."""
    if not (options.yes or options.withdraw or sys.stdin.isatty()):
        raise ValueError("There is no terminal to ask on. If you have looked, say so with --yes.")
    if options.reason:
        lessons = [one for one in (options.student, *options.lesson) if one]
        return _accept(course, _by_reason(course, lessons, options.reason), options)
    if not options.lesson:
        raise ValueError("Say what to accept: STUDENT LESSON, or --reason WORDS.")
    status = EXIT_DONE
    for lesson in dict.fromkeys(options.lesson):
        try:
            if options.withdraw:
                print(_withdraw(course, options.student, lesson))
            else:
                one = _waiting(course, options.student, lesson)
                status = max(status, _accept(course, [one], options))
        except (Trouble, NoLesson) as error:
            print(f"autograder: {error}", file=sys.stderr)
            status = EXIT_FAILED
    return status


def _accept(
    course: CourseDirectory, waiting: Sequence[Standing], options: argparse.Namespace
) -> int:
    """Show, ask and write."""
    words = _in_words(course, waiting[0]) if len(waiting) == 1 else _many_in_words(waiting)
    print("\n".join(printable(line) for line in words))
    if not options.yes and not _agreed():
        print("Nothing was changed.")
        return EXIT_FAILED
    with alone(Path(course.root)), Writer(course) as writer:
        for one in waiting:
            if _standing(course, one.student, one.lesson).record != one.record:
                raise NotAccepted(
                    f"{one.student}, {one.lesson} was graded again meanwhile. Look once more."
                )
            assert one.record is not None
            found = one.record.result
            text = _notebook(course, one).read_text(encoding="utf-8")
            folder = folder_of(course, course.submitted_directory, one.student, one.lesson)
            accepted = Acceptance(found.content, lines_of(found), options.by, now())
            writer.write(replace(found, notebook=text), folder, accepted)
    with reading(course) as connection:
        scores = [score_of(connection, one.student, one.lesson) for one in waiting]
    _say_given([one for one in scores if one is not None])
    return EXIT_DONE


def _say_given(scores: Sequence[Score]) -> None:
    if len(scores) == 1:
        (score,) = scores
        print(f"Accepted: {score.points:g} of {score.max_points:g} points are in the gradebook.")
        left = [cell.name for cell in score.cells if cell.waits]
    else:
        print(f"Accepted: {len(scores)} submissions have the points that the checks found.")
        left = [printable(f"{one.student} ({one.lesson})") for one in scores if one.waits]
    if left:
        print(f"Still waiting in formgrader, under Manual Grading: {', '.join(left)}.")


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


def _by_reason(course: CourseDirectory, lessons: Sequence[str], words: str) -> list[Standing]:
    """Everybody who waits for nothing but lines in which these words stand. Raises NotAccepted."""
    with reading(course) as connection:
        waiting = [one for one in standings(course, connection, lessons) if one.state == WAITS]
    found = []
    for one in waiting:
        lines = lines_of(one.record.result) if one.record and not one.record.accepted else ()
        if lines and all(words in line for line in lines) and set(one.reasons) <= set(lines):
            found.append(one)
    if not found:
        raise NotAccepted(
            f"Of {counted(len(waiting), 'submission')} that wait none waits for nothing but lines "
            f"with {words!r} in them. `autograder status` says why each of them waits."
        )
    return found


def _standing(course: CourseDirectory, student: str, lesson: str) -> Standing:
    with reading(course) as connection:
        found = next(standings(course, connection, [lesson], student), None)
    if found is None:
        raise NotAccepted(f"{student} handed nothing in for {lesson}.")
    return found


def _waiting(course: CourseDirectory, student: str, lesson: str) -> Standing:
    """The submission, if it is one that can be accepted. Raises NotAccepted, NoLesson, CannotWrite."""
    who, one = f"{student}, {lesson}", _standing(course, student, lesson)
    record = one.record
    if one.state not in (GRADED, WAITS) or record is None:
        raise NotAccepted(
            f"{who}: {one.state if record else 'not graded by autograder'}. Run "
            f"`autograder grade {lesson} --student {student}` first."
        )
    if record.accepted is not None:
        raise NotAccepted(" ".join([f"{who} was {record.accepted}.", *one.reasons]))
    if one.state == GRADED:
        raise NotAccepted(f"{who} does not wait: it has its points.")
    if not was_read(record.result) or not lines_of(record.result):
        raise NotAccepted(
            f"{who} waits for another reason, so there are no verdicts to accept. Give its points in "
            f"formgrader. {' '.join(one.reasons)}"
        )
    return one


def _in_words(course: CourseDirectory, one: Standing) -> Iterator[str]:
    assert one.record is not None
    before, after = one.record.result, with_verdicts(one.record.result)
    yield f"{one.student}, {one.title} waits because of"
    yield from (f"  {line}" for line in lines_of(before))
    yield "The checks found"
    yield from (f"  {_mark_in_words(mark)}" for mark in after.marks)
    where = _notebook(course, one)
    yield f"Together {after.score:g} of {after.max_score:g} points. The whole notebook: {where}"


def _many_in_words(waiting: Sequence[Standing]) -> Iterator[str]:
    """Every line once, with those in whose work it stands."""
    whose: dict[str, list[str]] = {}
    for one in waiting:
        for line in lines_of(one.record.result) if one.record else ():
            whose.setdefault(line.partition(": ")[2] or line, []).append(one.student)
    yield f"{len(waiting)} submissions wait because of"
    for line, students in sorted(whose.items(), key=lambda pair: -len(pair[1])):
        yield f"  {line}"
        yield f"      {listed(list(dict.fromkeys(students)), MOST_NAMED)}"


def _notebook(course: CourseDirectory, one: Standing) -> Path:
    folder = folder_of(course, course.autograded_directory, one.student, one.lesson)
    return folder / f"{one.lesson}.ipynb"


def _mark_in_words(mark: Mark) -> str:
    said = mark.points_in_words("a person gives its points in formgrader")
    passed = mark.points is None or mark.report.get("passed")
    return f"{mark.name}: {said}" + ("" if passed else f" ({_found(mark)})")


def _found(mark: Mark) -> str:
    """What a check found; where it did not come to that, why not: perhaps a package is missing here."""
    first = (mark.report.get("findings") or [{}])[0]
    hint = first.get("hint", "") if first.get("rule") == "raises" else ""
    return f"{mark.report.get('headline', '')} {hint}".strip()


def _agreed() -> bool:
    try:
        return input("Give these points? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
