"""Grades everything that was handed in: many workers compute, this one process writes.

A result is in the gradebook, in autograded/ and in the records before it counts as done, so a batch
that ends at any moment goes on where it was when it is run again.
"""

from __future__ import annotations

import fcntl
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.box import CannotStart, Limits, Walls
from autograder.grading.course import CannotWrite
from autograder.grading.gradebook import Writer
from autograder.grading.handed_in import HandedIn, find, lesson_files
from autograder.grading.lesson import LessonFiles, NoLesson, read_lesson
from autograder.grading.pool import cluster, local_pool
from autograder.grading.records import Records, Seeds
from autograder.grading.result import Result
from autograder.grading.work import How, Submission, content_hash, grade, not_graded

MOST_ATTEMPTS = 3  # of one submission, when workers die while they grade it


class Busy(RuntimeError):
    """Somebody else grades this course right now."""


@dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    student    only this one; None: all
    all_again  also what has not changed since it was graded
    workers    processes on this machine; unused with a scheduler
    scheduler  the address of a Dask scheduler; "" for this machine
    tests      run graded cells that are no check(…), too (see work.How)
    """

    lessons: tuple[str, ...]
    student: str | None = None
    all_again: bool = False
    workers: int = 1
    scheduler: str = ""
    device: str = "cpu"
    tests: bool = False
    limits: Limits = field(default_factory=Limits)
    walls: Walls = field(default_factory=Walls)


@dataclass
class Tally:
    """How far a batch is."""

    total: int = 0
    unchanged: int = 0
    graded: list[Result] = field(default_factory=list)
    missing: list[HandedIn] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return len(self.graded)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


@dataclass
class _Task:
    handed_in: HandedIn
    files: LessonFiles
    how: How
    attempts: int = 0


def grade_all(
    course: CourseDirectory, order: Order, told: Callable[[Tally, Result | None], None]
) -> Tally:
    """Grade what an order names. ``told`` hears of the beginning and of every result.

    Raises Busy, NoLesson, NoCluster, CannotStart or CannotWrite with a sentence that says what to do;
    what was graded until then is kept.
    """
    root = Path(course.root)
    with _alone(root), Writer(course) as writer:
        tasks, tally = _tasks(course, order)
        for lesson in {task.files.name for task in tasks}:
            writer.check(lesson)
        told(tally, None)
        if tasks:
            for task, result in _results(tasks, order):
                writer.write(result, task.handed_in.folder)
                tally.graded.append(replace(result, notebook=""))
                told(tally, result)
    return tally


def how_to_grade(
    course: CourseDirectory, lesson: str, order: Order, prelude: tuple[str, ...]
) -> How:
    """What a lesson's submissions are graded with."""
    seed = Seeds(Path(course.root)).of(lesson)
    return How(seed, order.device, order.limits, order.walls, prelude, order.tests)


def _tasks(course: CourseDirectory, order: Order) -> tuple[list[_Task], Tally]:
    """What is left to do: without what was graded before and has not changed since."""
    records, tally = Records(Path(course.root)), Tally()
    lessons = [lesson_files(course, name) for name in order.lessons]
    prelude = tuple(dict.fromkeys(cell for files in lessons for cell in read_lesson(files).prelude))
    tasks = []
    for files in lessons:
        how = how_to_grade(course, files.name, order, prelude)
        for one in find(course, files.name, order.student):
            if not order.all_again and is_graded(course, records, one, files, how):
                tally.unchanged += 1
            else:
                tasks.append(_Task(one, files, how))
    tally.total = len(tasks)
    return tasks, tally


def is_graded(
    course: CourseDirectory, records: Records, one: HandedIn, files: LessonFiles, how: How
) -> bool:
    """Whether a submission was graded as it is now, and the outcome is still there."""
    record = records.read(one.student, one.lesson)
    if record is None or record.result.content != content_hash(one.read(), files, how):
        return False
    folder = Path(course.format_path(course.autograded_directory, one.student, one.lesson))
    return (folder / f"{one.lesson}.ipynb").is_file()


def _results(tasks: Sequence[_Task], order: Order) -> Iterator[tuple[_Task, Result]]:
    """The results as they come. Workers that die are replaced, and what they had is done again."""
    waiting = deque(tasks)
    while waiting:
        with ExitStack() as stack:
            if order.scheduler:
                executor, at_a_time = stack.enter_context(cluster(order.scheduler))
            else:
                at_a_time = min(order.workers, len(waiting))
                executor = stack.enter_context(local_pool(at_a_time))
            yield from _until_broken(waiting, executor, 2 * at_a_time)


def _until_broken(
    waiting: deque[_Task], executor: Executor, at_a_time: int
) -> Iterator[tuple[_Task, Result]]:
    """Take tasks from the queue and give results, until all are done or the workers are gone."""
    running: dict[Future[Result], tuple[_Task, Submission]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                task = waiting.popleft()
                submission = task.handed_in.read()
                if task.attempts >= MOST_ATTEMPTS:
                    yield task, _gave_up(task, submission, "the worker grading it ended each time")
                    continue
                try:
                    future = executor.submit(grade, submission, task.files, task.how)
                except BrokenProcessPool:
                    waiting.appendleft(task)
                    raise
                running[future] = task, submission
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task, submission = running[future]
                result = _result(future, task, submission)
                del running[future]
                yield task, result
    except BrokenProcessPool:
        for task, _ in running.values():
            waiting.append(replace(task, attempts=task.attempts + 1))


def _result(future: Future[Result], task: _Task, submission: Submission) -> Result:
    try:
        return future.result()
    except (BrokenProcessPool, CannotStart, CannotWrite, NoLesson):
        raise
    except Exception as error:  # the grader's own fault costs nobody marks, and the others go on
        return _gave_up(task, submission, f"{type(error).__name__}: {str(error)[:300]}")


def _gave_up(task: _Task, submission: Submission, why: str) -> Result:
    words = f"The grader itself failed on this notebook ({why}). It is not the learner's fault."
    return not_graded(submission, task.files, task.how, words)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Nobody else grades the course at the same time. Raises Busy."""
    folder = root / "grading"
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise CannotWrite(f"{folder} cannot be written to: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                "Somebody is grading this course right now. Wait until they are done."
            ) from None
        yield
