"""Grades everything that was handed in: many workers compute, this one process writes.

A result is in the gradebook, in autograded/ and in the records before it counts as done, so a batch
that ends at any moment goes on where it was when it is run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.class_overview import GRADED, WAITS, Standing, standings
from autograder.grading.execute import how_to_grade
from autograder.grading.flow import Place, Task, results
from autograder.grading.gradebook import Writer, alone
from autograder.grading.handed_in import lesson_files
from autograder.grading.marking import How
from autograder.grading.scores import Score, read_scores
from autograder.grading.words import NameTrouble


@dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    student    only this one; None: all
    all_again  also what has not changed since it was graded
    place      where it is done
    how        without what a lesson decides: its seed, what it may import
    """

    lessons: tuple[str, ...]
    student: str | None = None
    all_again: bool = False
    place: Place = field(default_factory=Place)
    how: How = field(default_factory=How)


@dataclass
class Tally:
    """How far a batch is. Of results only what is said at the end: a class may be a large one.

    waited  how many of those that have not changed wait for a person
    waiting  who else does; left_out: those whose name no gradebook can hold
    late    how many of the others were handed in late
    """

    total: int = 0
    unchanged: int = 0
    waited: int = 0
    done: int = 0
    late: int = 0
    waiting: list[tuple[str, str, str]] = field(default_factory=list)  # student, lesson, why
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def add(self, one: Standing) -> None:
        """One more is graded."""
        self.done += 1
        self.late += bool(one.late)
        if one.state == WAITS:
            self.waiting.append((one.student, one.title, one.reasons[0]))


def grade_all(
    course: CourseDirectory, order: Order, told: Callable[[Tally, Standing | None], None]
) -> Tally:
    """Grade what an order names. ``told`` hears of the beginning, and how it stands with each result.

    Raises Busy, NoLesson, NoCluster, CannotStart or CannotWrite with a sentence that says what to do;
    what was graded until then is kept.
    """
    with alone(Path(course.root)), Writer(course) as writer:
        tasks, tally = _tasks(course, order, writer)
        for lesson in {task.files.name for task in tasks}:
            writer.check(lesson)
        told(tally, None)
        with closing(results(tasks, order.place)) as found:
            for task, graded in found:
                student, lesson = graded.student, graded.lesson
                try:
                    writer.write(graded, task.handed_in.folder)
                except NameTrouble as error:  # the others have other names
                    tally.left_out.append((student, lesson, str(error)))
                    continue
                score = writer.read(partial(score_of, student=student, lesson=lesson))
                state = WAITS if score and score.waits else GRADED
                record = writer.records.read(student, lesson)
                one = Standing(student, lesson, state, score, record)
                tally.add(one)
                told(tally, one)
    return tally


def score_of(connection: Connection, student: str, lesson: str) -> Score | None:
    """What stands in the gradebook of one submission."""
    return next(read_scores(connection, [lesson], student), None)


def _tasks(course: CourseDirectory, order: Order, writer: Writer) -> tuple[list[Task], Tally]:
    """What is left to do: without what was graded before and has not changed since."""
    tally, known = Tally(), {}
    for name in order.lessons:
        known[name] = lesson_files(course, name), how_to_grade(course, name, order.how)
    found = writer.read(
        lambda at: list(standings(course, at, order.lessons, order.student, (order.how.device,)))
    )
    tasks = []
    for one in found:
        if one.handed_in and (order.all_again or one.record is None or one.is_to_grade):
            tasks.append(Task(one.handed_in, *known[one.lesson]))
        else:
            tally.unchanged += 1
            tally.waited += one.state == WAITS
    tally.total = len(tasks)
    return tasks, tally
