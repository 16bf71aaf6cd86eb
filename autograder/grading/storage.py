"""Files that are there completely or not at all, whatever happens to the process or the power."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path


class NotPlain(Exception):
    """No ordinary file, or too large a one. why: what it is instead; size: the bytes of a large one."""

    def __init__(self, path: Path, why: str, size: int | None = None):
        super().__init__(f"{str(path)!r} {why}")
        self.why, self.size = why, size


def read_plain(path: Path, most: int | None) -> bytes:
    """The content of an ordinary file of at most so many bytes; never follows a link, never waits.

    Raises FileNotFoundError where there is nothing, and NotPlain.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINKS | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotPlain(path, f"cannot be read: {error.strerror}") from error
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):  # a folder cannot even be made a file of Python's
        os.close(descriptor)
        raise NotPlain(path, "is no ordinary file")
    with os.fdopen(descriptor, "rb") as file:
        if most is not None and facts.st_size > most:
            raise NotPlain(path, f"is larger than {most} bytes", facts.st_size)
        return file.read()


def write_new(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that is not there yet, down to the disk; no file where that does not work.

    Raises FileExistsError if it is there.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
    except BaseException:
        path.unlink()
        raise


def replace_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in one step: whoever reads it finds the old content or the new."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    write_new(draft, content, mode)
    os.replace(draft, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Replacement:
    """A folder that is filled in hiding, and takes its place beside the old one in two renames.

    Names that begin with a dot are passed over by nbgrader. Whatever a killed process left of
    them is put right by the next Replacement of the same folder.
    """

    def __init__(self, place: Path):
        self.place = place
        self.new = place.with_name(f".{place.name}.new")
        self._old = place.with_name(f".{place.name}.old")
        self._made_parent = not place.parent.exists()
        place.parent.mkdir(parents=True, exist_ok=True)
        if self._old.exists() and not place.exists():
            os.rename(self._old, place)
        self._clear()
        self.new.mkdir()

    def swap(self) -> None:
        """The new folder takes its place; the old one is kept until `finish`."""
        if self.place.exists():
            os.rename(self.place, self._old)
        os.rename(self.new, self.place)
        sync_folder(self.place.parent)

    def finish(self) -> None:
        """Nobody wants the old folder back."""
        self._clear()

    def swap_back(self) -> None:
        """The old folder takes its place again; nothing where there was no swap."""
        if not self.new.exists():
            os.rename(self.place, self.new)
        if self._old.exists():
            os.rename(self._old, self.place)

    def undo(self) -> None:
        """Everything as it was before, as far as the disk lets us."""
        with contextlib.suppress(OSError):
            self.swap_back()
            self._clear()
            if self._made_parent:
                self.place.parent.rmdir()

    def _clear(self) -> None:
        for folder in (self.new, self._old):
            if folder.exists():
                shutil.rmtree(folder)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
