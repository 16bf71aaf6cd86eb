"""Submissions that end their worker cost themselves, and none of those that were beside them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from autograder.grading import flow
from autograder.grading.box import CannotStart
from autograder.grading.box.outer_wall import make_folder
from autograder.grading.flow import MOST_ATTEMPTS, Flow, Place, Task
from autograder.grading.handed_in import HandedIn
from autograder.grading.one_submission import How, Submission
from autograder.grading.result import Result
from autograder.learner.lesson import LessonFiles
from tests.grading.batches import LESSON, SQUARE, notebook

FILES = LessonFiles(LESSON, notebook({"Square": SQUARE}))


def grade_or_die(submission: Submission, lesson: LessonFiles | str, how: How) -> Result | None:
    """What workers run in place of grading: whoever hands in "poison" ends the worker."""
    if isinstance(lesson, str) and submission.data == b"unheard":
        return None  # this worker has not got the lesson yet
    time.sleep(0.02)
    if submission.data == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return Result(submission.student, LESSON, "", (), content=str(isinstance(lesson, str)))


def results(folder: Path, handed_in: dict[str, str]) -> dict[str, Result]:
    tasks = []
    for student, text in handed_in.items():
        (folder / student).mkdir()
        (folder / student / f"{LESSON}.ipynb").write_text(text)
        tasks.append(Task(HandedIn(student, LESSON, folder / student), FILES, How(1)))
    with Flow(tasks, Place(workers=2)) as found:
        given = [result for _, result in found]
    assert len(given) == len(handed_in)
    return {result.student: result for result in given}


@pytest.fixture(autouse=True)
def instead_of_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "grade_sent", grade_or_die)


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
            assert "The grader itself failed on this notebook (the worker" in words[0]
            assert "not the learner's fault" in words[0]
            assert found[student].needs_person


def test_a_lesson_is_sent_whole_only_where_it_is_unknown(tmp_path: Path) -> None:
    found = results(tmp_path, {"ada": "fine", "ben": "unheard"})
    assert (found["ada"].content, found["ben"].content) == ("True", "False")


def test_workers_that_never_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def nothing(*given: object) -> bool:
        started.append(given)
        return False

    monkeypatch.setattr(Flow, "_submit", nothing)
    with pytest.raises(CannotStart, match="before they have graded anything"):
        results(tmp_path, {"ada": "fine"})
    assert len(started) > MOST_ATTEMPTS


def test_a_forked_child_that_ends_takes_nothing_away(tmp_path: Path) -> None:
    """Its exit handlers are copies of ours; the box and its folder are not."""
    folder = make_folder()
    pid = os.fork()
    if pid == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(pid, 0)
    assert folder.path.is_dir()
    folder.remove()
    assert not folder.path.exists()
