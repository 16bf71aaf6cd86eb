"""nbgrader's exchange for real: released, fetched, handed in, collected, graded, and feedback fetched.

As root the two students are users of the system, where these can run this Python; else they are one user
with two homes.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.grading import demo
from tests.grading.batches import CONFIG, LESSON, SQUARE, STUB, WRONG, add_lesson, notebook
from tests.grading.walls import needs_walls

SETTINGS = """\
c = get_config()
c.CourseDirectory.course_id = "many"
c.Exchange.root = {root!r}
"""
ANSWERS = (SQUARE, WRONG)


@dataclass(frozen=True)
class Student:
    """A student with a home; number: the user of the system that they are, None: whoever runs this."""

    name: str
    home: Path
    number: int | None

    def run(self, *command: str) -> None:
        """One of nbgrader's commands, typed in the student's home."""
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(self.home),
            "USER": self.name, "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        named = self.number is None and command[0] in ("submit", "fetch_feedback")
        words = [*command, *(["--student", self.name] if named else [])]
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words], cwd=self.home, env=environment,
            user=self.number, extra_groups=None if self.number is None else [],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user of the system may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="exchange-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def students(place: Path, root: Path) -> list[Student]:
    """Two, each with a home and its settings."""
    found, users = [], os.getuid() == 0 and anybody_can_run_python()
    for name in ("nobody", "daemon"):
        home = place / "home" / name
        (home / ".jupyter").mkdir(parents=True)
        (home / ".jupyter/nbgrader_config.py").write_text(SETTINGS.format(root=str(root)))
        number = pwd.getpwnam(name).pw_uid if users else None
        for path in (home, home / ".jupyter") if number is not None else ():
            os.chown(path, number or 0, -1)
        home.chmod(0o700)
        found.append(Student(name, home, number))
    return found


def anybody_can_run_python() -> bool:
    """Not where it lies in somebody's home."""
    path = Path(sys.executable).resolve()
    return all(one.stat().st_mode & 0o001 for one in (path, *path.parents))


@needs_walls
@pytest.mark.slow
def test_two_students_and_an_instructor(place: Path) -> None:
    course, exchange = place / "course", place / "exchange"
    course.mkdir(mode=0o700)
    exchange.mkdir()
    exchange.chmod(0o777)
    (course / "nbgrader_config.py").write_text(
        f"{CONFIG}c.Exchange.root = {str(exchange)!r}\n"
        "from autograder.grading.config import configure\nconfigure(c)\n"
    )
    add_lesson(course, LESSON, notebook({"Square": SQUARE}))
    released = course / "course" / LESSON / f"{LESSON}.ipynb"
    released.parent.mkdir(parents=True)
    released.write_text(notebook({"Square": STUB}))
    demo.run(course, "-m", "nbgrader", "release_assignment", LESSON)

    both = students(place, exchange)
    for student, answer in zip(both, ANSWERS, strict=True):
        student.run("fetch_assignment", LESSON)
        own = student.home / LESSON / f"{LESSON}.ipynb"
        data = json.loads(own.read_text())
        (cell,) = (one for one in data["cells"] if one["source"] == STUB)
        cell["source"] = answer
        own.write_text(json.dumps(data))
        student.run("submit", LESSON)

    demo.run(course, "-m", "nbgrader", "collect", LESSON)
    assert sorted(p.name for p in (course / "submitted").iterdir()) == ["daemon", "nobody"]
    assert main(["grade", "--course", str(course), "--jobs", "1"]) == 0
    assert main(["export", "--course", str(course)]) == 0
    assert main(["feedback", "--course", str(course), "--jobs", "1"]) == 0
    demo.run(course, "-m", "nbgrader", "release_feedback", LESSON)

    for student, score in zip(both, ("5 / 5", "0 / 5"), strict=True):
        student.run("fetch_feedback", LESSON)
        (page,) = (student.home / LESSON / "feedback").rglob("*.html")
        text = page.read_text()
        assert score in text.replace(".0", "")
        (other,) = (one.name for one in both if one != student)
        assert student.name in text
        assert other not in text
