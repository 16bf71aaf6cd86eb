"""`autograder accept`: a person has looked at the lines that hold submissions back, and lets them pass."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.batch import scores_of
from autograder.grading.class_overview import NO_RECORD, WAITS, Standing, standings
from autograder.grading.course import folder_of
from autograder.grading.database import reading
from autograder.grading.execute import how_to_grade
from autograder.grading.gradebook import Writer, alone
from autograder.grading.handed_in import lesson_files
from autograder.grading.marking import How, Mark
from autograder.grading.one_submission import close_boxes, grade
from autograder.grading.processes import refuse_without_gpu
from autograder.grading.records import Acceptance, Records, lines_of, now, was_read, with_verdicts
from autograder.grading.scores import Score
from autograder.grading.words import Trouble, counted, filled, printable, the_names
from autograder.learner.lesson import LessonFiles, NoLesson, read_lesson


def run_accept(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Accept one student's lessons, or whoever waits for one reason; 0 only if all could be, and were."""
    if not (options.yes or options.withdraw or sys.stdin.isatty()):
        raise ValueError("There is no terminal to ask on. If you have looked, say so with --yes.")
    if options.reason:
        lessons = [one for one in (options.student, *options.lesson) if one]
        return _accept(course, _by_reason(course, lessons, options.reason), options)
    if not options.lesson:
        raise ValueError("Say what to accept: STUDENT LESSON, or --reason WORDS.")
    statuses = []
    for lesson in dict.fromkeys(options.lesson):
        try:
            if options.withdraw:
                _withdraw(course, options.student, lesson)
            else:
                one = _standing(course, options.student, lesson)
                if why := _why_not(one):
                    raise Trouble(why)
                statuses.append(_accept(course, [one], options))
        except (Trouble, NoLesson) as error:
            print(f"autograder: {error}", file=sys.stderr)
            statuses.append(1)
    return max(statuses, default=0)


def _accept(
    course: CourseDirectory, waiting: Sequence[Standing], options: argparse.Namespace
) -> int:
    """Show, ask and write."""
    print(_in_words(course, waiting))
    if not options.yes and not _agreed():
        print("Nothing was changed.")
        return 1
    given: list[Score] = []
    with alone(course), Writer(course) as writer:
        for one in waiting:
            student, lesson, record = one.student, one.lesson, one.record
            if writer.records.read(student, lesson) != record:
                words = f"{student}, {lesson} was graded again meanwhile. Look once more."
                raise Trouble(words)
            text = _notebook(course, one).read_text(encoding="utf-8")
            folder = folder_of(course, course.submitted_directory, student, lesson)
            found = record.result
            accepted = Acceptance(found.content, lines_of(found), options.by or _me(), now())
            writer.write(replace(found, notebook=text), folder, accepted)
            given += writer.read(partial(scores_of, student=student, lesson=lesson))
    print(filled("accepted.txt.j2", given=given))
    return 0


def _withdraw(course: CourseDirectory, student: str, lesson: str) -> None:
    """Forget an acceptance. What was graded counts as changed, so that it is graded again."""
    with alone(course):
        records = Records(course.root)
        record = records.read(student, lesson)
        if record is None or record.accepted is None:
            raise Trouble(f"{student}, {lesson} was not accepted by anybody.")
        again = replace(record, accepted=None, result=replace(record.result, content=""))
        records.keep(again)
    words = (
        f"{student}, {lesson} is accepted no more. `autograder grade {lesson} --student {student}`"
    )
    print(printable(f"{words} takes the points back."))


def _by_reason(course: CourseDirectory, lessons: Sequence[str], words: str) -> list[Standing]:
    """Everybody who waits for nothing but lines in which these words stand. Raises Trouble."""
    with reading(course) as connection:
        waiting = [one for one in standings(course, connection, lessons) if one.state == WAITS]
    found = [
        one for one in waiting
        if not _why_not(one) and {*one.reasons} <= {*lines_of(one.record.result)}
        and all(words in line for line in one.reasons)
    ]  # fmt: skip
    if not found:
        raise Trouble(
            f"Of {counted(len(waiting), 'submission')} that wait none waits for nothing but lines "
            f"with {words!r} in them. `autograder status` says why each of them waits."
        )
    return found


def _standing(course: CourseDirectory, student: str, lesson: str) -> Standing:
    with reading(course) as connection:
        for one in standings(course, connection, [lesson], student):
            return one
    raise Trouble(f"{student} handed nothing in for {lesson}.")


def _why_not(one: Standing) -> str:
    """Why a submission cannot be accepted; "" where it can."""
    who, record = f"{one.student}, {one.lesson}", one.record
    if one.is_to_grade or record is NO_RECORD:
        state = "not graded by autograder" if record is NO_RECORD else one.state
        return f"{who}: {state}. Run `autograder grade {one.lesson} --student {one.student}` first."
    if record.accepted is not None:
        return " ".join([f"{who} was {record.accepted}.", *one.reasons])
    if one.is_final:
        return f"{who} does not wait: it has its points."
    if was_read(record.result) and lines_of(record.result):
        return ""
    return (
        f"{who} waits for another reason, so there are no verdicts to accept. Give its points in "
        f"formgrader. {' '.join(one.reasons)}"
    )


def _in_words(course: CourseDirectory, waiting: Sequence[Standing]) -> str:
    many, whose = len(waiting) > 1, dict[str, list[str]]()
    for one in waiting:
        for line in lines_of(one.record.result):
            whose.setdefault((many and line.partition(": ")[2]) or line, []).append(one.student)
    first = waiting[0]
    return filled(
        "accept.txt.j2", waiting=waiting, many=many, one=first, found=_found,
        whose=sorted(whose.items(), key=lambda pair: -len(pair[1])),
        after=with_verdicts(first.record.result), where=str(_notebook(course, first)),
    )  # fmt: skip


def _notebook(course: CourseDirectory, one: Standing) -> Path:
    folder = folder_of(course, course.autograded_directory, one.student, one.lesson)
    return folder / f"{one.lesson}.ipynb"


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


def _me() -> str:
    """Who runs this, as far as the system knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "a person"


# ---- for an appeal: the very same checks again, beside what was recorded -----------------------


def run_replay(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Print the reports; 0 if every mark is as recorded, 1 if one is another.

    Raises ValueError for an exercise that the lesson does not have.
    """
    refuse_without_gpu(options.device)
    files = lesson_files(course, options.lesson)
    wanted = _wanted(files, options.exercise)
    one = _standing(course, options.student, options.lesson)
    assert one.handed_in is not None
    record = one.record
    how = How.given(options.device, options.unsafe, options.run_tests)
    result = grade(one.handed_in.read(), files, how_to_grade(course, files.name, how))
    close_boxes()
    marks = [mark for mark in result.marks if mark.grade_id in wanted]
    if record is NO_RECORD:
        print("It has not been graded yet: nothing to compare with.", file=sys.stderr)
    elif record.result.content != result.content:
        changed = "What was handed in, or the lesson, has changed since it was graded."
        print(changed, file=sys.stderr)
    recorded = {mark.grade_id: mark.points for mark in record.result.marks}
    befores = [(mark, recorded.get(mark.grade_id)) for mark in marks if record.graded]
    different = [(mark, before) for mark, before in befores if before != mark.points]
    kept = [cell for cell in one.score.cells if cell.by_hand and cell.name in wanted]
    reasons = result.reasons if any(mark.points is None for mark in marks) else ()
    facts = {"marks": marks, "reasons": reasons, "record": record, "different": different}
    print(filled("replay.txt.j2", kept=kept, **facts), end="")
    return int(bool(different))


def _wanted(files: LessonFiles, name: str | None) -> set[str]:
    """The graded cells that are asked for. Raises ValueError where there is none of that name."""
    graded = read_lesson(files).graded.values()
    found = {one.grade_id for one in graded if name in (None, one.exercise, one.grade_id)}
    if name is not None and not found:
        names = [*dict.fromkeys(one.exercise for one in graded if one.exercise)]
        names += [one.grade_id for one in graded]
        raise ValueError(f"{files.name} has no exercise {name}. {the_names('names', name, names)}")
    return found
