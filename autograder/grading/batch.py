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
from datetime import datetime
from functools import partial
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Connection

from autograder.grading.box import Limits, Walls
from autograder.grading.execute import allowed_imports
from autograder.grading.flow import Flow, Place, Task
from autograder.grading.gradebook import Writer
from autograder.grading.handed_in import HandedIn, find, lesson_files
from autograder.grading.kept_files import read_timestamp
from autograder.grading.one_submission import How, content_hash
from autograder.grading.records import Records, Seeds
from autograder.grading.result import Result, with_part
from autograder.grading.scores import Score, read_scores
from autograder.grading.troubles import Busy, CannotWrite, NameTrouble
from autograder.learner.lesson import LessonFiles


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
    """How far a batch is. Of results only what is said at the end: a class may be a large one.

    waited  how many of those that have not changed wait for a person
    waiting  who else does; left_out: those whose name no gradebook can hold
    late    how many of the others were handed in late
    score   what stands in the gradebook of the last one
    """

    total: int = 0
    unchanged: int = 0
    waited: int = 0
    done: int = 0
    late: int = 0
    score: Score | None = None
    waiting: list[tuple[str, str, str]] = field(default_factory=list)  # student, lesson, why
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def last_waits(self, result: Result) -> bool:
        """Whether the last one waits for a person: as the gradebook has it, and so `status`."""
        return result.needs_person if self.score is None else self.score.waits

    def add(self, result: Result, score: Score | None) -> None:
        """One more is graded."""
        self.done += 1
        self.score = score
        self.late += bool(score and score.late)
        if self.last_waits(result):
            why = result.reasons[0] if result.reasons else "a cell is graded by hand"
            self.waiting.append((result.student, with_part(result.lesson, result.part), why))


def grade_all(
    course: CourseDirectory, order: Order, told: Callable[[Tally, Result | None], None]
) -> Tally:
    """Grade what an order names. ``told`` hears of the beginning and of every result.

    Raises Busy, NoLesson, NoCluster, CannotStart or CannotWrite with a sentence that says what to do;
    what was graded until then is kept.
    """
    with alone(Path(course.root)), Writer(course) as writer:
        tasks, tally = _tasks(course, order, writer)
        with Flow(tasks, order.place) as flow:  # its workers get ready while we look
            for lesson in {task.files.name for task in tasks}:
                writer.check(lesson)
            told(tally, None)
            for task, graded in flow:
                try:
                    result = writer.write(graded, task.handed_in.folder)
                except NameTrouble as error:  # the others have other names
                    tally.left_out.append((graded.student, graded.lesson, str(error)))
                    continue
                score = writer.read(partial(score_of, student=result.student, lesson=result.lesson))
                if score is not None and score.waits:
                    result = replace(result, reasons=score.why_waiting(result.reasons))
                tally.add(result, score)
                told(tally, replace(result, notebook=""))
    return tally


def how_to_grade(course: CourseDirectory, lesson: str, order: Order) -> How:
    """What a lesson's submissions are graded with. Raises ValueError for imports nobody can allow."""
    seed = Seeds(Path(course.root)).of(lesson)
    allowed = allowed_imports(course)
    return How(seed, order.device, order.limits, order.walls, order.tests, allowed)


def score_of(connection: Connection, student: str, lesson: str) -> Score | None:
    """What stands in the gradebook of one submission."""
    return next(read_scores(connection, [lesson], student), None)


def _tasks(course: CourseDirectory, order: Order, writer: Writer) -> tuple[list[Task], Tally]:
    """What is left to do: without what was graded before and has not changed since."""
    records, tally = Records(Path(course.root)), Tally()
    lessons = [lesson_files(course, name) for name in order.lessons]
    scores = writer.read(lambda at: list(read_scores(at, order.lessons, order.student)))
    known = {(one.student, one.lesson): one for one in scores}
    tasks = []
    for files in lessons:
        how = how_to_grade(course, files.name, order)
        for one in find(course, files.name, order.student):
            before = known.get((one.student, one.lesson))
            if (
                not order.all_again
                and before is not None
                and is_graded(course, records, one, files, how, before.handed_in)
            ):
                tally.unchanged += 1
                tally.waited += before.waits
            else:
                tasks.append(Task(one, files, how))
    tally.total = len(tasks)
    return tasks, tally


def is_graded(
    course: CourseDirectory,
    records: Records,
    one: HandedIn,
    files: LessonFiles,
    how: How,
    handed_in: datetime | None,
) -> bool:
    """Whether a submission was graded as it is now, and the outcome is still there.

    handed_in  when that was, as the gradebook has it
    """
    record = records.read(one.student, one.lesson)
    if record is None or record.result.content != content_hash(one.read(), files, how):
        return False
    try:
        now = read_timestamp(one.folder)
    except ValueError:
        now = None  # the gradebook keeps what it has
    folder = Path(course.format_path(course.autograded_directory, one.student, one.lesson))
    return now in (None, handed_in) and (folder / f"{one.lesson}.ipynb").is_file()


@contextmanager
def alone(root: Path) -> Iterator[None]:
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
