"""How fast a class is graded, beside stock nbgrader on the same submissions and the same cores.

    python benchmarks/grading.py [--counts 20,100] [--workers 1,2,4] [--stock 6] [--dask 1,2,4]

A class hands in right, wrong and untouched notebooks of several lessons, in equal parts. In one run:
stock `nbgrader autograde` on some of them, `autograder grade` with the sandbox on all of them, and the
floor: a warm process that forks, runs the same cells and checks in it, with no wall around anything
and nothing written. Scores are compared. Times are wall-clock seconds a submission.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nbformat

sys.path.insert(0, str(Path(__file__).parent.parent))

from autograder.grading import demo
from autograder.learner.lesson import Lesson, grade_id_of, read_files, read_lesson

LESSONS = ("01_template", "02_sigmoid", "04_ste")
STOCK = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
c.Execute.timeout = 300
"""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="grading-benchmark-") as name:
        course = Path(name, "course")
        course.mkdir()
        demo.prepare(demo.REPOSITORY, course)
        hand_in(course, max(options.counts))
        _print("Submissions", f"{len(LESSONS)} lessons, right, wrong and untouched in equal parts")
        stock = stock_seconds(course, options.stock)
        base = floor(course, options.stock)
        rows = [measure(course, n, w) for n in options.counts for w in _workers(options, n)]
        rows += [measure(course, min(options.counts), w, dask=True) for w in options.dask]
        same = compare(course, options.stock)
        report(rows, stock, base, same)


def _workers(options: argparse.Namespace, count: int) -> list[int]:
    """All numbers of workers for the middle count, the largest for the others."""
    middle = sorted(options.counts)[len(options.counts) // 2]
    return options.workers if count == middle else [max(options.workers)]


def hand_in(course: Path, count: int) -> None:
    """Put `count` submissions where nbgrader collects them: student by student, lesson by lesson."""
    kinds = list(demo.LEARNERS.values())
    texts: dict[tuple[str, int], str] = {}
    for number in range(count):
        lesson, kind = LESSONS[number % len(LESSONS)], number // len(LESSONS) % len(kinds)
        if (lesson, kind) not in texts:
            released, source = (
                nbformat.read(course / part / lesson / f"{lesson}.ipynb", as_version=4)
                for part in ("course", "build/source")
            )
            texts[lesson, kind] = nbformat.writes(kinds[kind](released, source))
        folder = course / "submitted" / student(number) / lesson
        folder.mkdir(parents=True)
        (folder / f"{lesson}.ipynb").write_text(texts[lesson, kind])


def student(number: int) -> str:
    return f"student-{number:05d}"


def lesson_of(number: int) -> str:
    return LESSONS[number % len(LESSONS)]


# ---- the three ways ------------------------------------------------------------------------


def stock_seconds(course: Path, count: int, lessons: Sequence[str] = LESSONS) -> float:
    """Seconds a submission of `nbgrader autograde` as it comes, for the first few submissions."""
    copy = _copy(course, "stock", count, lessons)
    (copy / "nbgrader_config.py").write_text(STOCK)
    # An untouched or wrong notebook has failing cells, which nbgrader goes on after.
    began = time.perf_counter()
    for lesson in lessons[:count]:
        demo.run(copy, "-m", "nbgrader", "autograde", lesson)
    seconds = (time.perf_counter() - began) / count
    _print("Stock nbgrader", f"{seconds:.2f} s a submission ({count} of them)")
    return seconds


def measure(course: Path, count: int, workers: int, dask: bool = False) -> dict[str, Any]:
    """One batch of `autograder grade`, from the command to the last written file."""
    copy = _copy(course, "ours", count)
    with ExitStack() as stack:
        where = ["--jobs", str(workers)]
        if dask:
            where = ["--scheduler", stack.enter_context(cluster(workers))]
        command = [sys.executable, "-m", "autograder", "grade", "--json", *where]
        began = time.perf_counter()
        watch = Memory()
        process = subprocess.Popen(
            command, cwd=copy, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(demo.REPOSITORY)},
        )  # fmt: skip
        lines, first = [], 0.0
        assert process.stdout is not None
        for line in process.stdout:
            if "student" in line:
                first = first or time.perf_counter() - began
                watch.look()
                lines.append(json.loads(line))
        if process.wait() or len(lines) != count:
            raise SystemExit(
                f"autograder grade ended with {process.returncode}: {len(lines)} results"
            )
        seconds = time.perf_counter() - began
    inside = [line["seconds"]["box"] + line["seconds"]["judge"] for line in lines]
    phases = {
        name: statistics.fmean(line["seconds"][name] for line in lines)
        for name in ("read", "box", "judge", "write")
    }
    row = {
        "count": count, "workers": workers, "where": "Dask" if dask else "local",
        "seconds": seconds, "first": first, "each": seconds / count,
        "steady": (seconds - first) / max(1, count - 1), "p50": statistics.median(inside),
        "phases": phases, "memory": watch.most,
    }  # fmt: skip
    _print(
        f"Ours, {row['where']}, {workers} workers",
        f"{count} in {seconds:.1f} s: {row['each']:.3f} s each ({row['steady']:.3f} s once warm); "
        f"box + judge p50 {row['p50']:.3f} s",
    )
    return row


def floor(course: Path, count: int) -> float:
    """Median seconds of a warm fork that runs the cells and the checks, and nothing else."""
    import torch

    from autograder import evaluate
    from autograder.exercises import find

    torch.set_num_threads(1)
    lessons = {name: read_lesson(_files(course, name)) for name in LESSONS}
    for name in LESSONS:  # as warm as can be: every reference has been imported and run
        for graded in lessons[name].graded.values():
            evaluate(find(graded.exercise).reference, exercise=graded.exercise)
    times = []
    for number in range(count):
        lesson = lessons[lesson_of(number)]
        path = course / "submitted" / student(number) / lesson.name / f"{lesson.name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        began = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            _run_here(notebook, lesson)
        os.waitpid(pid, 0)
        times.append(time.perf_counter() - began)
    _print("Floor", f"{statistics.median(times):.3f} s: bare warm fork + cells + checks (p50)")
    return statistics.median(times)


def _run_here(notebook: Any, lesson: Lesson) -> None:
    """Run the cells and checks of a notebook in this process, which ends with it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        space: dict[str, Any] = {"__name__": "__main__"}
        for cell in notebook.cells:
            name = grade_id_of(cell)
            if cell.cell_type == "code" and (
                name in lesson.graded or lesson.runs(name, cell.source)
            ):
                try:
                    exec(compile(cell.source, f"<{name}>", "exec"), space)
                except Exception:
                    continue
    finally:
        os._exit(0)


# ---- around them ---------------------------------------------------------------------------


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a Dask cluster of so many processes of this machine."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


class Memory:
    """The most memory (proportional share, bytes) that what this process started had in use.

    processor  seconds of processors that it used so far, that of what has ended included
    """

    def __init__(self) -> None:
        self.most, self.processor, self._next = 0, 0.0, 0.0

    def look(self) -> None:
        """Look, at most once a second: reading it takes a while."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 1
        there = list(_descendants(os.getpid()))
        self.most = max(self.most, sum(map(_share, there)))
        self.processor = max(self.processor, sum(map(_used, there)))


def _descendants(pid: int) -> Iterator[int]:
    """What it has started, in any of its threads (Dask starts its workers in one of its own)."""
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        children = " ".join(thread.read_text() for thread in threads).split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _descendants(child)


def _used(pid: int) -> float:
    """Seconds of processors, its own and of the children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _share(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except OSError:
        return 0


def _files(course: Path, name: str) -> Any:
    return read_files(
        name, *(course / p / name / f"{name}.ipynb" for p in ("build/source", "course"))
    )


def _copy(course: Path, name: str, count: int, lessons: Sequence[str] = LESSONS) -> Path:
    """The course with the first submissions only, not yet graded."""
    copy = course.parent / name
    shutil.rmtree(copy, ignore_errors=True)
    skip = shutil.ignore_patterns("submitted", "autograded", "grading", "lessons")
    shutil.copytree(course, copy, ignore=skip)
    for number in range(count):
        folder = Path("submitted", student(number), lessons[number % len(lessons)])
        shutil.copytree(course / folder, copy / folder)
    return copy


def compare(course: Path, count: int) -> tuple[int, int]:
    """(how many scores agree between the two gradebooks, how many were compared)."""
    found = []
    for name in ("stock", "ours"):
        demo.run(course.parent / name, "-m", "nbgrader", "export")
        with (course.parent / name / "grades.csv").open(newline="") as file:
            found.append(
                {
                    (r["student_id"], r["assignment"]): float(r["score"])
                    for r in csv.DictReader(file)
                }
            )
    wanted = [(student(number), lesson_of(number)) for number in range(count)]
    return sum(found[0][one] == found[1][one] for one in wanted), len(wanted)


def report(rows: list[dict[str, Any]], stock: float, base: float, same: tuple[int, int]) -> None:
    """The table: times, ratios, efficiency and where the time goes."""
    steady = {r["count"]: r["steady"] for r in rows if r["workers"] == 1 and r["where"] == "local"}
    print()
    print("| where | workers | submissions | s | s each | s each, warm | × stock | × stock, warm "
          "| box + judge p50, s | ÷ floor | efficiency, warm | GiB |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for r in rows:
        one = steady.get(r["count"])
        efficiency = f"{one / r['steady'] / r['workers']:.2f}" if one else "–"
        print(
            f"| {r['where']} | {r['workers']} | {r['count']} | {r['seconds']:.1f} | {r['each']:.3f} "
            f"| {r['steady']:.3f} | {stock / r['each']:.0f} | {stock / r['steady']:.0f} "
            f"| {r['p50']:.3f} | {r['p50'] / base:.2f} | {efficiency} | {r['memory'] / 2**30:.1f} |"
        )
    print(f"\nStock nbgrader: {stock:.2f} s a submission. Floor (p50): {base:.3f} s.")
    print(f"Scores that agree with stock nbgrader's: {same[0]} of {same[1]}.")
    phases = rows[0]["phases"]
    words = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in phases.items())
    print(f"Mean phases of a submission, {rows[0]['workers']} workers: {words}.")


def _print(name: str, words: str) -> None:
    print(f"{name}: {words}", flush=True)


def _options() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",") if part]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--counts", type=numbers, default=[20, 100], help="sizes of the class")
    parser.add_argument("--workers", type=numbers, default=[1, 2, 4])
    parser.add_argument(
        "--dask", type=numbers, default=[], help="Dask workers, for the smallest class"
    )
    parser.add_argument("--stock", type=int, default=9, help="how many stock nbgrader grades")
    return parser.parse_args()


if __name__ == "__main__":
    main()
