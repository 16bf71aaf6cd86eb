"""Seconds that each solution notebook takes from top to bottom, run once in a fresh kernel.

Beside the seconds on the clock stand those that a processor worked: they hardly depend on what else the machine does.

    python benchmarks/lessons.py [--processors 2] [--lesson NAME …]

On two processors, whatever the machine has. The notebooks on disk are not touched. Goal: < 60 s each.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
GOAL_S = 60.0


def main() -> None:
    options = _options()
    notebooks = [
        path
        for path in sorted((ROOT / "solutions").glob("*/*.ipynb"))
        if path.stem == path.parent.name and (not options.lesson or path.stem in options.lesson)
    ]
    if not notebooks:
        raise SystemExit("There is no solution notebook of that name: run `make build`.")
    processors = _restrict(options.processors)
    print(f"On {processors} processors, of {os.cpu_count()}:")
    slow = []
    with tempfile.TemporaryDirectory() as nobody:
        _set_environment(nobody, processors)
        for path in notebooks:
            seconds, worked = seconds_of(path)
            print(f"{path.stem:<24}{seconds:>7.1f} s, processors {worked:.1f} s", flush=True)
            if seconds >= GOAL_S:
                slow.append(path.stem)
    print(f"{GOAL_S:.0f} s or more: {', '.join(slow) or 'none'}")


def seconds_of(path: Path) -> tuple[float, float]:
    """Seconds for a kernel to start and run all cells, on the clock and on processors.

    Raises CellExecutionError if one fails.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources)
    start, worked = time.perf_counter(), _worked()
    client.execute()
    return time.perf_counter() - start, _worked() - worked


def _worked() -> float:
    """Seconds that processors worked for kernels that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _restrict(count: int) -> int:
    """Keep this process and the kernels it starts on ``count`` processors, where that can be done."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    chosen = sorted(os.sched_getaffinity(0))[-count:]
    os.sched_setaffinity(0, chosen)
    return len(chosen)


def _set_environment(nobody: str, processors: int) -> None:
    """The course's packages can be imported, and the run is nobody's progress."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    known = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *known])
    os.environ["BACKWARD_BY_HAND_HOME"] = nobody
    os.environ.setdefault("OMP_NUM_THREADS", str(processors))
    os.environ.pop("NBGRADER_EXECUTION", None)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--lesson", nargs="*", help="only these, such as 03_linear")
    return parser.parse_args()


if __name__ == "__main__":
    main()
