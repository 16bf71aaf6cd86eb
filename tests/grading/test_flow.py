"""Submissions that end their worker cost themselves, and none of those that were beside them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from autograder.grading import batch, box
from autograder.grading.batch import MOST_ATTEMPTS, Order, Task
from autograder.grading.box import CannotStart
from autograder.grading.handed_in import HandedIn
from autograder.grading.marking import Result
from autograder.grading.one_submission import How, Submission
from autograder.grading.processes import bounded, local_pool
from autograder.learner.lesson import LessonFiles
from tests.grading.batches import LESSON, SQUARE, notebook

FILES = LessonFiles(LESSON, notebook({"Square": SQUARE}))


def grade_or_die(submission: Submission, files: LessonFiles, how: How) -> Result:
    """What workers run in place of grading: whoever hands in "poison" ends the worker."""
    time.sleep(0.02)
    if submission.data == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return Result(submission.student, LESSON, "", ())


def results(folder: Path, handed_in: dict[str, str]) -> dict[str, Result]:
    tasks = []
    for student, text in handed_in.items():
        (folder / student).mkdir()
        (folder / student / f"{LESSON}.ipynb").write_text(text)
        tasks.append(Task(HandedIn(student, LESSON, folder / student), FILES, How(1)))
    given = [result for _, result in batch.results(tasks, Order((LESSON,), workers=2))]
    assert len(given) == len(handed_in)
    return {result.student: result for result in given}


@pytest.fixture(autouse=True)
def instead_of_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "grade", grade_or_die)


@pytest.mark.slow
def test_those_beside_it_are_graded(tmp_path: Path) -> None:
    students = {f"student-{i}": "fine" for i in range(9)}
    students |= {"student-3": "poison", "student-4": "poison"}
    found = results(tmp_path, students)
    for student, text in students.items():
        words = found[student].reasons
        if text == "fine":
            assert words == ()
        else:
            assert "The grader itself failed on this notebook (the process" in words[0]
            assert "not the learner's fault" in words[0]
            assert found[student].reasons


def test_workers_that_never_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Nothing(Executor):
        def submit(self, *given: Any, **_: Any) -> Any:
            started.append(given)
            raise OSError("no process")

    monkeypatch.setattr(Order, "pool", lambda self, count: nullcontext((Nothing(), 1)))
    with pytest.raises(CannotStart, match=r"before they have graded anything .*no process"):
        results(tmp_path, {"ada": "fine"})
    assert len(started) > MOST_ATTEMPTS


def do(name: str) -> str | tuple[str]:
    with bounded(0.5):
        if name == "dies":
            os._exit(1)
        if name == "hangs":
            time.sleep(60)
        if name == "fails":
            raise ValueError("no")
        return (name,)


def test_what_hangs_dies_or_fails_is_named_and_the_rest_is_done() -> None:
    names = ["a", "dies", "b", "hangs", "c", "fails", "d"]
    made = batch.made_of(do, names, lambda name: (name,), lambda n: local_pool(2))
    found = {name: what for name, _, what in made}
    assert {name: found[name] for name in "abcd"} == {name: (name,) for name in "abcd"}
    assert found["dies"] == "the process that did it ended each time"
    assert found["hangs"] == "it took more than 0.5 s"
    assert found["fails"] == "ValueError: no"


def test_a_forked_child_that_ends_takes_nothing_away(tmp_path: Path) -> None:
    """Its exit handlers are copies of ours; the box and its folder are not."""
    work, process = TemporaryDirectory(dir=tmp_path), subprocess.Popen(["sleep", "60"])
    control, _ = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        box._end(process, control, work, os.getppid())
        os._exit(0)
    os.waitpid(pid, 0)
    assert process.poll() is None
    assert Path(work.name).is_dir()
    box._end(process, control, work, os.getpid())
    assert process.poll() is not None
    assert not Path(work.name).exists()
