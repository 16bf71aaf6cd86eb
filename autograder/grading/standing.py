"""How far grading is: what was handed in and what not, what of it is graded, who needs a person, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.autograded import read_timestamp
from autograder.grading.batch import is_graded
from autograder.grading.handed_in import (
    HandedIn,
    Misplaced,
    find,
    find_misplaced,
    lesson_files,
    lessons_handed_in,
    printable,
)
from autograder.grading.lesson import LessonFiles
from autograder.grading.records import Record, Records, Seeds
from autograder.grading.scores import Score, in_days, read_scores, read_students
from autograder.grading.work import How

GRADED, WAITS, CHANGED, UNGRADED = "graded", "waits for a person", "changed since", "not graded yet"
NOTHING = "nothing handed in"
GONE = "It is in the gradebook; what was handed in is no longer in the folder of submissions."
MOST_NAMED = 20  # students in one line


@dataclass(frozen=True)
class Standing:
    """How it stands with one submission.

    state   GRADED, WAITS (for a person), CHANGED (since it was graded) or UNGRADED
    score   as it stands in the gradebook; None where there is none
    record  what the grader remembers; None where it did not grade it (or nbgrader's own command did)
    gone    it is in the gradebook, and no longer among what was handed in
    unclear why it cannot be said when it was handed in; "" where it can
    """

    student: str
    lesson: str
    state: str
    score: Score | None
    record: Record | None
    gone: bool = False
    unclear: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person has to look at it; empty where nobody has to."""
        if self.state != WAITS or self.score is None:
            return ()
        given = self.record.reasons if self.record is not None else ()
        return self.score.why_waiting((*given, GONE) if self.gone else given)

    @property
    def accepted(self) -> str:
        """Who let it pass, in words; "" where nobody had to."""
        return str(self.record.accepted or "") if self.record is not None else ""

    @property
    def late(self) -> timedelta:
        """By how much it was handed in late."""
        return self.score.late if self.score else timedelta(0)

    @property
    def is_final(self) -> bool:
        return self.state == GRADED


@dataclass(frozen=True)
class Overview:
    """How it stands with a class.

    found      what was handed in
    gone       what is in the gradebook though nothing is handed in (any more)
    without    by lesson, the students of the gradebook who handed nothing in
    misplaced  notebooks at no place where one is looked for
    """

    found: tuple[Standing, ...]
    gone: tuple[Standing, ...]
    without: Mapping[str, tuple[str, ...]]
    misplaced: tuple[Misplaced, ...]


def overview(
    course: CourseDirectory, connection: Connection, lessons: Sequence[str] = ()
) -> Overview:
    """How it stands with these lessons, or with all. Raises NoLesson for one there is no source of."""
    found = tuple(standings(course, connection, lessons))
    lost = tuple(gone(course, connection, found, lessons or None))
    students = [one.id for one in read_students(connection)]
    names = {one.student for one in found} | set(students)
    misplaced = tuple(find_misplaced(course, names))
    there = {(one.student, one.lesson) for one in (*found, *lost)}
    without = {
        lesson: tuple(one for one in students if (one, lesson) not in there)
        for lesson in lessons or lessons_handed_in(course)
    }
    return Overview(found, lost, without, misplaced)


def gone(
    course: CourseDirectory, connection: Connection, found: Sequence[Standing],
    lessons: Sequence[str] | None,
) -> Iterator[Standing]:  # fmt: skip
    """What the gradebook has of these lessons (None: of all) and is not in ``found``."""
    there, records = {(one.student, one.lesson) for one in found}, Records(Path(course.root))
    for score in read_scores(connection, lessons):
        if (score.student, score.lesson) not in there and score.cells:
            record = records.read(score.student, score.lesson)
            state = WAITS if score.waits else GRADED
            yield Standing(score.student, score.lesson, state, score, record, gone=True)


def standings(
    course: CourseDirectory, connection: Connection, lessons: Sequence[str] = ()
) -> Iterator[Standing]:
    """Every submission that was handed in, by lesson and student; without names, of all lessons.

    Raises NoLesson for a lesson there is no source of.
    """
    records, seeds = Records(Path(course.root)), Seeds(Path(course.root))
    for lesson in lessons or lessons_handed_in(course):
        files = lesson_files(course, lesson)
        scores = {one.student: one for one in read_scores(connection, [lesson])}
        seed = seeds.known(lesson)
        for one in find(course, lesson):
            score, record = scores.get(one.student), records.read(one.student, lesson)
            state = _state(course, records, one, files, seed, score, record)
            yield Standing(one.student, lesson, state, score, record, unclear=_unclear(one))


def _state(
    course: CourseDirectory,
    records: Records,
    one: HandedIn,
    files: LessonFiles,
    seed: int | None,
    score: Score | None,
    record: Record | None,
) -> str:
    if score is None:
        return UNGRADED
    if record is None:
        if not _graded_by_nbgrader(course, one, score):
            return UNGRADED
    elif seed is None or not any(
        is_graded(course, records, one, files, How(seed, device), score.handed_in)
        for device in ("cpu", "cuda")
    ):
        return CHANGED
    return WAITS if score.waits else GRADED


def _unclear(one: HandedIn) -> str:
    try:
        read_timestamp(one.folder)
    except ValueError as error:
        return str(error)
    return ""


def _graded_by_nbgrader(course: CourseDirectory, one: HandedIn, score: Score) -> bool:
    """nbgrader's own way to tell: the files are there, and the time is the same."""
    folder = Path(course.format_path(course.autograded_directory, one.student, one.lesson))
    try:
        same_time = read_timestamp(one.folder) == score.handed_in
    except ValueError:
        same_time = True
    return same_time and (folder / f"{one.lesson}.ipynb").is_file()


def in_words(look: Overview) -> str:
    """The standing of a class: counts by lesson, then everybody who is not done."""
    lines = _table(look) if look.found else ["Nothing was handed in."]
    waiting = [one for one in (*look.found, *look.gone) if one.state == WAITS]
    if waiting:
        lines += ["", "A person has to look at these (in formgrader, under Manual Grading):"]
        for one in waiting:
            lines.append(f"  {one.student}, {one.lesson}")
            lines += [f"      {reason}" for reason in one.reasons]
    left = [one for one in look.found if one.state in (CHANGED, UNGRADED)]
    if left:
        lines += ["", "To be graded (`autograder grade` does it):"]
        lines += [f"  {one.student}, {one.lesson}: {one.state}" for one in left]
    lines += misplaced_in_words(look.misplaced)
    kept = [one for one in look.gone if one.state == GRADED]
    if kept:
        lines += ["", "Graded, and no longer in the folder of submissions:"]
        lines += _by_lesson(kept)
    if any(look.without.values()):
        lines += ["", "In the gradebook, and handed nothing in:"]
        for lesson, names in look.without.items():
            lines += [f"  {lesson}: {_counted(names)}"] if names else []
    late = [one for one in look.found if one.late and one.state not in (CHANGED, UNGRADED)]
    if late:
        lines += ["", "Handed in late:"]
        lines += [f"  {one.student}, {one.lesson}: {lateness(one.score)}" for one in late]
    unclear = [one for one in look.found if one.unclear]
    if unclear:
        lines += ["", "Whether these were handed in late cannot be said:"]
        lines += [f"  {one.student}, {one.lesson}: {one.unclear}" for one in unclear]
    accepted = [one for one in look.found if one.accepted and one.state in (GRADED, WAITS)]
    if accepted:
        lines += ["", "Accepted by a person (`autograder accept`):"]
        lines += [f"  {one.student}, {one.lesson}: {one.accepted}" for one in accepted]
    return "\n".join(printable(line) for line in lines)


def as_lines(look: Overview) -> Iterator[dict[str, object]]:
    """An overview for scripts: a line a student and lesson, and one a misplaced notebook."""
    for one in (*look.found, *look.gone):
        yield _as_data(one)
    for lesson, names in look.without.items():
        for name in names:
            yield _as_data(Standing(name, lesson, NOTHING, None, None))
    for place in look.misplaced:
        yield {"student": place.student, "lesson": place.lesson, **place.as_data()}


def misplaced_in_words(misplaced: Sequence[Misplaced]) -> list[str]:
    """Which notebooks nobody reads; no lines where there are none."""
    lines = []
    for spare, words in (
        (False, "NOT read, since no notebook is looked for there (move them, then grade again):"),
        (True, "With the notebook that is graded lie others, which are not read:"),
    ):
        these = [one for one in misplaced if one.spare == spare]
        if these:
            lines += ["", words, *(f"  {one}" for one in these[:MOST_NAMED])]
        if len(these) > MOST_NAMED:
            lines.append(f"  … and {len(these) - MOST_NAMED} more (`--json` has all)")
    return lines


def lateness(score: Score | None) -> str:
    """By how much something was handed in late, and what that costs."""
    if score is None or not score.late:
        return ""
    cost = f"{score.penalty:g} points are" if score.penalty else "nothing is"
    return f"late by {in_days(score.late)}; {cost} taken off"


def _table(look: Overview) -> list[str]:
    lines = [
        f"{'lesson':<28}{'handed in':>10}{'graded':>8}{'waits':>8}{'to grade':>10}{'nothing':>9}"
    ]
    for lesson in dict.fromkeys(one.lesson for one in look.found):
        states = Counter(one.state for one in look.found if one.lesson == lesson)
        lost = sum(one.lesson == lesson and one.state == WAITS for one in look.gone)
        lines.append(
            f"{lesson:<28}{states.total():>10}{states[GRADED]:>8}{states[WAITS] + lost:>8}"
            f"{states[CHANGED] + states[UNGRADED]:>10}{len(look.without.get(lesson, ())):>9}"
        )
    return lines


def _by_lesson(found: Sequence[Standing]) -> list[str]:
    return [
        f"  {lesson}: {_counted([one.student for one in found if one.lesson == lesson])}"
        for lesson in dict.fromkeys(one.lesson for one in found)
    ]


def _counted(names: Sequence[str]) -> str:
    more = f" … and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{len(names)} ({', '.join(names[:MOST_NAMED])}{more})"


def _as_data(one: Standing) -> dict[str, object]:
    return {
        "student": one.student,
        "lesson": one.lesson,
        "state": one.state,
        "score": one.score.points if one.score else None,
        "max_score": one.score.max_points if one.score else None,
        "reasons": list(one.reasons),
        "graded": one.record.graded if one.record else None,
        "gone": one.gone,
        "accepted": one.accepted,
        "seconds_late": one.late.total_seconds(),
        "unclear": one.unclear,
    }
