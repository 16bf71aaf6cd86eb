"""Grades everything that was handed in: many workers compute, this one process writes.

A result is in the gradebook, in autograded/ and in the records before it counts as done, so a batch
that ends at any moment goes on where it was when it is run again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.exercises import all_exercises
from autograder.grading.box import CannotStart
from autograder.grading.class_overview import NO_RECORD, WAITS, Standing, standings
from autograder.grading.execute import how_to_grade
from autograder.grading.gradebook import Writer, alone
from autograder.grading.handed_in import HandedIn, lesson_files
from autograder.grading.marking import How, Result
from autograder.grading.one_submission import Submission, grade, not_graded
from autograder.grading.processes import TooMuch, cluster, local_pool, lost
from autograder.grading.scores import Score, read_scores
from autograder.grading.words import NameTrouble
from autograder.learner.lesson import LessonFiles, NoLesson

MOST_ATTEMPTS = 3  # at one thing, when processes die while they are at it
MOST_BREAKS = 5  # of processes one after the other, when nothing comes of any in between
ENDED = "the process that did it ended each time"

Pool = AbstractContextManager[tuple[Executor, int]]  # and how many tasks it does at a time


@dataclass
class _One:
    """attempts: how often processes have died while this one was among those they had."""

    given: Any
    attempts: int = 0
    sent: tuple[Any, ...] = ()


def made_of(
    work: Callable[..., Any], those: Iterable[Any], sent: Callable[[Any], tuple[Any, ...]],
    pool: Callable[[int], Pool],
) -> Iterator[tuple[Any, tuple[Any, ...], Any]]:  # fmt: skip
    """(one, what was sent of it, what came of that) as it comes; a text says why nothing did.

    sent  the arguments for ``work``, made when they are about to be sent
    pool  gives processes for so many things

    Raises CannotStart or NoLesson where nothing more can be done, and CancelledError where a cluster
    has lost what it had.
    """
    waiting, breaks = deque(map(_One, those)), 0
    while waiting:
        with pool(len(waiting)) as (executor, at_a_time):
            running: dict[Future[Any], _One] = {}
            try:
                while running or waiting:
                    while waiting:
                        one = waiting[0]
                        # Of those a dead process had, one at a time: if it is one of them, it shows which.
                        alone = any(each.attempts for each in (one, *running.values()))
                        if len(running) >= (1 if alone else 2 * at_a_time):
                            break
                        one.sent = sent(one.given)
                        if one.attempts < MOST_ATTEMPTS:
                            running[executor.submit(work, *one.sent)] = one
                        waiting.popleft()
                        if one.attempts == MOST_ATTEMPTS:
                            yield one.given, one.sent, ENDED
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        made = _made(future)
                        one, breaks = running.pop(future), 0
                        yield one.given, one.sent, made
            except (BrokenProcessPool, OSError, EOFError) as error:
                trouble = f"{type(error).__name__}: {error}"
                for one in running.values():
                    one.attempts += 1
                waiting.extendleft(running.values())
        breaks += 1
        if waiting and breaks > MOST_BREAKS:
            words = "worker processes end before they have graded anything"
            raise CannotStart(f"{words} ({trouble})")


def _made(future: Future[Any]) -> Any:
    """What came of one; a text where nothing did for a reason of its own."""
    try:
        return future.result()
    except (BrokenProcessPool, CannotStart, NoLesson, CancelledError):
        raise
    except TooMuch as error:
        return f"it took {error}"
    except Exception as error:  # a fault of ours: the others go on
        return f"{type(error).__name__}: {str(error)[:300]}"


# ---- grading ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One submission to be graded."""

    handed_in: HandedIn
    files: LessonFiles
    how: How

    def sent(self) -> tuple[Submission, LessonFiles, How]:
        """What `grade` asks for."""
        return self.handed_in.read(), self.files, self.how


@dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    student    only this one; None: all
    all_again  also what has not changed since it was graded
    workers    how many processes of this machine do it
    scheduler  of Dask, whose workers do it instead; "": nobody's
    how        without what a lesson decides: its seed, what it may import
    """

    lessons: tuple[str, ...]
    student: str | None = None
    all_again: bool = False
    workers: int = 1
    scheduler: str = ""
    how: How = field(default_factory=How)

    def pool(self, count: int) -> Pool:
        """Processes for so many submissions. Raises Trouble."""
        if self.scheduler:
            return cluster(self.scheduler)
        all_exercises()  # once, for all of them
        return local_pool(min(self.workers, count))


def results(tasks: Iterable[Task], order: Order) -> Generator[tuple[Task, Result], None, None]:
    """Results as they come. Raises Trouble, CannotStart or NoLesson where nothing more can be graded."""

    try:
        for task, sent, made in made_of(grade, tasks, Task.sent, order.pool):
            if isinstance(made, str):  # the grader's own fault costs nobody marks
                words = f"The grader itself failed on this notebook ({made}). It is not the learner's fault."
                made = not_graded(sent[0], task.files, task.how, words)
            yield task, made
    except (CancelledError, OSError):
        if order.scheduler:
            raise lost(order.scheduler) from None
        raise


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
    course: CourseDirectory, order: Order
) -> Generator[tuple[Tally, Standing | None], None, None]:
    """Grade what an order names: how it stands at the beginning, and with each result.

    Raises Busy, NoLesson, Trouble, CannotStart or CannotWrite with a sentence that says what to do;
    what was graded until then is kept.
    """
    with alone(course), Writer(course) as writer:
        tasks, tally = _tasks(course, order, writer)
        for lesson in {task.files.name for task in tasks}:
            writer.check(lesson)
        yield tally, None
        with closing(results(tasks, order)) as found:
            for task, graded in found:
                student, lesson = graded.student, graded.lesson
                try:
                    writer.write(graded, task.handed_in.folder)
                except NameTrouble as error:  # the others have other names
                    tally.left_out.append((student, lesson, str(error)))
                    continue
                (score,) = writer.read(partial(scores_of, student=student, lesson=lesson))
                one = Standing(
                    student, lesson, score, writer.records.read(student, lesson) or NO_RECORD
                )
                tally.add(one)
                yield tally, one


def scores_of(connection: Connection, student: str, lesson: str) -> list[Score]:
    """What stands in the gradebook of one submission."""
    return [*read_scores(connection, [lesson], student)]


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
        if one.handed_in and (order.all_again or one.record is NO_RECORD or one.is_to_grade):
            tasks.append(Task(one.handed_in, *known[one.lesson]))
        else:
            tally.unchanged += 1
            tally.waited += one.state == WAITS
    tally.total = len(tasks)
    return tasks, tally
