"""What is done with a submission outside of the box ends in time, and the others are graded all the same."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from autograder.grading import one_submission, processes
from autograder.grading.one_submission import How, Submission, grade
from autograder.grading.processes import TooMuch, bounded
from autograder.learner.lesson import LessonFiles
from tests.grading.batches import LESSON, SQUARE, notebook


def test_time_and_memory_are_bounded_and_then_free_again() -> None:
    with pytest.raises(TooMuch, match=r"more than 0\.2 s"), bounded(0.2):
        never_ends()
    with pytest.raises(TooMuch, match=r"0\.5 s"), bounded(0.5):
        re.fullmatch(r"(a|a)+", "a" * 60 + "!")
    with pytest.raises(TooMuch, match="64 MiB"), bounded(memory=64 * processes.MIB):
        bytearray(2**30)
    assert len(bytearray(2**30)) == 2**30
    with bounded(0.2):
        pass
    time.sleep(0.4)


def never_ends() -> None:
    """Whatever is caught on the way."""
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def test_a_notebook_that_takes_too_long_to_read_waits_for_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = LessonFiles(LESSON, notebook({"Square": SQUARE}))

    def slow(data: bytes) -> Any:
        time.sleep(60)

    monkeypatch.setattr(one_submission, "read_notebook", slow)
    monkeypatch.setattr(one_submission, "bounded", lambda: bounded(0.3))
    found = grade(Submission("ada", b"{}"), files, How(1))
    assert found.reasons
    assert [mark.points for mark in found.marks] == [None, None]
    assert "takes more than 0.3 s: look at what is in it" in found.reasons[0]
