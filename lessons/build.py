"""Build course/ and solutions/ from lessons/*.py, with jupytext and nbgrader's own converters.

    python lessons/build.py                what `make build` runs
    python lessons/build.py --check        say whether course/ and solutions/ match lessons/
    python lessons/build.py --gradebook    put the lessons into the gradebook, leave course/ alone

Only notebooks are written, so notes and files that a learner keeps beside them stay. A notebook
that somebody has worked in is not written over: --force does it, after a copy in backups/.
Solutions are executed when their lesson changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lessons.convert import fill_gradebook, notebook_path, released, solved  # noqa: E402
from lessons.source import BuildError, Lesson, read_lessons  # noqa: E402
from lessons.stamp import back_up, stamped, without_outputs, worked_on  # noqa: E402


@dataclass(frozen=True)
class Built:
    """A notebook as it should be, and where. Outputs of a course notebook are somebody's work."""

    path: Path
    notebook: NotebookNode
    outputs_count: bool


def build(root: Path, *, force: bool = False, execute_all: bool = False) -> list[str]:
    """Bring course/ and solutions/ up to date; gives a line for each notebook that was written.

    Raises BuildError for a lesson that is wrong and, once all others are built, for notebooks that
    hold somebody's work (unless `force`).
    """
    done: list[str] = []
    kept: list[str] = []
    for lesson in write_sources(root):
        for built in _to_write(root, lesson, force, execute_all):
            shown = str(built.path.relative_to(root))
            if worked_on(built.path, outputs_count=built.outputs_count):
                if not force:
                    kept.append(shown)
                    continue
                copy = back_up(built.path, root / "backups")
                done.append(f"kept a copy of {shown} as {copy.relative_to(root)}")
            write(built.path, built.notebook)
            done.append(f"wrote {shown}")
    if kept:
        raise BuildError(
            "These notebooks hold somebody's work, so they were left as they are:\n"
            + "".join(f"    {path}\n" for path in kept)
            + "To replace them (a copy goes to backups/): python lessons/build.py --force"
        )
    return done


def check(root: Path) -> list[str]:
    """What in course/ and solutions/ does not match lessons/, outputs aside: a line for each."""
    wrong: list[str] = []
    expected: set[Path] = set()
    for lesson in write_sources(root):
        notebooks = {"course": released(root, lesson)}
        if lesson.has_exercises:
            notebooks["solutions"] = solved(root, lesson, execute=False)
        for folder, notebook in notebooks.items():
            path = notebook_path(root / folder, lesson.name)
            expected.add(path)
            if not path.exists():
                wrong.append(f"{path.relative_to(root)} is missing")
            elif without_outputs(nbformat.read(path, as_version=4)) != without_outputs(notebook):
                wrong.append(f"{path.relative_to(root)} does not match lessons/{lesson.name}.py")
    for folder in ("course", "solutions"):
        for path in sorted((root / folder).glob("*/*.ipynb")):
            if path.stem == path.parent.name and path not in expected:
                wrong.append(f"{path.relative_to(root)} has no lesson")
    return wrong


def write_sources(root: Path) -> list[Lesson]:
    """Read all lessons, and write those with exercises to where nbgrader looks for its sources."""
    lessons = read_lessons(root / "lessons")
    for lesson in lessons:
        if lesson.has_exercises:
            write(notebook_path(root / "build/source", lesson.name), lesson.notebook)
    return lessons


def write(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook in one step: a build that is stopped leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    nbformat.write(notebook, draft)
    os.replace(draft, path)


def _to_write(root: Path, lesson: Lesson, force: bool, execute_all: bool) -> list[Built]:
    """The notebooks of a lesson that are not on disk as they should be."""
    course = Built(notebook_path(root / "course", lesson.name), released(root, lesson), True)
    found = [] if _is_on_disk(course, force) else [course]
    if lesson.has_exercises:
        path = notebook_path(root / "solutions", lesson.name)
        if execute_all or not _is_current(path, lesson):
            print(f"running the solutions of {lesson.name} …", file=sys.stderr, flush=True)
            found.append(Built(path, solved(root, lesson, execute=True), False))
    return found


def _is_on_disk(built: Built, force: bool) -> bool:
    """Whether this build is there: as it is, or (unless `force`) with a learner's work in it."""
    if not built.path.exists():
        return False
    text = built.path.read_text(encoding="utf-8")
    if force:
        return text.rstrip() == nbformat.writes(built.notebook).rstrip()
    return stamped(built.notebook)["build"] in text


def _is_current(path: Path, lesson: Lesson) -> bool:
    """Whether a solution was executed from this very lesson, and not edited since."""
    if not path.exists() or worked_on(path, outputs_count=False):
        return False
    return stamped(nbformat.read(path, as_version=4)).get("lesson") == lesson.digest


def main(arguments: list[str]) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="lessons/build.py", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare only")
    parser.add_argument("--gradebook", action="store_true", help="fill the gradebook only")
    parser.add_argument(
        "--db", metavar="URL", help="with --gradebook: another one than gradebook.db"
    )
    parser.add_argument("--force", action="store_true", help="replace notebooks with work in them")
    parser.add_argument("--execute-all", action="store_true", help="run unchanged solutions too")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            wrong = check(ROOT)
            print(
                "\n".join([*wrong, "Run `make build`."])
                if wrong
                else "course/ and solutions/ match lessons/."
            )
            return 1 if wrong else 0
        if options.gradebook:
            fill_gradebook(ROOT, write_sources(ROOT), options.db)
            print("The gradebook knows every lesson.")
            return 0
        done = build(ROOT, force=options.force, execute_all=options.execute_all)
        print("\n".join(done) if done else "Nothing to do: course/ and solutions/ match lessons/.")
        return 0
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
