"""Small gradebooks on SQLite and on a real PostgreSQL, and what stands in them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader import api
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, text

from autograder.grading.course import open_course
from autograder.grading.gradebook import Writer
from autograder.grading.handed_in import find, lesson_files
from autograder.grading.marking import Mark, Result
from autograder.grading.one_submission import How, content_hash
from autograder.grading.records import Record, Records, Seeds

LESSON = "01_doubling"
DUE = datetime(2026, 3, 1, 12)
CELLS = {"double-check": 2.0, "double-hidden": 3.0}
CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "small"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
"""

# It asks another process, which takes two seconds, for what is the same each time.
api.get_alembic_version = functools.cache(api.get_alembic_version)


def make_course(root: Path, db_url: str | None = None, config: str = CONFIG) -> Any:
    """A course folder with a gradebook of one lesson of two notebooks; the second one is optional
    reading with an answer and a task that are graded by hand."""
    (root / "build/source" / LESSON).mkdir(parents=True)
    (root / "build/source" / LESSON / "lesson-data.csv").write_text("1,2\n")
    nbformat.write(source_notebook(), root / "build/source" / LESSON / f"{LESSON}.ipynb")
    (root / "nbgrader_config.py").write_text(config)
    course = open_course(root, db_url)
    with with_tools(), Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_assignment(LESSON, duedate=DUE.isoformat())
        gradebook.add_notebook(LESSON, LESSON)
        gradebook.add_solution_cell("double", LESSON, LESSON)
        gradebook.add_source_cell(
            "double", LESSON, LESSON, cell_type="code", source="# YOUR CODE HERE", checksum="1"
        )
        for name, points in CELLS.items():
            gradebook.add_grade_cell(name, LESSON, LESSON, max_score=points, cell_type="code")
            gradebook.add_source_cell(
                name, LESSON, LESSON, cell_type="code", source="check(double)", locked=True,
                checksum="2",
            )  # fmt: skip
    return course


def source_notebook() -> NotebookNode:
    """The lesson's source: one exercise and its two checks."""
    answer = {"grade_id": "double", "solution": True, "grade": False, "locked": False}
    cells = [new_code_cell("pass", id="double", metadata={"nbgrader": answer})]
    for name, points in CELLS.items():
        role = {"grade_id": name, "grade": True, "solution": False, "locked": True} | {
            "points": points
        }
        cells.append(new_code_cell("check(double)", id=name, metadata={"nbgrader": role}))
    return new_notebook(cells=cells)


@contextmanager
def with_tools() -> Iterator[None]:
    """nbgrader calls `alembic` by its name when it makes a gradebook."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def add_hand_graded_notebook(course: Any, name: str = "reading") -> None:
    """A second notebook of the lesson: an answer that a person grades, and a task."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_notebook(name, LESSON)
        gradebook.add_grade_cell("essay", name, LESSON, max_score=4, cell_type="markdown")
        gradebook.add_solution_cell("essay", name, LESSON)
        gradebook.add_task_cell("project", name, LESSON, max_score=6, cell_type="markdown")


def result(
    student: str = "ada", points: tuple[float | None, float | None] = (2.0, 3.0), **more: Any
) -> Result:
    """What grading one submission gave."""
    reports = more.pop("reports", ({}, {}))
    marks = tuple(
        Mark(
            name, given, most, "double", name.endswith("hidden"), report, rule_of(report),
            most * bool(report.get("passed")) if report else None,
        )
        for (name, most), given, report in zip(CELLS.items(), points, reports, strict=True)
    )  # fmt: skip
    text = more.pop("notebook", None)
    if text is None:
        shown = [new_output("stream", text=f"{student} got {points}")]
        text = nbformat.writes(new_notebook(cells=[new_code_cell("1", outputs=shown, id="a")]))
    return Result(student, LESSON, text, marks, **{"answered": ("double",), "content": "1"} | more)


def rule_of(report: dict[str, Any]) -> str:
    return str(report["findings"][0]["rule"]) if report.get("findings") else ""


def hand_in(course: Any, student: str = "ada", when: str | None = None, **files: str) -> Path:
    """A folder in submitted/; the names of files are given with _ for the dot."""
    folder = Path(course.format_path(course.submitted_directory, student, LESSON))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{LESSON}.ipynb").write_text("{}")
    if when is not None:
        (folder / "timestamp.txt").write_text(when)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return folder


def grade_as(
    course: Any, student: str, points: tuple[float | None, float | None] = (2.0, 3.0), **more: Any
) -> None:
    """Grade what a student handed in (if nothing, they hand in now) with a given outcome."""
    found = find(course, LESSON, student)
    folder = found[0].folder if found else hand_in(course, student)
    submission = find(course, LESSON, student)[0].read()
    how = How(Seeds(Path(course.root)).of(LESSON))
    content = content_hash(submission, lesson_files(course, LESSON), how)
    with Writer(course) as writer:
        writer.write(result(student, points, content=content, seed=how.seed, **more), folder)


def contents(course: Any) -> dict[tuple[str, ...], Any]:
    """Everything in a gradebook that a submission has, without the ids drawn at random."""
    found: dict[tuple[str, ...], Any] = {}
    with Gradebook(course.db_url, course.course_id) as gradebook:
        for student in gradebook.students:
            found["student", student.id] = (student.first_name, student.last_name, student.email)
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                key = (submission.student.id, assignment.name)
                found["submission", *key] = (submission.timestamp, submission.extension)
                for notebook in submission.notebooks:
                    there = ("notebook", *key, notebook.name)
                    assert there not in found
                    found[there] = (
                        notebook.score, notebook.late_submission_penalty, bool(notebook.flagged),
                        bool(notebook.needs_manual_grade),
                    )  # fmt: skip
                    for grade in notebook.grades:
                        there = ("grade", *key, notebook.name, grade.name)
                        assert there not in found
                        found[there] = (
                            grade.auto_score, grade.manual_score, grade.extra_credit,
                            grade.needs_manual_grade,
                        )  # fmt: skip
                    for comment in notebook.comments:
                        there = ("comment", *key, notebook.name, comment.name)
                        assert there not in found
                        found[there] = (comment.auto_comment, comment.manual_comment)
    return found


def tree(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything in a folder, hidden files too: kind, permissions and content, by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        content = path.read_bytes() if kind == "file" else b""
        found[str(path.relative_to(folder))] = (kind, stat.S_IMODE(mode), content)
    return found


def postgres_programs() -> Path | None:
    """Where initdb and postgres are; None where there are none."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    places += [Path(found).parent] if found else []
    return next((place for place in places if (place / "postgres").exists()), None)


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of its own on loopback, in a temporary folder; gives its address, to which the
    name of a database is added. It refuses to be root, so root becomes nobody."""
    programs = postgres_programs()
    if programs is None:
        missing = (
            "PostgreSQL is not installed (apt install postgresql): its gradebook is NOT TESTED"
        )
        warnings.warn(missing, stacklevel=1)
        pytest.skip(missing)
    folder = Path(tempfile.mkdtemp(prefix="gradebook-"))
    who: dict[str, Any] = {}
    if os.getuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    password = secrets.token_hex(16)
    secret = folder / "password"
    secret.write_text(password)
    if who:
        os.chown(secret, who["user"], who["group"])
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    subprocess.run(
        [
            programs / "initdb", "--pgdata", folder / "data", "--username", "teacher",
            "--pwfile", secret, "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-sync",
        ],
        check=True, capture_output=True, cwd=folder, env=environment, **who,
    )  # fmt: skip
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "",
        "fsync": "off", "shared_buffers": "16MB",
    }  # fmt: skip
    server = subprocess.Popen(
        [programs / "postgres", "-D", folder / "data"]
        + [part for name, value in settings.items() for part in ("-c", f"{name}={value}")],
        stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"), cwd=folder, env=environment,
        **who,
    )  # fmt: skip
    try:
        _wait_for(server, programs, port, folder)
        yield f"postgresql+psycopg://teacher:{password}@127.0.0.1:{port}/"
    finally:
        server.send_signal(signal.SIGINT)  # ends connections that are still open
        server.wait(60)
        shutil.rmtree(folder)


def new_database(server: str) -> str:
    """The address of an empty database on a server."""
    name = f"course_{uuid.uuid4().hex}"
    engine = create_engine(server + "postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server + name


def _wait_for(server: subprocess.Popen[bytes], programs: Path, port: int, folder: Path) -> None:
    ready = [programs / "pg_isready", "--host", "127.0.0.1", "--port", str(port), "--timeout", "1"]
    for _ in range(300):
        if server.poll() is not None:
            break
        if subprocess.run(ready, capture_output=True).returncode == 0:
            return
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")


def all_records(root: Path | str, lesson: str = "*") -> list[Record]:
    """Every record of a course that can be read, by lesson and student."""
    records, found = Records(Path(root)), []
    for path in sorted(records.folder.glob(f"{lesson}/[!.]*.json")):
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            told = json.loads(path.read_text())["result"]
            record = records.read(told["student"], told["lesson"])
            found += [record] if record else []
    return found
