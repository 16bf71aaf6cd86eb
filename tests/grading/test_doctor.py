"""`autograder doctor`: which walls hold, and what is missing for what."""

import shutil
import sys
from email.message import Message
from importlib import metadata

import pytest

from autograder.grading import doctor
from autograder.grading.box import Walls

REQUIRES = [
    "torch>=2.13",
    "no-such-package-anywhere; extra == 'course'",
    "torch; extra == 'course'",
    "torch; extra == 'grading'",
    "another-missing; extra == 'test'",
]


def test_of_each_extra_it_says_what_is_missing(monkeypatch) -> None:
    project = Message()
    for line in REQUIRES:
        project["Requires-Dist"] = line
    monkeypatch.setattr(metadata, "metadata", lambda name: project)
    said = {one.name: one for one in doctor.missing_packages()}
    assert list(said) == [f"[{extra}]" for extra in doctor.EXTRAS]
    assert said["[course]"].words.endswith(": missing no-such-package-anywhere")
    assert said["[test]"].words == "make test: missing another-missing"
    assert said["[grading]"].works
    assert not any(one.needed for one in said.values())


def test_a_program_is_there_or_not(monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/npm" if name == "npm" else None)
    said = {one.name: one.words for one in doctor.missing_programs() if not one.works}
    assert said["git"] == "make update: not found"
    assert "npm" not in said
    assert said["chromium"] == "browser tests: not found"


@pytest.mark.skipif(sys.platform != "linux", reason="there are no walls elsewhere")
def test_each_wall_is_tried_alone_and_then_all_together(monkeypatch) -> None:
    tried: list[Walls] = []

    def trouble(walls: Walls) -> str:
        tried.append(walls)
        return "there is no bwrap" if walls.outer else ""

    monkeypatch.setattr(doctor, "trouble", trouble)
    found = list(doctor.examine())
    assert [one.works for one in found if one.needed] == [False, True, True, True, False]
    assert found[0].words == "there is no bwrap"
    assert tried[1] == Walls(outer=False, landlock=False, seccomp=False)
    assert tried[-1] == Walls()
