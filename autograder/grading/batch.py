"""Grades everything that was handed in: many workers compute, this one process writes.

A result is in the gradebook, in autograded/ and in the records before it counts as done, so a batch
that ends at any moment goes on where it was when it is run again.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.box import Limits, Walls
from autograder.grading.course import CannotWrite
from autograder.grading.flow import Flow, Place, Task
from autograder.grading.gradebook import Writer
from autograder.grading.handed_in import HandedIn, find, lesson_files
from autograder.grading.lesson import LessonFiles, read_lesson
from autograder.grading.records import Records, Seeds
from autograder.grading.result import Result
from autograder.grading.work import How, content_hash


class Busy(RuntimeError):
    """Somebody else grades this course right now."""


@dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    student    only this one; None: all
    all_again  also what has not changed since it was graded
    place      where it is done
    tests      run graded cells that are no check(…), too (see work.How)
    """

    lessons: tuple[str, ...]
    student: str | None = None
    all_again: bool = False
    place: Place = field(default_factory=Place)
    device: str = "cpu"
    tests: bool = False
    limits: Limits = field(default_factory=Limits)
    walls: Walls = field(default_factory=Walls)


@dataclass
class Tally:
    """How far a batch is. Of results only what is said at the end: a class may be a large one."""

    total: int = 0
    unchanged: int = 0
    done: int = 0
    waiting: list[tuple[str, str, str]] = field(default_factory=list)  # student, lesson, why
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def add(self, result: Result) -> None:
        """One more is graded."""
        self.done += 1
        if result.needs_person:
            why = result.reasons[0] if result.reasons else "a cell is graded by hand"
            self.waiting.append((result.student, result.lesson, why))


def grade_all(
    course: CourseDirectory, order: Order, told: Callable[[Tally, Result | None], None]
) -> Tally:
    """Grade what an order names. ``told`` hears of the beginning and of every result.

    Raises Busy, NoLesson, NoCluster, CannotStart or CannotWrite with a sentence that says what to do;
    what was graded until then is kept.
    """
    with _alone(Path(course.root)):
        tasks, tally = _tasks(course, order)
        # Workers need seconds to get ready; meanwhile the gradebook is opened.
        with Flow(tasks, order.place) as flow, Writer(course) as writer:
            for lesson in {task.files.name for task in tasks}:
                writer.check(lesson)
            told(tally, None)
            for task, result in flow:
                writer.write(result, task.handed_in.folder)
                tally.add(result)
                told(tally, replace(result, notebook=""))
    return tally


def how_to_grade(
    course: CourseDirectory, lesson: str, order: Order, prelude: tuple[str, ...]
) -> How:
    """What a lesson's submissions are graded with."""
    seed = Seeds(Path(course.root)).of(lesson)
    return How(seed, order.device, order.limits, order.walls, prelude, order.tests)


def _tasks(course: CourseDirectory, order: Order) -> tuple[list[Task], Tally]:
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
                tasks.append(Task(one, files, how))
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
