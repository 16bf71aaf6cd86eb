"""Session fixtures: a class graded with our plug-ins, one without, and the real course's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.grading import demo
from tests.build.mini_course import NAME, write_mini_course
from tests.nbgrader.attack import hostile
from tests.nbgrader.classroom import DONE, STOCK_CONFIG, shared_folder
from tests.nbgrader.submissions import LEARNERS, Learner

HOSTILE = {"mallory": Learner(hostile, 0)}
# Stock nbgrader ends the whole batch at "copied" and "unlocked"; those are graded one by one.
STOCK_LEARNERS = {
    name: LEARNERS[name]
    for name in ("right", "deleted", "stripped", "warned", "skipped", "shadowed")
}


def hold_class(
    prepared: Path, folder: Path, learners: dict[str, Learner], config: str | None = None
) -> None:
    """Make a course folder of the mini course, collect the learners' work and grade it."""
    # DONE is not copied: it is written when all is graded.
    shutil.copytree(prepared, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(DONE))
    settings = folder / "nbgrader_config.py"
    if config is not None:
        settings.write_text(config)
    else:  # the mini course has tests in nbgrader's own way
        settings.write_text(settings.read_text() + "\nc.ExecuteInBox.run_tests = True\n")
    for name, learner in learners.items():
        path = demo.submit(folder, NAME, name, learner.hands_in)
        for beside, text in learner.beside.items():
            path.with_name(beside).write_text(text)
    demo.grade(folder, NAME)
    demo.scores(folder)


def prepared_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mini course, built and with a gradebook: nobody has handed anything in."""
    return shared_folder(
        tmp_path_factory,
        "prepared",
        lambda folder: demo.prepare(write_mini_course(folder / "from"), folder),
    )


@pytest.fixture(scope="session")
def guarded_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mini course with all learners and the attacker, graded as this course grades."""
    return shared_folder(
        tmp_path_factory,
        "guarded",
        lambda folder: hold_class(prepared_course(tmp_path_factory), folder, LEARNERS | HOSTILE),
    )


@pytest.fixture(scope="session")
def stock_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with nbgrader as it is, without those that make it give up."""
    return shared_folder(
        tmp_path_factory,
        "stock",
        lambda folder: hold_class(
            prepared_course(tmp_path_factory), folder, STOCK_LEARNERS | HOSTILE, STOCK_CONFIG
        ),
    )


@pytest.fixture(scope="session")
def real_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lessons 01 and 02 of this very course, handed in by the three learners of `make demo`."""

    def hold(folder: Path) -> None:
        if main(["demo", "--folder", str(folder)]):
            log = folder / "demo.log"
            raise RuntimeError(log.read_text()[-4000:] if log.exists() else "make demo failed")

    return shared_folder(tmp_path_factory, "real", hold)
