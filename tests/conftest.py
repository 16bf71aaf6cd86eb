"""No test touches the progress of the person who runs it; how tests are spread over workers; what was not run."""

import datetime
import gc
import itertools
import logging
import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is imported

from autograder.learner import progress_file
from tests.not_run import loud_lines

T = TypeVar("T")
NUMBERS = itertools.count()

# Each day other answers of the gallery are looked at in places where all of them would take too long.
# Every process of a run has the same day, also at midnight.
DAY = os.environ.setdefault("TEST_DAY", str(datetime.date.today().toordinal()))

# The whole suite takes a part of the gallery a day; whoever names tests, and the report card, all.
PARTS = 24


def pytest_configure(config: pytest.Config) -> None:
    whole = config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
    os.environ.setdefault("TEST_ANSWERS", "a part" if whole else "all")  # also for the workers


def pytest_collection_finish() -> None:
    """What was imported stays: Python's collector need not look at half a million objects again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


def of_today(every: Sequence[T], parts: int = PARTS) -> Sequence[T]:
    """The part of the answers (or lessons) that the whole suite takes today: one after the other, all have their turn."""
    if os.environ["TEST_ANSWERS"] == "all":
        return every
    return every[int(DAY) % parts :: parts]


def pytest_report_header() -> str:
    taken = os.environ["TEST_ANSWERS"]
    return f"TEST_DAY={DAY}: other answers each day; of the gallery {taken} (TEST_ANSWERS=all)"


@pytest.fixture(autouse=True)
def private_progress(tmp_path_factory, monkeypatch):
    # A path of each test's own, not tmp_path: most write nothing, and six thousand folders take minutes.
    home = tmp_path_factory.getbasetemp() / f"progress-{next(NUMBERS)}"
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(home))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


@pytest.fixture(autouse=True)
def causes_that_stop(monkeypatch):
    """Where a learner would be told less, a test fails."""

    def stops(*_, **__):
        raise

    monkeypatch.setattr(logging.getLogger("autograder.explaining.explanation"), "debug", stops)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is nothing to spread
def pytest_xdist_make_scheduler(config, log):
    from tests.schedule import make_scheduler

    return make_scheduler(config, log)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """Below everything else, where it is seen: what was not tested on this machine."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    skipped = [one.longrepr[2] for one in reporter.stats.get("skipped", []) if one.longrepr]
    for line in loud_lines(skipped):
        reporter.write_line(line, red=True, bold=True)
