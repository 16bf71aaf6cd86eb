"""A copy of everything a learner has, made before anything is touched."""

import filecmp
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from problem import SetupProblem

README = """These are your files as they were before `make update` on {when}.

your-files/      every file of yours: what you changed and what you added
course-version/  the course's new version of a notebook where you both changed the same cell

To go back to a file of yours, copy it from your-files/ to the same place in the course's folder.
`make update` never reads or deletes what is here; delete it when you no longer need it.
"""


UNFINISHED = "UPDATE-NOT-FINISHED"  # in a backup's folder while its update is going on


@dataclass(frozen=True)
class Backup:
    """A folder in backups/ with a learner's files. `paths` are relative, as in the clone."""

    folder: Path
    paths: tuple[str, ...]

    def yours(self, path: str) -> Path:
        """The copy of the learner's file."""
        return self.folder / "your-files" / path

    def keep_course_version(self, path: str, content: bytes) -> Path:
        """Put the course's version of a file beside the learner's; give its place."""
        place = self.folder / "course-version" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return place

    def done(self) -> None:
        """Say that the update this backup was made for has ended."""
        (self.folder / UNFINISHED).unlink()

    def restore(self, root: Path, path: str) -> None:
        """Put the learner's own file back where it was."""
        copy_entry(self.yours(path), root / path)


def copy_entry(source: Path, target: Path) -> None:
    """Copy a file, a link (as a link) or a folder (what git calls a clone inside the clone)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        return
    if target.is_symlink():
        target.unlink()
    shutil.copy2(source, target, follow_symlinks=False)


def same(one: Path, other: Path) -> bool:
    """Whether two entries hold the same. Two folders are taken to, if both are there."""
    if one.is_symlink() or other.is_symlink():
        both = one.is_symlink() and other.is_symlink()
        return both and os.readlink(one) == os.readlink(other)
    if one.is_dir() or other.is_dir():
        return one.is_dir() and other.is_dir()
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def new_folder(root: Path, now: datetime) -> Path:
    """A folder in backups/ that is named after the time and was not there before."""
    name = f"{now:%Y-%m-%d_%H-%M-%S}"
    number = 1
    while True:
        folder = root / "backups" / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1


def interrupted_backups(root: Path) -> list[Path]:
    """The backups whose update was stopped in the middle. Each is named only once."""
    marks = sorted(root.glob(f"backups/*/{UNFINISHED}"))
    for mark in marks:
        mark.unlink()
    return [mark.parent for mark in marks]


def make_backup(root: Path, paths: Iterable[str], now: datetime) -> Backup:
    """Copy these files of root and compare the copies. Raises SetupProblem if one is not right."""
    chosen = tuple(sorted(paths))
    try:
        backup = Backup(new_folder(root, now), chosen)
        (backup.folder / "README.txt").write_text(
            README.format(when=f"{now:%Y-%m-%d %H:%M}"), encoding="utf-8"
        )
        (backup.folder / UNFINISHED).touch()
        for path in chosen:
            copy_entry(root / path, backup.yours(path))
        wrong = [path for path in chosen if not same(root / path, backup.yours(path))]
        reason = f"the copy of {wrong[0]} is not the same" if wrong else ""
    except OSError as error:
        reason = str(error)
    if reason:
        raise SetupProblem(
            "Your files could not be backed up, so nothing was updated and nothing was changed.",
            ("Free some disk space and check that this folder belongs to you, then try again.",),
            reason,
        )
    return backup
