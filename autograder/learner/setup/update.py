"""Takes the course's fixes and keeps the learner's work: `make update`.

First a backup of every file of the learner's. What only the course changed is taken; a notebook that both
changed is joined cell by cell, another text line by line; what cannot be joined stays as the learner left it.
Whatever stops it in between: what is there already counts as the learner's, and the next update goes on.
"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat

from problem import SetupProblem, report
from repository import Clone, GitError, open_clone

Metadata = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
MOST_FILES_SHOWN = 12
README = """These are your files as they were before `make update` on {when}.

your-files/      every file of yours: what you changed and what you added
course-version/  the course's new version of a file that was not joined with yours, or not everywhere

To go back to a file of yours, copy it from your-files/ to the same place in the course's folder.
`make update` never reads or deletes what is here; delete it when you no longer need it.
"""


def join(clone: Clone, backup: Path, path: str, now: datetime) -> str:
    """Bring a file that both sides changed to both, or leave it exactly as it was; gives what became of it."""
    place, kept = clone.root / path, backup / "course-version" / path
    before, course = clone.content(clone.base, path), clone.content(clone.course, path)
    plain = place.is_file() and not place.is_symlink()
    yours = place.read_bytes() if plain else b""
    if plain and yours == course:
        return ""
    if course is not None and before is None:  # both added it
        name = place.with_name(f"{place.stem}__{now:%Y%m%d%H%M%S}{place.suffix}")
        place.rename(name)
        clone.take({path})
        name = name.relative_to(clone.root)
        return f"The course now has a file {path} too: yours is called {name}."
    joined: bytes | None = None
    both_changed: tuple[str, ...] = ()
    if plain and before is not None and course is not None:
        if path.endswith(".ipynb"):
            joined, both_changed = _joined_cells(before, yours, course)
        else:
            joined = _joined_lines(before, yours, course)
    if course is not None and (both_changed or joined is None):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(course)
    where = kept.relative_to(clone.root)
    if joined is None:
        return (
            f"{path} could not be joined with the new version: yours stayed as it was.\n"
            f"  The course's version, if there is one, is {where}"
        )
    place.write_bytes(joined)
    if not both_changed:
        return f"{path} was joined with what you did there."
    return (
        f"In {path} you and the course changed the same cell: {', '.join(both_changed)}.\n"
        f"  Yours stayed. The course's is in {where}"
    )


def _joined_cells(
    before: bytes, yours: bytes, course: bytes
) -> tuple[bytes | None, tuple[str, ...]]:
    """All three cell by cell, as Jupyter would save it, and the ids of cells where the learner's version won.

    git merges lines, which can mix two versions inside one cell or break the notebook's JSON. Here a
    cell is one thing: what the learner changed stays the learner's, everything else is the course's.
    """
    versions = [_notebook(one) for one in (before, yours, course)]
    if not all(versions):
        return None, ()
    old, mine, here = ({cell["id"]: cell for cell in v["cells"]} for v in versions)
    cells, both_changed = [], []
    for name, cell in here.items():
        was, own = old.get(name), mine.get(name)
        news = _text(cell) != _text(was)
        if own is not None:
            changed = _text(own) != _text(was)
            if changed and news and _text(own) != _text(cell):
                both_changed.append(name)
            metadata = _joined((was or {}).get("metadata", {}), own["metadata"], cell["metadata"])
            cells.append({**(own if changed or not news else cell), "metadata": metadata})
        elif was is None or news:  # what the learner deleted stays deleted
            cells.append(cell)
    order: list[str] = []
    for name, cell in mine.items():
        # Cells that only the learner has: added, or changed before the course dropped them.
        if name not in here and _text(cell) != _text(old.get(name)):
            places = {known["id"]: place for place, known in enumerate(cells)}
            nearest = next((places[each] for each in reversed(order) if each in places), -1)
            cells.insert(nearest + 1, cell)
        order.append(name)
    whole = _joined(*(version.get("metadata", {}) for version in versions))
    made = nbformat.from_dict({**versions[-1], "metadata": whole, "cells": cells})
    written = nbformat.writes(made) + "\n"
    return written.encode("utf-8", errors="surrogatepass"), tuple(both_changed)


def _notebook(content: bytes) -> Any:
    """The notebook in a file; None if it is not a notebook whose cells can be told apart."""
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        ids = {cell.id: _text(cell) for cell in notebook.cells}
    except (ValueError, AttributeError, TypeError):
        return None
    return notebook if len(ids) == len(notebook.cells) else None


def _text(cell: Any) -> tuple[str, str] | None:
    """What a person would call the cell: its kind and its text."""
    return None if cell is None else (cell.cell_type, cell.source)


def _joined(base: Metadata, learner: Metadata, course: Metadata) -> Metadata:
    """The learner's metadata, with what the course changed, added or took away."""
    news = {key: value for key, value in course.items() if value != base.get(key)}
    both = {**learner, **news}
    return {key: value for key, value in both.items() if key in course or key not in base}


def _joined_lines(before: bytes, yours: bytes, course: bytes) -> bytes | None:
    """All three as git merges lines, the learner's where both changed one; None for what has no lines."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("yours", "before", "course")
        for name, content in zip(names, (yours, before, course), strict=True):
            Path(folder, name).write_bytes(content)
        merge = ["git", "merge-file", "--stdout", "--ours", *names]
        done = subprocess.run(merge, cwd=folder, capture_output=True)
    return done.stdout if done.returncode == 0 else None


def update(root: Path, now: datetime) -> str:
    """Update the clone in root; give the report for the learner. Raises SetupProblem and GitError."""
    clone = open_clone(root)
    if clone.has_latest:
        return "You have the latest version of the course already. Nothing was changed."
    mine, news = clone.learners(), clone.courses()
    backup = make_backup(root, sorted(mine), now)
    place = backup.relative_to(root)
    print(f"Your files are backed up in {place} ({len(mine)} of them).", flush=True)
    try:
        clone.take(news - mine)
    except GitError as error:
        words = f"git could not take the new version. Your files are as they were, and in {place}."
        raise SetupProblem(words, ("Run `make update` again.",), str(error)) from None
    said = [join(clone, backup, path, now) for path in sorted(news & mine)]
    clone.commit()
    more = f"  … and {len(news) - MOST_FILES_SHOWN} more files"
    return "\n".join([
        "The course is up to date. New or changed:",
        *(f"  {path}" for path in sorted(news)[:MOST_FILES_SHOWN]),
        *([more] if len(news) > MOST_FILES_SHOWN else []),
        *(f"\n{words}" for words in said if words),
        "\nIf a notebook is open in JupyterLab: File → Reload Notebook from Disk.",
    ])  # fmt: skip


def make_backup(root: Path, paths: Iterable[str], now: datetime) -> Path:
    """Copy these files of root into a new folder in backups/. Raises SetupProblem where that cannot be done.

    A link is copied as a link, and a folder (what git calls a clone inside the clone) as a whole.
    """
    try:
        folder = _new_folder(root / "backups", f"{now:%Y-%m-%d_%H-%M-%S}")
        (folder / "README.txt").write_text(README.format(when=f"{now:%Y-%m-%d %H:%M}"))
        for path in paths:
            source, target = root / path, folder / "your-files" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target, follow_symlinks=False)
    except OSError as error:
        raise SetupProblem(
            "Your files could not be backed up, so nothing was updated and nothing was changed.",
            ("Free some disk space and check that this folder belongs to you, then try again.",),
            str(error),
        ) from error
    return folder


def _new_folder(backups: Path, name: str) -> Path:
    for number in itertools.count(1):
        folder = backups / (name if number == 1 else f"{name}_{number}")
        if not os.path.lexists(folder):
            folder.mkdir(parents=True)
            return folder
    raise AssertionError


def main(root: Path = ROOT) -> int:
    """Update; give the exit status."""
    try:
        print(update(root, datetime.now()))
    except SetupProblem as problem:
        return report(problem)
    except GitError as error:
        return report(SetupProblem("git could not do what an update needs.", (), str(error)))
    except KeyboardInterrupt:
        print("\nStopped. Run `make update` again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
