"""`autograder grade --scheduler`: a Dask cluster whose workers share nothing with the grader."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.grading.records import Records, Seeds
from tests.grading.batches import (
    LESSON,
    REPOSITORY,
    Grading,
    add_lesson,
    everything,
    hand_in,
    make_course,
    notebook,
    processes_with,
    recorded,
)
from tests.grading.test_recovery import copy
from tests.grading.walls import needs_walls

try:
    import distributed
except ImportError:  # then this is said once, and loudly
    warnings.warn("NOT RUN: the tests of a cluster (dask.distributed is missing)", stacklevel=1)
    pytest.skip("dask.distributed is not installed", allow_module_level=True)

STUDENTS = 20
PATIENCE = 600  # seconds after which something hangs

pytestmark = [needs_walls, pytest.mark.slow]


@dataclass
class Cluster:
    """A Dask scheduler and workers, each a process started in an empty folder that is also its home."""

    folder: Path
    hidden: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, workers: int = 2) -> None:
        about = self.folder / "scheduler.json"
        self.scheduler = self._run(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(about)
        )
        while not about.exists() or not about.read_text().endswith("}"):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(about.read_text())["address"]
        for _ in range(workers):
            self.add_worker()
        if workers:
            self.wait_for(workers)

    def wait_for(self, workers: int) -> None:
        with distributed.Client(self.address, timeout=PATIENCE) as client:
            client.wait_for_workers(workers, timeout=PATIENCE)

    def add_worker(self) -> None:
        number = len(self.workers)
        self.workers.append(
            self._run("worker", self.address, "--nthreads", "1", "--no-nanny", number=number)
        )

    def _run(self, what: str, *more: str, number: int = 0) -> subprocess.Popen[bytes]:
        home = self.folder / f"{what}-{number}"
        home.mkdir()
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *more]
        if what == "worker":  # the course is not to be seen from there
            bare = [
                "bwrap",
                "--dev-bind",
                "/",
                "/",
                "--tmpfs",
                str(self.hidden),
                "--chdir",
                str(home),
            ]
            command = [*bare, "--die-with-parent", "--", *command]
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "HOME": str(home)}
        return subprocess.Popen(
            command, cwd=home, env=kept | {"TMPDIR": str(home), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL, stderr=(self.folder / f"{what}-{number}.log").open("wb"),
        )  # fmt: skip

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()

    def said(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("worker-*.log"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that workers do not see: courses lie in it."""
    return tmp_path_factory.mktemp("courses")


@contextmanager
def running(folder: Path, hidden: Path, workers: int = 2) -> Iterator[Cluster]:
    cluster = Cluster(folder, hidden)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, for the tests that leave them alive."""
    with running(tmp_path_factory.mktemp("cluster"), shared) as found:
        yield found


@pytest.fixture(scope="module")
def original(shared: Path) -> Path:
    make_course(shared / "original", STUDENTS)
    Seeds(shared / "original").of(LESSON)
    return shared / "original"


@pytest.fixture(scope="module")
def local(original: Path, shared: Path) -> dict[str, Any]:
    """What two processes of this machine make of it."""
    course = copy(original, shared / "local")
    grading = Grading(course, shared / "local")
    assert grading.end() == 0, grading.said
    return everything(course)


def graded_by(cluster: Cluster, course: Any, folder: Path) -> Grading:
    return Grading(course, folder, ("--scheduler", cluster.address))


def test_a_cluster_grades_as_this_machine_does(
    original: Path, local: dict[str, Any], cluster: Cluster, shared: Path
) -> None:
    course = copy(original, shared / "same")
    grading = graded_by(cluster, course, shared / "same")
    assert grading.end() == 0, grading.said
    assert len(grading.results) == STUDENTS
    assert everything(course) == local
    assert grading.left_in_temporary() == []
    # Each worker had something to do, in a box of its own.
    there = [processes_with(str(cluster.folder / f"worker-{i}")) for i in (0, 1)]
    assert [[*found.values()].count("warm") for found in there] == [1, 1], cluster.said()


def test_exercises_that_workers_have_never_heard_of(cluster: Cluster, shared: Path) -> None:
    """An instructor's own module travels with the lesson; here and there the marks are the same."""
    found = []
    for name, more in (("local", ("--jobs", "2")), ("dask", ("--scheduler", cluster.address))):
        folder = shared / f"own-{name}"
        course = own_course(folder)
        grading = Grading(course, folder, more)
        assert grading.end() == 0, grading.said
        found.append(everything(course)["gradebook"])
        assert scores(grading) == {
            ("ada", "week_3"): 5.0,
            ("ben", "week_3"): 0.0,
            ("ada", LESSON): 5.0,
        }
        report = Records(Path(course.root)).read("ben", "week_3").result.marks[1].report
        assert report["exercise"] == "Softsign"
    assert found[0] == found[1]
    # It is changed, while the workers live: the new version counts at once, and only that lesson.
    path = Path(course.root, "build/source/week_3/week_3_exercises.py")
    path.write_text(path.read_text().replace("torch.nn.functional.softsign", "torch.sin"))
    grading = Grading(course, folder, more)
    assert grading.end() == 0, grading.said
    assert scores(grading) == {("ada", "week_3"): 0.0, ("ben", "week_3"): 0.0}


def scores(grading: Grading) -> dict[tuple[str, str], float]:
    return {(one["student"], one["lesson"]): one["score"] for one in grading.results}


SOFTSIGN = """\
class Softsign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x.abs())

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + x.abs()) ** 2
"""


def own_course(root: Path) -> Any:
    """The course that docs/new-exercise.md describes, beside a lesson of ours."""
    page = (REPOSITORY / "docs/new-exercise.md").read_text()
    module = page.partition("<!-- file: week_3_exercises.py -->\n```python\n")[2].partition("```")[
        0
    ]
    assert "SOFTSIGN = register(" in module
    course = make_course(root, 0)
    setup = "import torch\n\nimport week_3_exercises\nfrom autograder import check, hint"
    folder = add_lesson(root, "week_3", notebook({"Softsign": SOFTSIGN}, setup))
    (folder / "week_3_exercises.py").write_text(module)
    wrong = SOFTSIGN.replace("(1 + x.abs()) ** 2", "(1 + x) ** 2")
    hand_in(root, "ada", notebook({"Softsign": SOFTSIGN}, setup), "week_3")
    hand_in(root, "ben", notebook({"Softsign": wrong}, setup), "week_3")
    source = json.loads((root / f"build/source/{LESSON}/{LESSON}.ipynb").read_text())
    hand_in(root, "ada", json.dumps(source))
    return course


def test_workers_and_then_the_scheduler_are_killed(
    original: Path, local: dict[str, Any], shared: Path, tmp_path: Path
) -> None:
    course = copy(original, shared / "killed")
    with running(tmp_path, shared) as cluster:
        grading = graded_by(cluster, course, shared / "killed")
        for _ in grading.read():
            if len(grading.results) == 3:
                cluster.workers[0].kill()
            if len(grading.results) == 8:
                cluster.scheduler.kill()
        assert grading.process.wait(PATIENCE) == 1
        kept = recorded(course)
        assert 8 <= len(kept) < STUDENTS
        assert "Traceback" not in grading.said
        assert f"autograder: The Dask scheduler at {cluster.address} is gone" in grading.said
        assert f"{len(kept)} of {STUDENTS} are graded and kept; mend this" in grading.said
    (tmp_path / "again").mkdir()
    with running(tmp_path / "again", shared) as cluster:
        again = graded_by(cluster, course, shared / "killed")
        for _ in again.read():
            if len(again.results) == 1:
                cluster.workers[1].kill()  # and the other one goes on
        first = again.lines[0]
        assert (first["to_grade"], first["unchanged"]) == (STUDENTS - len(kept), len(kept))
        assert again.process.wait(PATIENCE) == 0, again.said
    assert everything(course) == local


def test_what_is_wrong_with_a_cluster_is_said(
    original: Path, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    course = copy(original, shared / "wrong")

    def said(address: str) -> str:
        assert main(["grade", "--course", course.root, "--scheduler", address]) == 1
        return capsys.readouterr().err

    with socket.socket() as taken, monkeypatch.context() as soon:
        soon.setattr("autograder.grading.processes.SECONDS_TO_ANSWER", 2)
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        assert said(address).startswith(f"autograder: No Dask scheduler answers at {address}: ")
    assert "unknown address scheme" in said("carrier-pigeon://roof")
    with running(tmp_path, shared, workers=0) as cluster:
        assert "has no workers. Start some: dask worker" in said(cluster.address)
        cluster.add_worker()
        cluster.wait_for(1)
        monkeypatch.setattr("torch.__version__", "1.0")  # here, not there
        assert "and here is Python 3." in said(cluster.address)
    assert recorded(course) == set()
