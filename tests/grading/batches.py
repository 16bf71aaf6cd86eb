"""A small course with many submissions, and `autograder grade` as a process of its own."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.utils import compute_checksum

from autograder.grading.course import open_course
from tests.grading.gradebooks import all_records, contents, tree, with_tools

REPOSITORY = Path(__file__).resolve().parents[2]
LESSON = "01_two"
SETUP = "import torch\nfrom torch.autograd import Function\n\nfrom autograder import check"
CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "many"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
"""
SQUARE = """\
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
"""
SIGMOID = """\
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)
"""


def using(modules: str, answer: str = SQUARE) -> str:
    """The answer with modules that it imports and refers to: then they are a part of it."""
    used = ", ".join(f"{module}.used" for module in modules.split(", "))
    method = f":\n    def used():\n        return {used}\n\n"
    return f"import {modules}\n" + answer.replace(":\n", method, 1)


ANSWERS = {"Square": SQUARE, "MySigmoid": SIGMOID}
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
WRONG = SQUARE.replace("2 * x * grad_output", "x * grad_output")
# What a class hands in, in turn: answers to Square.
HANDED_IN = {
    "right": SQUARE,
    "wrong": WRONG,
    "untouched": STUB,
    "chatty": SQUARE + "\nprint('tried', Square.apply(torch.ones(2)))",
    "stopped": SQUARE + "\n1 / 0",
    "suspicious": using("ctypes"),
    "unreadable": "",
}
CHECKS = {"check": 2.0, "hidden": 3.0}

Cell = dict[str, Any]


# ---- the course ----------------------------------------------------------------------------


def code(source: str, grade_id: str, points: float | None = None, solution: bool = False) -> Cell:
    """A code cell with nbgrader's metadata."""
    role: dict[str, Any] = {
        "grade_id": grade_id, "grade": points is not None, "solution": solution,
        "locked": not solution, "task": False, "schema_version": 3,
    }  # fmt: skip
    if points is not None:
        role["points"] = points
    return {
        "cell_type": "code", "source": source, "metadata": {"nbgrader": role}, "outputs": [],
        "execution_count": None, "id": grade_id,
    }  # fmt: skip


def notebook(answers: dict[str, str], setup: str = SETUP, more: tuple[Cell, ...] = ()) -> str:
    """A lesson's notebook with these answers, by exercise."""
    cells = [code(setup, "setup")]
    for name, answer in answers.items():
        low = name.lower()
        cells.append(code(answer, low, solution=True))
        cells.append(code(f"check({name})", f"{low}-check", CHECKS["check"]))
        cells.append(code(f"check({name}, hidden=True)", f"{low}-hidden", CHECKS["hidden"]))
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*cells, *more]}
    )


def make_course(
    root: Path, students: int, db_url: str | None = None, exercises: tuple[str, ...] = ("Square",)
) -> Any:
    """A course with a gradebook, whose students have all handed in."""
    root.mkdir(parents=True)
    (root / "nbgrader_config.py").write_text(CONFIG)
    setup = f"# mark-{os.urandom(8).hex()} of this course\n{SETUP}"
    add_lesson(root, LESSON, notebook({name: ANSWERS[name] for name in exercises}, setup), db_url)
    for number in range(students):
        kind = list(HANDED_IN)[number % len(HANDED_IN)]
        answers = {name: ANSWERS[name] for name in exercises} | {"Square": HANDED_IN[kind]}
        hand_in(root, f"student-{number:03d}", "" if kind == "unreadable" else notebook(answers))
    return open_course(root, db_url)


def add_lesson(root: Path, lesson: str, source: str, db_url: str | None = None) -> Path:
    """A lesson's source notebook, and what nbgrader's gradebook knows of it."""
    folder = root / "build/source" / lesson
    folder.mkdir(parents=True)
    (folder / f"{lesson}.ipynb").write_text(source)
    course = open_course(root, db_url)
    with with_tools(), Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_assignment(lesson)
        gradebook.add_notebook(lesson, lesson)
        for cell in json.loads(source)["cells"]:
            role = cell["metadata"]["nbgrader"]
            name, here = role["grade_id"], (lesson, lesson)
            if role["solution"]:
                gradebook.add_solution_cell(name, *here)
            if role["grade"]:
                gradebook.add_grade_cell(name, *here, max_score=role["points"], cell_type="code")
            gradebook.add_source_cell(
                name, *here, cell_type="code", source=cell["source"], locked=role["locked"],
                checksum=compute_checksum(nbformat.from_dict(cell)),
            )  # fmt: skip
    return folder


def mark_of(root: Path) -> str:
    """What tells this course's processes from all others."""
    source = (root / "build/source" / LESSON / f"{LESSON}.ipynb").read_text()
    return source.partition("mark-")[2].partition(" ")[0]


def hand_in(root: Path, student: str, text: str, lesson: str = LESSON) -> Path:
    """Put a notebook where nbgrader collects it."""
    path = root / "submitted" / student / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def everything(course: Any) -> dict[str, Any]:
    """Gradebook, graded files and records, without the times it was done at and took."""
    records = {}
    for path, (kind, mode, content) in tree(Path(course.root, "grading")).items():
        if kind == "file" and path.endswith(".json") and path != "seeds.json":
            data = json.loads(content) | {"graded": ""}
            data["result"]["seconds"] = sorted(data["result"]["seconds"])
            records[path] = (kind, mode, data)
        else:
            records[path] = (kind, mode, content)
    return {
        "gradebook": contents(course),
        "files": tree(Path(course.root, "autograded")),
        "records": records,
    }


def recorded(course: Any) -> set[str]:
    """The students whose work counts as graded."""
    return {record.result.student for record in all_records(course.root)}


# ---- the command ---------------------------------------------------------------------------


@dataclass
class Grading:
    """One run of `autograder grade --json`, started in a session of its own.

    course  from `make_course`
    folder  where it is started, and what it writes to stderr is kept
    """

    course: Any
    folder: Path
    more: tuple[str, ...] = ("--jobs", "2")
    lines: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mark = mark_of(Path(self.course.root))
        self.temporary.mkdir(exist_ok=True)
        atexit.register(shutil.rmtree, self.temporary, ignore_errors=True)
        command = [sys.executable, "-m", "autograder", "grade", "--json", *self.more]
        command += ["--course", self.course.root, "--db", self.course.db_url]
        self.errors = (self.folder / "errors").open("w+")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            start_new_session=True, cwd=self.folder,
            env={
                **os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1",
                "TMPDIR": str(self.temporary), "GRADING_TEST_MARK": self.mark,
            },
        )  # fmt: skip

    def read(self) -> Iterator[dict[str, Any]]:
        """What it says, line by line, until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # a killed grader may have said half of one
                self.lines.append(json.loads(line))
                yield self.lines[-1]

    def end(self) -> int:
        """Read to the end; the exit status."""
        for _ in self.read():
            pass
        return self.process.wait()

    @property
    def said(self) -> str:
        """What it wrote to stderr."""
        self.errors.seek(0)
        return self.errors.read()

    @property
    def temporary(self) -> Path:
        """Its folder for temporary files."""
        return Path(tempfile.gettempdir(), f"grade-{self.mark}")

    def left_in_temporary(self) -> list[str]:
        """What it left there, but for the cache that torch keeps on purpose."""
        names = sorted(path.name for path in self.temporary.iterdir())
        return [name for name in names if not name.startswith("torchinductor_")]

    @property
    def results(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if "student" in line]

    def processes(self) -> dict[int, str]:
        """All that belongs to it and is alive: process number → what it is (see ``kind_of``)."""
        return processes_with(self.mark)

    def leftovers(self, seconds: float = 300.0) -> dict[int, str]:
        """What is still running when it had time to end."""
        until = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        return left

    def kill(self, kind: str) -> bool:
        """SIGKILL one of its processes of a kind; whether there was one."""
        for pid, found in self.processes().items():
            if found == kind:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
        return False


def processes_with(mark: str) -> dict[int, str]:
    """All that belongs to a course and is alive: process number → what it is (see ``kind_of``).

    Graders and workers have the mark in their environment; a box's is empty, but what it says goes into a file
    in their folder for temporary files; and what these have started belongs to it.
    """
    every, parents = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            status = (place / "stat").read_text().rpartition(")")[2].split()
            words = (place / "cmdline").read_bytes()
            environment = (place / "environ").read_bytes()
            said = os.readlink(place / "fd/2") if (place / "fd/2").is_symlink() else ""
        except OSError:
            continue
        if status[0] != "Z":
            marked = mark.encode() in words + b"\0" + environment or mark in said
            every[int(place.name)] = kind_of(words.split(b"\0")), marked
            parents[int(place.name)] = int(status[1])
    found = {pid: kind for pid, (kind, marked) in every.items() if marked}
    while more := [p for p in every if parents[p] in found and p not in found]:
        found |= {p: every[p][0] for p in more}
    for pid, kind in list(found.items()):
        if kind == "grader" and parents[pid] in found:
            found[pid] = "worker"
        elif kind == "warm" and found.get(parents[pid]) in ("warm", "submission"):
            found[pid] = "submission"
    return found


def kind_of(words: list[bytes]) -> str:
    """What a process is, by the words it was started with."""
    line = b" ".join(words)
    if words[0].endswith(b"bwrap"):
        return "bwrap"
    if b"box/inside/warm" in line:
        return "warm"
    if b"autograder grade" in line:
        return "grader"
    return "other"
