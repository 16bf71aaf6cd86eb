"""Without a browser, one line at the end of a run says what was not tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.not_run import NO_AXE, NO_CHROMIUM, loud_lines

ROOT = Path(__file__).parents[1]


def test_one_line_for_each_thing_that_is_missing():
    reasons = [f"Skipped: {NO_CHROMIUM}", f"Skipped: {NO_CHROMIUM}", f"Skipped: {NO_AXE}", "no GPU"]
    assert loud_lines(reasons) == [
        f"*** NOT RUN: 2 tests. {NO_CHROMIUM}",
        f"*** NOT RUN: 1 test. {NO_AXE}",
    ]
    assert loud_lines(["no GPU"]) == []


def test_without_chromium_it_is_the_last_line_of_a_run(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider",
         "tests/browser/test_lab.py"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path), "REQUIRE_BROWSER": "", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"*** NOT RUN: 3 tests. {NO_CHROMIUM}"
