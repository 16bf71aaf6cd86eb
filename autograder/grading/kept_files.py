"""Files that are there completely or not at all, and what nbgrader keeps in autograded/ beside the notebook."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from datetime import datetime
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc


class NotPlain(Exception):
    """No ordinary file, or too large a one. why: what it is instead."""

    def __init__(self, path: Path, why: str):
        super().__init__(f"{str(path)!r} {why}")
        self.why = why


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
            raise NotPlain(path, f"has {facts.st_size / 1e6:.1f} million bytes")
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
    made = Replacement(path)
    write_new(made.new, content, mode)
    made.finish()


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Replacement:
    """A file or folder that is made in hiding (``new``), and takes the place of the old one by renaming.

    Names that begin with a dot are passed over by nbgrader. Whatever a killed process left of
    them is put right by the next Replacement of the same one.
    """

    def __init__(self, path: Path):
        self.path, self.new, self._old = path, path.with_name(f".{path.name}.new"), aside(path)
        self._is_aside = self._is_placed = False
        self._made_parent = not path.parent.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(self.new)

    def set_aside(self) -> None:
        """The old one no longer holds; it is kept until `finish`."""
        if self.path.exists():
            _remove(self._old)
            os.rename(self.path, self._old)
            self._is_aside = True

    def place(self) -> None:
        """The new one is where it belongs; a folder only once the old one was set aside."""
        os.rename(self.new, self.path)
        self._is_placed = True
        sync_folder(self.path.parent)

    def finish(self) -> None:
        """The new one is there, and nobody wants the old one back. One of them is there at any moment."""
        if not self._is_placed:
            # The new one takes the old one's name first: no moment leaves both behind.
            if self._old.is_file():
                os.replace(self.new, self._old)
                self.new = self._old
            self.place()
        _remove(self._old)

    def put_back(self) -> None:
        """The old one holds again; nothing where it was not set aside."""
        if self._is_placed:
            os.rename(self.path, self.new)
        if self._is_aside:
            os.rename(self._old, self.path)
        self._is_aside = self._is_placed = False

    def undo(self) -> None:
        """Everything as it was before, as far as the disk lets us."""
        with contextlib.suppress(OSError):
            self.put_back()
            _remove(self.new)
            if self._made_parent:
                self.path.parent.rmdir()


def aside(path: Path) -> Path:
    """Where the old one waits meanwhile."""
    return path.with_name(f".{path.name}.old")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


OF_EXCHANGE = ("timestamp.txt", "submission_secret.txt")  # what nbgrader asks for beside a notebook
LONGEST, LONGEST_DATE = 10_000, 100  # bytes of one of them; of a date


def fill(folder: Path, notebook: str, lesson: str, submitted: Path, converter: Autograde) -> None:
    """Write the graded notebook and the lesson's own files into a new `folder`.

    Like `nbgrader autograde`, but of what was handed in beside the notebook only what its exchange asks
    for comes along: nobody reads the rest there, and a person finds it where it was handed in.

    submitted  the folder that was handed in; it may hold anything
    converter  nbgrader's own, for what is configured of it: permissions, files to leave out
    """
    course: CourseDirectory = converter.coursedir
    mode = int(str(converter.permissions), 8)
    text = notebook.encode("utf-8", "replace")
    folder.mkdir()
    write_new(folder / f"{lesson}.ipynb", text.rstrip(b"\n") + b"\n", mode)
    source = Path(course.format_path(course.source_directory, ".", lesson))
    if source.is_dir():
        shutil.copytree(
            source, folder, ignore=shutil.ignore_patterns("*.ipynb", *course.ignore),
            copy_function=lambda a, b: write_new(Path(b), Path(a).read_bytes(), mode), dirs_exist_ok=True,
        )  # fmt: skip
    for name in OF_EXCHANGE:
        with contextlib.suppress(FileNotFoundError, FileExistsError, NotPlain):
            write_new(folder / name, read_plain(submitted / name, LONGEST), mode)
    for inside, _, _ in os.walk(folder, topdown=False):
        share(Path(inside), course)
        sync_folder(Path(inside))


def read_timestamp(submitted: Path) -> datetime | None:
    """When it was handed in, in UTC; None where no (or an empty) timestamp.txt says so.

    Raises ValueError where there is one that cannot be understood.
    """
    try:
        text = read_plain(submitted / "timestamp.txt", LONGEST_DATE).decode("utf-8").strip()
        when = parse_utc(text) if text else None
    except FileNotFoundError:
        return None
    except (NotPlain, ValueError, OverflowError) as error:
        raise ValueError(f"timestamp.txt cannot be understood ({error})") from error
    return when


def share(folder: Path, course: CourseDirectory) -> None:
    """Folders as nbgrader makes them where several instructors share a course."""
    if course.groupshared:
        os.chmod(folder, (folder.stat().st_mode | 0o2770) & 0o2777)
