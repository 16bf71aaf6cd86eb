"""Sends submissions to workers and takes results back; workers that die are replaced."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, replace

from autograder.grading.box import CannotStart
from autograder.grading.handed_in import HandedIn
from autograder.grading.one_submission import How, Submission, grade_sent, not_graded
from autograder.grading.processes import NoCluster, cluster, local_pool, lost
from autograder.grading.result import Result
from autograder.learner.lesson import LessonFiles, NoLesson

MOST_ATTEMPTS = 3  # of one submission, when workers die while they grade it
MOST_KEPT = 200  # results that nobody has taken yet
MOST_BREAKS = 5  # of workers one after the other, when no result comes in between


@dataclass(frozen=True)
class Task:
    """One submission to be graded.

    attempts  how often workers have died while this one was among those they had
    """

    handed_in: HandedIn
    files: LessonFiles
    how: How
    attempts: int = 0


@dataclass(frozen=True)
class Place:
    """Where the work is done: on a Dask scheduler's workers, or ("") by processes of this machine."""

    workers: int = 1
    scheduler: str = ""


class Flow:
    """Results as they come. It starts with `with`: meanwhile the caller can do other things.

    Raises NoCluster, CannotStart or NoLesson where nothing more can be graded.
    """

    def __init__(self, tasks: Sequence[Task], place: Place):
        self._waiting, self._place = deque(tasks), place
        self._running: dict[Future[Result | None], tuple[Task, Submission]] = {}
        self._results: deque[tuple[Task, Result]] = deque()
        self._stack = ExitStack()
        self._executor: Executor | None = None
        self._at_a_time = self._breaks = 0
        self._trouble = ""  # the last reason why a worker could not be given work

    def __enter__(self) -> Flow:
        try:
            self._send()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[tuple[Task, Result]]:
        while self._waiting or self._running or self._results:
            # Whoever takes results may be slower than the workers: they go on meanwhile.
            self._receive(None if not self._results else 0)
            self._send()
            if self._results:
                self._breaks = 0
                yield self._results.popleft()

    # ---- sending ------------------------------------------------------------------------------
    def _send(self) -> None:
        """Give workers enough to do, so that none waits for us."""
        while self._waiting and self._has_room():
            task = self._waiting.popleft()
            submission = task.handed_in.read()
            if task.attempts >= MOST_ATTEMPTS:
                words = "the worker grading it ended each time"
                self._results.append((task, _gave_up(task, submission, words)))
            elif not self._submit(task, submission, task.files.digest):
                self._waiting.appendleft(task)
                self._replace_workers()

    def _has_room(self) -> bool:
        if self._executor is None:
            self._start()
        # Of those a dead worker had, one at a time: if it is one of them, it shows which.
        alone = any(task.attempts for task in (self._waiting[0], *self._tasks_running()))
        most = 1 if alone else 2 * self._at_a_time
        return len(self._running) < most and len(self._results) < MOST_KEPT

    def _tasks_running(self) -> list[Task]:
        return [task for task, _ in self._running.values()]

    def _submit(self, task: Task, submission: Submission, lesson: LessonFiles | str) -> bool:
        """Whether it could be sent."""
        assert self._executor is not None
        try:
            future = self._executor.submit(grade_sent, submission, lesson, task.how)
        except (BrokenProcessPool, OSError, EOFError) as error:
            if self._place.scheduler:
                raise lost(self._place.scheduler) from None
            self._trouble = f"{type(error).__name__}: {error}"
            return False
        self._running[future] = task, submission
        return True

    # ---- receiving ----------------------------------------------------------------------------
    def _receive(self, seconds: float | None) -> None:
        """Take the results that are there; for so long (None: for ever) wait for one."""
        done, _ = wait(self._running, seconds, return_when=FIRST_COMPLETED)
        broken = False
        for future in done:
            task, submission = self._running[future]
            try:
                result = self._result(future, task, submission)
            except BrokenProcessPool as error:
                self._trouble, broken = str(error), True
                continue
            del self._running[future]
            if result is not None:
                self._results.append((task, result))
            elif not self._submit(task, submission, task.files):
                self._waiting.appendleft(task)
                broken = True
        if broken:
            self._replace_workers()

    def _result(
        self, future: Future[Result | None], task: Task, submission: Submission
    ) -> Result | None:
        """None where the worker has not heard of the lesson before."""
        try:
            return future.result()
        except (BrokenProcessPool, CannotStart, NoLesson):
            raise
        except CancelledError:
            raise lost(self._place.scheduler) from None
        except Exception as error:  # the grader's own fault costs nobody marks; the others go on
            return _gave_up(task, submission, f"{type(error).__name__}: {str(error)[:300]}")

    # ---- workers ------------------------------------------------------------------------------
    def _start(self) -> None:
        if self._place.scheduler:
            executor, at_a_time = self._stack.enter_context(cluster(self._place.scheduler))
        else:
            at_a_time = max(1, min(self._place.workers, len(self._waiting)))
            executor = self._stack.enter_context(local_pool(at_a_time))
        self._executor, self._at_a_time = executor, at_a_time

    def _replace_workers(self) -> None:
        """What the dead workers had is done again, by new ones."""
        self._breaks += 1
        if self._breaks > MOST_BREAKS:
            why = f" ({self._trouble})" if self._trouble else ""
            raise CannotStart(f"worker processes end before they have graded anything{why}")
        for future, (task, _) in list(self._running.items()):
            if future.done() and not future.cancelled() and future.exception() is None:
                del self._running[future]
                result = future.result()
                if result is not None:
                    self._results.append((task, result))
                else:
                    self._waiting.appendleft(task)
        again = [replace(task, attempts=task.attempts + 1) for task in self._tasks_running()]
        self._running.clear()
        self._waiting.extendleft(reversed(again))
        self._stack.close()
        self._executor = None


def _gave_up(task: Task, submission: Submission, why: str) -> Result:
    words = f"The grader itself failed on this notebook ({why}). It is not the learner's fault."
    return not_graded(submission, task.files, task.how, words)


__all__ = ["Flow", "NoCluster", "Place", "Task"]
