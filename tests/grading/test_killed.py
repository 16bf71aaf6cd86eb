"""The writer is killed at every step it takes, and started again: the end is always the same.

A forked process counts what it does to files and to the gradebook, through Python's audit events
and SQLAlchemy's, and ends itself at a given count, as SIGKILL would: nothing is cleaned up. Each day
it is killed at other steps; EVERY_STEP=1 takes all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Engine, make_url

from autograder.grading.course import open_course
from autograder.grading.gradebook import Writer
from tests.conftest import DAY
from tests.grading.gradebooks import (
    LESSON,
    all_records,
    contents,
    hand_in,
    make_course,
    result,
    tree,
)

KILLED, DONE, FAILED = 9, 0, 1
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"}


def batch() -> list[Any]:
    """Ada's work was graded before and is graded again; Ben's cannot be read; Carla's is new."""
    return [
        result("ada", (2.0, 0.0), content="2"),
        result("ben", (None, None), notebook="", answered=(), reasons=("It is empty.",)),
        result("carla", (0.0, None), answered=(), reasons=("Line 2 opens a file.",)),
    ]


def prepare(course: Any) -> None:
    """Everybody handed in, and Ada's earlier work was graded, partly by a person."""
    for student in ("ada", "ben", "carla"):
        hand_in(course, student, "2026-02-28 09:00:00 UTC", data_csv=f"{student}")
    with Writer(course) as writer:
        writer.write(result("ada", (2.0, 3.0), content="1"), hand_in(course))
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.find_grade("double-hidden", LESSON, LESSON, "ada").manual_score = 2.5
        gradebook.db.commit()


def grade(course: Any) -> None:
    """What a batch does: write what is not graded yet."""
    with Writer(course) as writer:
        for one in batch():
            known = writer.records.read(one.student, one.lesson)
            if known is None or known.result.content != one.content:
                folder = Path(course.format_path("submitted", one.student, LESSON))
                writer.write(one, folder)


def grade_and_die(root: Path, db_url: str, at: int) -> int:
    """Grade in a process that ends at its `at`-th step; gives how it ended."""
    child = os.fork()
    if child == 0:
        try:
            _die_at(at, root)
            grade(open_course(root, db_url))
            os._exit(DONE)
        except BaseException:
            traceback.print_exc()
            os._exit(FAILED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _die_at(at: int, root: Path) -> None:
    steps = 0

    def step(*_: Any, **__: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            os._exit(KILLED)

    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        opened = name == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        if (opened or name in CHANGES) and str(arguments[0]).startswith(str(root)):
            step()

    sys.addaudithook(audit)
    event.listen(Engine, "commit", step)
    event.listen(Engine, "before_cursor_execute", step)


def everything(course: Any) -> dict[str, Any]:
    """Gradebook, graded files and records, without the times at which they were made."""
    records = {}
    for path, (kind, mode, content) in tree(Path(course.root, "grading")).items():
        data = json.loads(content) | {"graded": ""} if kind == "file" else {}
        records[path] = (kind, mode, data)
    return {
        "gradebook": contents(course),
        "files": tree(Path(course.root, "autograded")),
        "records": records,
    }


class Copies:
    """Copies of a course with its gradebook, each as it was before the batch."""

    def __init__(self, folder: Path, server: str | None):
        self._folder, self._server = folder, server
        if server is not None:
            self._sql("CREATE DATABASE original")
        course = make_course(folder / "original", server and server + "original")
        prepare(course)

    def make(self) -> Any:
        target = self._folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self._folder / "original", target)
        if self._server is not None:
            self._sql("DROP DATABASE IF EXISTS copy WITH (FORCE)")
            self._sql("CREATE DATABASE copy TEMPLATE original")
        return open_course(target, self._server and self._server + "copy")

    def _sql(self, statement: str) -> None:
        assert self._server is not None
        engine = create_engine(self._server + "postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))
        engine.dispose()


def check_every_step(copies: Copies, every: int) -> int:
    """Kill at every so many steps, look, start again, compare; gives how many steps there were."""
    every = 1 if os.environ.get("EVERY_STEP") else every
    undisturbed = copies.make()
    original = everything(undisturbed)
    grade(undisturbed)
    expected = everything(undisturbed)
    assert expected["gradebook"]["grade", "carla", LESSON, LESSON, "double-hidden"][3]
    at = 1 + int(DAY) % every
    while True:
        course = copies.make()
        end = grade_and_die(Path(course.root), course.db_url, at)
        assert end in (KILLED, DONE), f"the writer failed by itself at step {at}"
        # What counts as graded is in the gradebook and in autograded/, completely and as recorded.
        found = everything(course)
        for record in all_records(course.root):
            is_old = (record.result.student, record.result.content) == ("ada", "1")
            assert _of(record.result.student, found) == _of(
                record.result.student, original if is_old else expected
            ), f"half of it after step {at}"
        if end == DONE:
            return at - 1
        grade(course)
        assert everything(course) == expected, f"killed at step {at}"
        at += every


def _of(student: str, found: dict[str, Any]) -> list[Any]:
    """What of everything is one student's."""
    rows = {key: value for key, value in found["gradebook"].items() if key[1] == student}
    place = f"{student}/{LESSON}"
    files = {path: value for path, value in found["files"].items() if path.startswith(place)}
    return [rows, files]


@pytest.mark.slow
def test_killed_at_any_step_on_sqlite(tmp_path: Path) -> None:
    steps = check_every_step(Copies(tmp_path, None), every=8)
    assert steps > 100


@pytest.mark.slow
def test_killed_at_any_step_on_postgresql(tmp_path: Path, postgres: str) -> None:
    assert make_url(postgres).get_backend_name() == "postgresql"
    steps = check_every_step(Copies(tmp_path, postgres), every=24)
    assert steps > 100
