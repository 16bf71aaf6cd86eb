"""A disk that is full and folders nobody may write to: a clear sentence, and nothing half-written."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.course import open_course
from autograder.grading.gradebook import Writer
from autograder.grading.words import CannotWrite
from tests.grading.gradebooks import contents, hand_in, make_course, result, tree

SIZE = 1_500_000  # bytes of the disk that gets full
REPOSITORY = Path(__file__).resolve().parents[2]


def write_on_a_disk_with_room_for(course: Any, pages: int) -> str:
    """Write where so many blocks are free; gives what was said, "" where it worked."""
    ballast = Path(course.root).with_name("ballast")
    with ballast.open("wb") as file:
        free = os.statvfs(ballast).f_bfree - pages
        os.posix_fallocate(file.fileno(), 0, max(1, free) * 4096)
    before = (files(course), contents(course))
    try:
        with Writer(course) as writer:
            writer.write(result(points=(0.0, 1.0)), Path(course.root, "submitted/ada/01_doubling"))
        return ""
    except CannotWrite as error:
        ballast.unlink()
        assert (files(course), contents(course)) == before, f"half-written with {pages} blocks free"
        return str(error)
    finally:
        ballast.unlink(missing_ok=True)


def files(course: Any) -> dict[str, Any]:
    found = tree(Path(course.root))
    return {path: what for path, what in found.items() if what[0] != "folder"}


def fill_the_disk(folder: Path) -> None:
    """Runs within the box: `folder` is a small disk of its own."""
    course = make_course(folder / "course")
    with Writer(course) as writer:
        writer.write(result(), hand_in(course, "ada", notes_txt="x" * 9000))
    said = []
    for pages in range(60):
        said.append(write_on_a_disk_with_room_for(course, pages))
        if not said[-1]:
            break
    assert said[-1] == "", said
    print("\n".join(said[:-1]))


def test_a_full_disk_at_any_step(tmp_path: Path) -> None:
    """Tried with ever more room, so that each of the files is the one that does not fit."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed: a full disk is NOT TESTED")
    script = f"from tests.grading.test_no_room import *; fill_the_disk(Path({str(tmp_path)!r}))"
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--size", str(SIZE), "--tmpfs", tmp_path, "--",
         sys.executable, "-c", script],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True,
    )  # fmt: skip
    if "bwrap:" in done.stderr:
        pytest.skip(f"no box can be made here: a full disk is NOT TESTED ({done.stderr.strip()})")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) > 5
    assert all("no room left" in line for line in said), said
    assert any("no room left for the graded" in line for line in said)
    assert any("no room left for the gradebook" in line for line in said)


def _as_nobody(folder: Path, work: Any) -> int:
    """Do `work` in a process that is not root; gives its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that other users may look into, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="open-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    ("closed", "sentence"),
    [
        ("gradebook.db", "read but not write"),
        ("autograded", "may read but not write the graded"),
        ("grading/records", "may read but not write the graded"),
    ],
)
def test_what_may_only_be_read(open_folder: Path, closed: str, sentence: str) -> None:
    tmp_path = open_folder
    course = make_course(tmp_path / "course")
    with Writer(course) as writer:
        writer.write(result(), hand_in(course))
    for path in (tmp_path / "course").rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (tmp_path / "course").chmod(0o777)
    (tmp_path / "course" / closed).chmod(0o444 if closed.endswith(".db") else 0o555)
    if closed == "autograded":
        (tmp_path / "course/autograded/ada").chmod(0o555)
    elif closed == "grading/records":
        (tmp_path / "course/grading/records/01_doubling").chmod(0o555)
    before = tree(tmp_path / "course")

    def attempt() -> None:
        course = open_course(tmp_path / "course")
        with Writer(course) as writer, pytest.raises(CannotWrite, match=sentence):
            writer.write(result(points=(0.0, 0.0)), hand_in(course))

    assert _as_nobody(tmp_path, attempt) == 0
    assert tree(tmp_path / "course") == before


def test_a_course_that_nobody_may_look_into(open_folder: Path) -> None:
    make_course(open_folder / "course")
    (open_folder / "course").chmod(0o700)
    course = open_course(open_folder / "course")

    def attempt() -> None:
        with pytest.raises(CannotWrite, match="may read but not write"):
            Writer(course)

    if os.getuid() == 0:
        assert _as_nobody(open_folder, attempt) == 0
