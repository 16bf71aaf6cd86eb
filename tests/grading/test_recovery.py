"""`autograder grade` is killed, interrupted and starved, and run again: the end is always the same.

RECOVERY_ROUNDS says how many batches are disturbed (default 1), RECOVERY_SEED where to begin.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.course import open_course
from autograder.grading.records import Seeds
from tests.grading.batches import (
    LESSON,
    REPOSITORY,
    Grading,
    everything,
    make_course,
    recorded,
)
from tests.grading.walls import needs_walls

STUDENTS = 28  # of whom at most 6 are graded before each of three kills
ROUNDS = int(os.environ.get("RECOVERY_ROUNDS", "1"))
SEED = int(os.environ.get("RECOVERY_SEED", "0"))
PATIENCE = 600  # seconds after which a process that should have ended hangs

pytestmark = [needs_walls, pytest.mark.slow]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of which nothing is graded yet; its seed is known, so that copies grade equally."""
    folder = tmp_path_factory.mktemp("original") / "course"
    make_course(folder, STUDENTS)
    Seeds(folder).of(LESSON)
    return folder


@pytest.fixture(scope="module")
def undisturbed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an undisturbed run leaves behind."""
    folder = tmp_path_factory.mktemp("undisturbed")
    course = copy(original, folder)
    grading = Grading(course, folder)
    assert grading.end() == 0, grading.said
    assert len(grading.results) == STUDENTS == len(recorded(course))
    assert grading.leftovers() == {}
    assert grading.left_in_temporary() == []
    return everything(course)


def copy(original: Path, folder: Path, students: int = STUDENTS) -> Any:
    """A copy of a course with the first students only."""
    target = folder / "course"
    shutil.copytree(original, target)
    for one in sorted((target / "submitted").iterdir())[students:]:
        shutil.rmtree(one)
    return open_course(target)


def disturb(grading: Grading, kills: list[tuple[int, str]], chance: random.Random) -> set[str]:
    """Kill processes of these kinds, each once so many results have come; read on until the end.

    The kinds that were killed. One that is not there is looked for again at the next result: nobody
    waits for it here, or the grader would run ahead.
    """
    left, killed = sorted(kills), set()
    for _ in grading.read():
        for plan in [one for one in left if len(grading.results) >= one[0]]:
            time.sleep(chance.uniform(0, 0.05))
            if grading.kill(plan[1]):
                left.remove(plan)
                killed.add(plan[1])
    grading.process.wait(PATIENCE)
    return killed


def points(count: int, chance: random.Random) -> list[int]:
    """Numbers of results at which something is killed."""
    return [chance.randint(1, 6) for _ in range(count)]


def kill_while_it_gets_ready(grading: Grading, seconds: float) -> None:
    """SIGKILL after some time; then nothing of it is left but files."""
    time.sleep(seconds)
    grading.process.kill()
    grading.process.wait()
    assert grading.leftovers() == {}


@pytest.mark.parametrize("number", range(SEED, SEED + ROUNDS))
def test_killed_anywhere_and_run_again(
    number: int, original: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    chance = random.Random(number)
    course = copy(original, tmp_path)
    others = ["warm", "bwrap", "worker", "worker", "submission", "worker"]
    chance.shuffle(others)
    plans = [[*others[:2], "grader"], [*others[2:4], "grader"], others[4:]]
    graded: set[str] = set()
    kill_while_it_gets_ready(Grading(course, tmp_path), chance.uniform(0, 5))
    graded |= recorded(course)
    for kinds in plans:
        before = recorded(course)
        grading = Grading(course, tmp_path)
        at = sorted(points(len(kinds), chance))
        killed = disturb(grading, list(zip(at, kinds, strict=True)), chance)
        assert killed, kinds
        assert grading.leftovers() == {}, kinds
        first = grading.lines[0]
        assert (first["to_grade"], first["unchanged"]) == (STUDENTS - len(before), len(before))
        students = {line["student"] for line in grading.results}
        assert len(students) == len(grading.results), "graded twice in one run"
        assert not students & before, "graded again what was recorded"
        graded |= students
        expected = -signal.SIGKILL if "grader" in killed else 0
        assert grading.process.returncode == expected, grading.said
    # A grader can be killed between keeping a result and telling of it.
    assert len(graded) >= STUDENTS - len(plans)
    assert recorded(course) == {f"student-{i:03d}" for i in range(STUDENTS)}
    assert everything(course) == undisturbed
    assert grading.left_in_temporary() == []


def test_ctrl_c_and_a_second_grader(original: Path, tmp_path: Path) -> None:
    course = copy(original, tmp_path)
    grading = Grading(course, tmp_path)
    lines = grading.read()
    while len(grading.results) < 2:
        next(lines)
    grading.process.send_signal(signal.SIGSTOP)  # so that it is still at it
    second = subprocess.run(
        [sys.executable, "-m", "autograder", "grade", "--course", course.root],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert second.returncode == 1
    assert second.stderr.startswith("autograder: Somebody is grading this course right now.")
    grading.process.send_signal(signal.SIGCONT)
    os.killpg(grading.process.pid, signal.SIGINT)  # as a terminal does, to all in the foreground
    assert grading.process.wait(PATIENCE) == 130
    for _ in lines:
        pass
    assert grading.leftovers() == {}
    assert grading.left_in_temporary() == []
    kept = recorded(course)
    assert 2 <= len(kept) < STUDENTS
    assert "Traceback" not in grading.said
    assert grading.said == (
        f"Stopped. {len(kept)} of {STUDENTS} are graded and kept; "
        "run the same command again to go on.\n"
    )
    again = Grading(course, tmp_path)
    first = next(again.read())
    assert (first["to_grade"], first["unchanged"]) == (STUDENTS - len(kept), len(kept))
    os.killpg(again.process.pid, signal.SIGINT)  # its workers are just being started
    assert again.process.wait(PATIENCE) == 130
    assert "Traceback" not in again.said
    assert again.leftovers() == {}


def within_bwrap(course: Any, folder: Path, *walls: str) -> subprocess.CompletedProcess[str]:
    """`autograder grade` where a part of the file system is another one."""
    return subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", *walls, "--", sys.executable, "-m", "autograder",
         "grade", "--jobs", "1", "--course", course.root],
        capture_output=True, text=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_a_gradebook_that_may_only_be_read(original: Path, tmp_path: Path) -> None:
    course = copy(original, tmp_path, students=3)
    before = everything(course)
    gradebook = str(Path(course.root, "gradebook.db"))
    done = within_bwrap(course, tmp_path, "--ro-bind", gradebook, gradebook)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "gradebook" in done.stderr
    assert "Get the right to write, then grade again." in done.stderr
    assert everything(course)["gradebook"] == before["gradebook"]
    assert recorded(course) == set()
    assert not list(Path(course.root, "autograded").rglob("*.ipynb"))


DISK = 2_000_000  # bytes


def fill_and_grade(original: str, folder: str) -> None:
    """Runs where `folder` is a small disk: it gets full in the middle, and then has room again."""
    from autograder.__main__ import main

    course = copy(Path(original), Path(folder), students=12)
    ballast = Path(folder, "ballast")
    with ballast.open("wb") as file:
        room = os.statvfs(folder).f_bfree - 25
        os.posix_fallocate(file.fileno(), 0, room * 4096)
    command = ["grade", "--jobs", "1", "--course", course.root]
    print("status", main(command))
    kept = recorded(course)
    print("kept", len(kept))
    print("drafts", [p.name for p in Path(course.root, "grading").rglob(".*.new")])
    ballast.unlink()
    print("status", main(command))
    print("all", len(recorded(course)))
    print("graded", len({key[1] for key in everything(course)["gradebook"] if key[0] == "grade"}))


def test_a_disk_that_gets_full(original: Path, tmp_path: Path) -> None:
    script = (
        f"from tests.grading.test_recovery import *; fill_and_grade({str(original)!r}, "
        f"{str(tmp_path)!r})"
    )
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--size", str(DISK), "--tmpfs", tmp_path, "--",
         sys.executable, "-c", script],
        capture_output=True, text=True, cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line[0] in "kda")
    statuses = [line for line in done.stdout.splitlines() if line.startswith("status")]
    assert statuses == ["status 1", "status 0"], done.stdout + done.stderr
    assert 0 < int(said["kept"]) < 12
    assert said["drafts"] == "[]"
    assert said["all"] == "12"
    assert "graded 12" in done.stdout
    assert "no room left" in done.stderr
    assert f"{said['kept']} of 12 are graded and kept; mend this" in done.stderr
    assert "Traceback" not in done.stderr
