"""Lesson 12 where Triton cannot be had: kernels are defined, what needs one says so, and the rest works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lessons.source import read_lesson
from tests.build.real_course import REPOSITORY

LESSON = REPOSITORY / "lessons/12_modern.py"
OF_KERNELS = ("setup", "triton", "load-tile", "demo-sigmoid-kernel", "demo-strides", "finale")
CHECKED = """
from autograder import evaluate
print(evaluate(triton_softmax, exercise="triton_softmax"))
print(evaluate(triton_attention, exercise="triton_attention"))
"""


def test_the_lesson_runs_and_says_what_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    cells = [
        cell.source
        for cell in read_lesson(LESSON).notebook.cells
        if cell.cell_type == "code"
        and cell.metadata.nbgrader.grade_id.startswith(OF_KERNELS)
        and "check(" not in cell.source
    ]
    lines = ["import sys", "sys.modules['triton'] = None  # as if it were not installed", *cells]
    script.write_text("\n".join([*lines, CHECKED]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=False,
    )  # fmt: skip
    assert "triton is not here" in done.stdout
    assert "your kernel" not in done.stdout  # of the finale torch's own attention is left
    assert "losses" in done.stdout
    missing = "Triton is not installed here, so nobody can launch this kernel."
    for name in ("triton_softmax", "triton_attention"):
        assert f"{name}: {missing}" in done.stdout.replace("\n  ", " "), done.stdout + done.stderr
