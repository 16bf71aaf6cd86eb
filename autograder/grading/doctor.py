"""`autograder doctor`: what this machine can isolate, each tried and not guessed, and what is missing for what."""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autograder.grading.box import Walls, trouble
from autograder.grading.processes import processors
from autograder.grading.words import filled
from autograder.learner.environment import find_device, find_parts

# An extra of pyproject.toml, and what it is for; a program by any of its names, and what it is for.
EXTRAS = {
    "course": "lessons and widgets in JupyterLab",
    "grading": "grading a class",
    "cluster": "grading on several machines",
    "test": "make test",
    "site": "make site",
    "triton": "the kernels of lesson 12",
}
PROGRAMS = {
    ("git",): "make update",
    ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"): "browser tests",
    ("npm",): "tests of accessibility",
    ("c++",): "lesson 11's kernel in C++, with ninja",
    ("ninja",): "lesson 11's kernel in C++, with a compiler",
    ("postgres", "pg_config"): "tests of a gradebook on PostgreSQL",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was tried. needed: without it untrusted work is not graded."""

    name: str
    works: bool
    words: str
    needed: bool = True


def run_doctor(options: argparse.Namespace) -> int:
    """Print what was found; 0 only where untrusted work can be graded."""
    found, others = list(examine()), [*missing_packages(), *missing_programs()]
    safe = all(one.works for one in found if one.needed)
    print(filled("doctor.txt.j2", walls=found, safe=safe, others=others))
    return int(not safe)


def missing_packages() -> Iterator[Finding]:
    """For each extra: what it is for, and what of it is not installed."""
    for extra, purpose in EXTRAS.items():
        missing = sorted(part.name for part in find_parts(extra) if not part.fits)
        words = f"{purpose}: missing {', '.join(missing)}" if missing else purpose
        yield Finding(f"[{extra}]", not missing, words, needed=False)


def missing_programs() -> Iterator[Finding]:
    """For each program: what it is for, and whether it is there."""
    for names, purpose in PROGRAMS.items():
        path = next(filter(None, map(shutil.which, names)), None)
        words = purpose if path else f"{purpose}: not found"
        yield Finding(names[0], path is not None, words, needed=False)


WALLS = {
    "outer": "no network, an empty file system",
    "namespaces": "one process tree a submission",
    "landlock": "files are read, and written in one folder only",
    "seccomp": "no system call that no exercise needs",
}


def examine() -> Iterator[Finding]:
    """Try each wall alone, then all of them together."""
    if platform.system() != "Linux":
        yield Finding(
            "Linux", False, f"{platform.system()} has no namespaces: grade in a Linux machine."
        )
        return
    for wall, words in WALLS.items():
        yield _tried(wall, replace(Walls.none(), **{wall: True}), words)
    yield _tried("all walls together", Walls(), "a submission was run behind them")
    device = find_device()
    yield Finding("GPU", len(device.names) > 1, device.sentence, needed=False)
    yield Finding("processors", True, f"{processors()} submissions at a time", needed=False)


def _tried(name: str, up: Walls, words: str) -> Finding:
    why = trouble(up)
    return Finding(name, not why, why or words)
