"""Tests that share something slow run on one worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schedule import SHARED_LAB, group_of

ROOT = Path(__file__).parents[1]
CONFTEST = """
import pytest
from tests.schedule import make_scheduler

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return make_scheduler(config, log)
"""
TESTS = """
import time
import pytest

@pytest.fixture(scope="SCOPE")
def slow():
    return 1

@pytest.mark.parametrize("number", range(8))
def test_where(number, slow, worker_id):
    time.sleep(0.05)
    with open(__file__ + "." + worker_id, "a"):
        pass
"""


def test_groups():
    together = {"test_lessons", "test_every_widget", "test_fallbacks", "test_start_page"}
    found = {group_of(f"tests/browser/{name}.py::test_x", ROOT) for name in together}
    assert found == {SHARED_LAB}
    alone = "tests/widgets/test_layout.py::test_x"
    assert group_of(alone, ROOT) == alone


@pytest.mark.parametrize(("scope", "workers"), [("module", 1), ("function", 2)])
def test_a_file_with_a_fixture_of_the_module_stays_on_one_worker(tmp_path, scope, workers):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS.replace("SCOPE", scope))
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("test_it.py.gw*"))) == workers


@pytest.mark.parametrize("at", [0, 3, 7])
def test_a_worker_that_dies_takes_no_other_test_along_and_nobody_waits_for_it(tmp_path, at):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    dies = f"    import os\n    if number == {at}: os._exit(1)\n"
    (tmp_path / "test_it.py").write_text(TESTS.replace("SCOPE", "function") + dies)
    done = run(tmp_path)
    assert "1 failed, 7 passed" in done.stdout, done.stdout + done.stderr


def run(folder):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", f"--rootdir={folder}", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )  # fmt: skip
