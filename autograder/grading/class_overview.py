"""How far grading is: what was handed in and what not, what of it is graded, who needs a person, and why."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.course import folder_of
from autograder.grading.database import reading
from autograder.grading.handed_in import (
    HandedIn,
    Misplaced,
    find,
    find_misplaced,
    lesson_files,
    lessons_handed_in,
)
from autograder.grading.kept_files import read_timestamp
from autograder.grading.marking import Result, part_of
from autograder.grading.one_submission import How, content_hash
from autograder.grading.records import Record, Records, Seeds
from autograder.grading.scores import Score, Student, in_days, read_scores, read_students
from autograder.grading.words import filled

GRADED, WAITS, CHANGED, UNGRADED = "graded", "waits for a person", "changed since", "not graded yet"
NOTHING = "nothing handed in"
NO_SCORE, NO_RECORD = Score("", "", None, 0.0), Record(Result("", "", "", ()), "")
GONE = "It is in the gradebook; what was handed in is no longer in the folder of submissions."


@dataclass(frozen=True)
class Standing:
    """How it stands with one submission.

    due     CHANGED (since it was graded), UNGRADED or NOTHING, where it is one of them
    score   as it stands in the gradebook; NO_SCORE where there is none
    record  what the grader remembers; NO_RECORD where it did not grade it (or nbgrader's own command did)
    gone    it is in the gradebook, and no longer among what was handed in
    unclear why it cannot be said when it was handed in; "" where it can
    handed_in  where it is
    """

    student: str
    lesson: str
    score: Score = NO_SCORE
    record: Record = NO_RECORD
    due: str = ""
    gone: bool = False
    unclear: str = ""
    handed_in: HandedIn | None = None

    @property
    def state(self) -> str:
        """`due`, or else GRADED or WAITS (for a person)."""
        return self.due or (WAITS if self.score.waits else GRADED)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person has to look at it; empty where nobody has to."""
        if self.state != WAITS:
            return ()
        given = self.record.reasons
        return self.score.why_waiting((*given, GONE) if self.gone else given)

    @property
    def title(self) -> str:
        """The lesson's name, with the exercises that wait where it is not all of it."""
        return f"{self.lesson} ({', '.join(self.part)})" if self.part else self.lesson

    @property
    def part(self) -> tuple[str, ...]:
        """The exercises that wait, where others have their points; else empty."""
        names = {mark.grade_id: mark.exercise for mark in self.record.result.marks}
        return part_of((names.get(one.name) or one.name, one.waits) for one in self.score.cells)

    @property
    def accepted(self) -> str:
        """Who let it pass, in words; "" where nobody had to."""
        return str(self.record.accepted or "")

    @property
    def late(self) -> timedelta:
        """By how much it was handed in late."""
        return self.score.late

    @property
    def copied(self) -> bool:
        """Whether the course's own solution was handed in."""
        return self.record.result.copied

    def as_data(self) -> dict[str, Any]:
        """For scripts."""
        is_there = self.score is not NO_SCORE
        return {
            "student": self.student, "lesson": self.lesson, "state": self.state,
            "score": self.score.points if is_there else None,
            "max_score": self.score.max_points if is_there else None,
            "reasons": list(self.reasons), "part": list(self.part), "graded": self.record.graded or None,
            "gone": self.gone, "accepted": self.accepted, "seconds_late": self.late.total_seconds(),
            "unclear": self.unclear, "copied": self.copied,
        }  # fmt: skip

    @property
    def is_final(self) -> bool:
        return self.state == GRADED

    @property
    def is_to_grade(self) -> bool:
        return self.state in (CHANGED, UNGRADED)


@dataclass(frozen=True)
class Overview:
    """How it stands with a class.

    found      what was handed in
    gone       what is in the gradebook though nothing is handed in (any more)
    without    by lesson, the students of the gradebook who handed nothing in
    misplaced  notebooks at no place where one is looked for
    students   everybody in the gradebook
    """

    found: tuple[Standing, ...]
    gone: tuple[Standing, ...]
    without: Mapping[str, tuple[str, ...]]
    misplaced: tuple[Misplaced, ...]
    students: tuple[Student, ...] = ()

    @property
    def every(self) -> tuple[Standing, ...]:
        """What was handed in, and what is in the gradebook besides."""
        return (*self.found, *self.gone)

    @property
    def not_final(self) -> tuple[Standing, ...]:
        """What has no final score."""
        return tuple(one for one in self.every if not one.is_final)

    @property
    def never(self) -> set[str]:
        """Who handed nothing in for any of several lessons."""
        lists = list(self.without.values())
        return set(lists[0]).intersection(*lists) if len(lists) > 1 else set()


def overview(
    course: CourseDirectory,
    connection: Connection,
    lessons: Sequence[str] = (),
    used: Sequence[str] | None = None,
) -> Overview:
    """How it stands with these lessons, or with all. Raises NoLesson for one there is no source of.

    used  those of them that somebody handed in, where that is known
    """
    used = used if used is not None else lessons or lessons_handed_in(course)
    found = tuple(standings(course, connection, used)) if used else ()
    there, records = {(one.student, one.lesson) for one in found}, Records(course.root)
    gone = tuple(
        Standing(*key, score, records.read(*key) or NO_RECORD, gone=True)
        for score in read_scores(connection, lessons or None)
        if (key := (score.student, score.lesson)) not in there and score.cells
    )
    students = tuple(read_students(connection))
    known = {one.student for one in found} | {one.id for one in students}
    there |= {(one.student, one.lesson) for one in gone}
    without = {
        lesson: tuple(one.id for one in students if (one.id, lesson) not in there)
        for lesson in used
    }
    return Overview(found, gone, without, tuple(find_misplaced(course, known)), students)


def standings(
    course: CourseDirectory, connection: Connection, lessons: Sequence[str] = (),
    student: str | None = None, devices: Sequence[str] = ("cpu", "cuda"),
) -> Iterator[Standing]:  # fmt: skip
    """Every submission that was handed in (by one student), by lesson and student.

    lessons  without names, all
    devices  what was graded on another one counts as changed

    Raises NoLesson for a lesson there is no source of.
    """
    records, seeds = Records(course.root), Seeds(course.root)
    for lesson in lessons or lessons_handed_in(course):
        files, seed = lesson_files(course, lesson), seeds.known(lesson) or 0
        scores = {one.student: one for one in read_scores(connection, [lesson], student)}
        for one in find(course, lesson, student):
            score = scores.get(one.student, NO_SCORE)
            record = records.read(one.student, lesson) or NO_RECORD
            when, unclear = read_timestamp(one.folder)
            due = ""
            folder = folder_of(course, course.autograded_directory, one.student, lesson)
            kept = when in (None, score.handed_in) and (folder / f"{lesson}.ipynb").is_file()
            if score is NO_SCORE or (record is NO_RECORD and not kept):
                due = UNGRADED
            elif record is not NO_RECORD and not (kept and record.result.content in (
                content_hash(one.read(), files, How(seed, device)) for device in devices
            )):  # fmt: skip
                due = CHANGED
            yield Standing(one.student, lesson, score, record, due, False, unclear, one)


def as_lines(look: Overview) -> Iterator[dict[str, object]]:
    """An overview for scripts: a line a student and lesson, and one a misplaced notebook."""
    for one in look.every:
        yield one.as_data()
    for lesson, names in look.without.items():
        for name in names:
            yield Standing(name, lesson, due=NOTHING).as_data()
    for place in look.misplaced:
        yield {"student": place.student, "lesson": place.lesson, **place.as_data()}


MOST_NAMED = 20  # students, or lines, of one kind


def run_status(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Print how it stands, for people or for scripts."""
    with reading(course) as connection:
        found = overview(course, connection, list(dict.fromkeys(options.lesson)))
    for line in map(json.dumps, as_lines(found)) if options.json else [in_words(found)]:
        print(line)
    return 0


def in_words(look: Overview, whole: bool = True) -> str:
    """The standing of a class: counts by lesson, then everybody who is not done.

    whole  also where nothing was handed in
    """
    reasons = by_reason(look.every)
    never, nothing = look.never, look.without.items()
    return filled(
        "status.txt.j2", look=look, whole=whole, most=MOST_NAMED, waits=WAITS, reasons=reasons,
        never=sorted(never), in_days=in_days,
        nothing={lesson: [one for one in those if one not in never] for lesson, those in nothing},
    ).lstrip("\n")  # fmt: skip


def by_reason(those: Iterable[Standing]) -> list[tuple[str, list[str]]]:
    """(why, students) of those who wait, the most common first; a line's place is left out of why."""
    why: dict[str, list[str]] = {}
    for one in those:
        for reason in dict.fromkeys(reason.rpartition(" – ")[2] for reason in one.reasons):
            why.setdefault(reason, []).append(one.student)
    return sorted(why.items(), key=lambda pair: -len(pair[1]))
