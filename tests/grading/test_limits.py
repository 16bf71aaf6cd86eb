"""What is done with a submission outside of the box ends in time, and the others are graded all the same."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import pytest

from autograder.grading import limits, one_submission
from autograder.grading.limits import TooMuch, bounded, in_processes
from autograder.grading.one_submission import How, Submission, grade
from autograder.learner.lesson import LessonFiles
from tests.grading.batches import LESSON, SQUARE, notebook


def test_time_and_memory_are_bounded_and_then_free_again() -> None:
    with pytest.raises(TooMuch, match=r"more than 0\.2 s"), bounded(0.2):
        never_ends()
    with pytest.raises(TooMuch, match=r"0\.5 s"), bounded(0.5):
        re.fullmatch(r"(a|a)+", "a" * 60 + "!")
    with pytest.raises(TooMuch, match="64 MiB"), bounded(memory=64 * limits.MIB):
        bytearray(2**30)
    assert len(bytearray(2**30)) == 2**30
    with bounded(0.2) as bound, bound.paused():
        time.sleep(0.4)


def never_ends() -> None:
    """Whatever is caught on the way."""
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def work(name: str) -> str | tuple[str]:
    if name == "dies":
        os._exit(1)
    if name == "hangs":
        time.sleep(60)
    if name == "fails":
        raise ValueError("no")
    return (name,)


def test_what_hangs_dies_or_fails_is_named_and_the_rest_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "_within_bounds", _quickly)
    names = ["a", "dies", "b", "hangs", "c", "fails", "d"]
    found = dict(in_processes(work, names, 2))
    assert {name: found[name] for name in "abcd"} == {name: (name,) for name in "abcd"}
    assert found["dies"] == "the process that did it ended"
    assert found["hangs"] == "it took more than 0.5 s"
    assert found["fails"] == "ValueError: no"


def _quickly(job: Any, one: str) -> Any:
    try:
        with bounded(0.5):
            return job(one)
    except TooMuch as error:
        return f"it took {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_a_notebook_that_takes_too_long_to_read_waits_for_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = LessonFiles(LESSON, notebook({"Square": SQUARE}))

    def slow(data: bytes) -> Any:
        time.sleep(60)

    monkeypatch.setattr(one_submission, "read_notebook", slow)
    monkeypatch.setattr(one_submission, "bounded", lambda: bounded(0.3))
    found = grade(Submission("ada", b"{}"), files, How(1))
    assert found.needs_person
    assert [mark.points for mark in found.marks] == [None, None]
    assert "takes more than 0.3 s: look at what is in it" in found.reasons[0]
