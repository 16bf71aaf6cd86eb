"""What each step of grading a class takes: grade, status, feedback, summary, export.

    python benchmarks/whole_class.py [--counts 300,1000] [--jobs 2] [--stock 6] [--dask 300,3000]

Every student hands in one notebook, with another answer of the gallery in each solution cell, right and
wrong ones in turns. In the same run stock `nbgrader autograde` grades some of them, for the ratio. Seconds
are wall-clock; beside them stand those of the processor, which other work on the machine changes less.
Memory is the most that a command and all it started had in use (proportional share).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent.parent))

from grading import Memory, cluster, stock_seconds, student

from autograder.exercises import LESSONS
from autograder.grading import demo
from tests.mistakes.gallery import filled_in

STEPS = {
    "grade": ["grade"], "grade again, nothing changed": ["grade"], "status": ["status"],
    "feedback": ["feedback"], "summary": ["summary"],
    "export to a table": ["export", "--partial"],
    "export to Canvas": ["export", "--partial", "--format", "canvas"],
}  # fmt: skip
DASK = "grade with Dask"


@dataclass(frozen=True)
class Step:
    """What one command took: seconds, those of the processor, and bytes at most in use."""

    seconds: float
    processor: float
    memory: int


def main() -> None:
    options = _options()
    taken: dict[int, dict[str, Step]] = {}
    with tempfile.TemporaryDirectory(prefix="whole-class-") as name:
        course = Path(name, "course")
        course.mkdir()
        demo.prepare(demo.REPOSITORY, course)
        hand_in(course, range(options.stock), options.lessons)
        before = processor()
        seconds = stock_seconds(course, options.stock, options.lessons)
        stock = Step(seconds, (processor() - before) / options.stock, 0)
        there = options.stock
        for count in sorted(options.counts):
            hand_in(course, range(there, count), options.lessons)
            there = count
            _forget(course)
            taken[count] = {step: run(course, step, options.jobs) for step in STEPS}
            if count in options.dask:
                _forget(course)
                with cluster(options.jobs) as scheduler:
                    taken[count][DASK] = run(course, DASK, options.jobs, scheduler)
            report(taken, stock, options.jobs)


def hand_in(course: Path, numbers: range, lessons: list[str]) -> None:
    """Each of these students hands in the notebook of one lesson, the lessons in turns."""
    released = {
        name: nbformat.read(course / "course" / name / f"{name}.ipynb", as_version=4)
        for name in lessons
    }
    for number in numbers:
        lesson = lessons[number % len(lessons)]
        folder = course / "submitted" / student(number) / lesson
        folder.mkdir(parents=True)
        notebook = filled_in(released[lesson], lesson, number // len(lessons))
        nbformat.write(notebook, folder / f"{lesson}.ipynb")


def run(course: Path, step: str, jobs: int, scheduler: str = "") -> Step:
    """One command in the course's folder, its work done by processes of this machine or by a Dask cluster's."""
    words = list(STEPS.get(step, ["grade", "--scheduler", scheduler]))
    words += ["--jobs", str(jobs)] if words in (["grade"], ["feedback"]) else []
    watch, began, before = Memory(), time.perf_counter(), processor()
    with (course / "whole-class.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "autograder", *words], cwd=course, stdout=log, stderr=log,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(demo.REPOSITORY)},
        )  # fmt: skip
        while process.poll() is None:
            watch.look()
            time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"autograder {step}:\n{(course / 'whole-class.log').read_text()[-2000:]}")
    # Grading's workers are nobody's to wait for: of them only what was seen of them is known.
    used = max(processor() - before, watch.processor)
    done = Step(time.perf_counter() - began, used, watch.most)
    print(
        f"  {step}: {done.seconds:.1f} s, {done.processor:.1f} of a processor, {done.memory / 2**30:.2f} GiB",
        flush=True,
    )
    return done


def processor() -> float:
    """Seconds of processors that everything started from here has used, once it has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _forget(course: Path) -> None:
    """As if nothing had been graded before."""
    for name in ("autograded", "feedback", "grading"):
        subprocess.run(["rm", "-rf", str(course / name)], check=True)
    (course / "gradebook.db").unlink()
    demo.run(course, "lessons/build.py", "--gradebook")


def report(taken: dict[int, dict[str, Step]], stock: Step, jobs: int) -> None:
    """The table so far."""
    counts = list(taken)
    print(f"\nMeasured on {date.today()}, {jobs} at a time; load {os.getloadavg()[1]:.1f} on "
          f"{os.cpu_count()} processors.\n")  # fmt: skip
    print("| step |" + "".join(f" {n}: s | processor, s | each, ms | GiB |" for n in counts))
    print("|---|" + "--:|--:|--:|--:|" * len(counts))
    for step in [*STEPS, DASK]:
        cells = (
            f" {one[step].seconds:.1f} | {one[step].processor:.1f} "
            f"| {1000 * one[step].processor / n:.1f} "
            f"| {one[step].memory / 2**30:.2f} |"
            if step in one
            else " – | – | – | – |"
            for n, one in taken.items()
        )
        print(f"| {step} |" + "".join(cells))
    for words, at in (("seconds", "seconds"), ("seconds of a processor", "processor")):
        each = getattr(stock, at)
        ratios = ", ".join(
            f"{each * n / getattr(one['grade'], at):.0f} × at {n}" for n, one in taken.items()
        )
        print(f"\nStock nbgrader: {each:.2f} {words} a submission. Grading takes less: {ratios}.")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",") if part]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--counts", type=numbers, default=[300, 1000], help="sizes of the class")
    parser.add_argument("--dask", type=numbers, default=[], help="sizes to grade with Dask, too")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--stock", type=int, default=7, help="how many stock nbgrader grades")
    parser.add_argument("--lessons", type=lambda text: text.split(","), default=list(LESSONS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
