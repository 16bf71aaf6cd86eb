"""How far grading is: what was handed in, what of it is graded, and who needs a person, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.autograded import read_timestamp
from autograder.grading.batch import is_graded
from autograder.grading.handed_in import HandedIn, find, lesson_files, lessons_handed_in
from autograder.grading.lesson import LessonFiles
from autograder.grading.records import Record, Records, Seeds
from autograder.grading.scores import Score, read_scores
from autograder.grading.work import How

GRADED, WAITS, CHANGED, UNGRADED = "graded", "waits for a person", "changed since", "not graded yet"


@dataclass(frozen=True)
class Standing:
    """How it stands with one submission.

    state   GRADED, WAITS (for a person), CHANGED (since it was graded) or UNGRADED
    score   as it stands in the gradebook; None where there is none
    record  what the grader remembers; None where it did not grade it (or nbgrader's own command did)
    """

    student: str
    lesson: str
    state: str
    score: Score | None
    record: Record | None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person has to look at it; empty where nobody has to."""
        if self.state != WAITS:
            return ()
        if self.record is not None and self.record.result.reasons:
            return self.record.result.reasons
        waiting = [cell.name for cell in self.score.cells if cell.waits] if self.score else []
        return (f"{', '.join(waiting)}: graded by hand, or to be looked at again.",)

    @property
    def is_final(self) -> bool:
        return self.state == GRADED


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
            yield Standing(one.student, lesson, state, score, record)


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
        is_graded(course, records, one, files, How(seed, device)) for device in ("cpu", "cuda")
    ):
        return CHANGED
    return WAITS if score.waits else GRADED


def _graded_by_nbgrader(course: CourseDirectory, one: HandedIn, score: Score) -> bool:
    """nbgrader's own way to tell: the files are there, and the time is the same."""
    folder = Path(course.format_path(course.autograded_directory, one.student, one.lesson))
    try:
        same_time = read_timestamp(one.folder) == score.handed_in
    except ValueError:
        same_time = True
    return same_time and (folder / f"{one.lesson}.ipynb").is_file()


def in_words(found: Sequence[Standing]) -> str:
    """The standing of a class: counts by lesson, then everybody who is not done."""
    if not found:
        return "Nothing was handed in."
    lines = [f"{'lesson':<28}{'handed in':>10}{'graded':>8}{'waits':>8}{'to grade':>10}"]
    for lesson in dict.fromkeys(one.lesson for one in found):
        states = [one.state for one in found if one.lesson == lesson]
        lines.append(
            f"{lesson:<28}{len(states):>10}{states.count(GRADED):>8}{states.count(WAITS):>8}"
            f"{states.count(CHANGED) + states.count(UNGRADED):>10}"
        )
    waiting = [one for one in found if one.state == WAITS]
    if waiting:
        lines += ["", "A person has to look at these (in formgrader, under Manual Grading):"]
        for one in waiting:
            lines.append(f"  {one.student}, {one.lesson}")
            lines += [f"      {reason}" for reason in one.reasons]
    left = [one for one in found if one.state in (CHANGED, UNGRADED)]
    if left:
        lines += ["", "To be graded (`autograder grade` does it):"]
        lines += [f"  {one.student}, {one.lesson}: {one.state}" for one in left]
    return "\n".join(_printable(line) for line in lines)


def as_data(one: Standing) -> dict[str, object]:
    """A standing for scripts."""
    return {
        "student": one.student,
        "lesson": one.lesson,
        "state": one.state,
        "score": one.score.points if one.score else None,
        "max_score": one.score.max_points if one.score else None,
        "reasons": list(one.reasons),
        "graded": one.record.graded if one.record else None,
    }


def _printable(line: str) -> str:
    """A line in which nothing moves the cursor: names are a student's choice."""
    return "".join(c if c.isprintable() else "�" for c in line)
