"""Files that are there completely or not at all, and what nbgrader keeps in autograded/ beside the notebook."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc


class NotPlain(OSError):
    """No ordinary file, or too large a one: what it is instead."""


def read_plain(path: Path, most: int | None) -> bytes:
    """The content of an ordinary file of at most so many bytes; never follows a link, never waits.

    Raises FileNotFoundError where there is nothing, and NotPlain.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotPlain(f"cannot be read: {error.strerror}") from error
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):  # a folder cannot even be made a file of Python's
        os.close(descriptor)
        raise NotPlain("is no ordinary file")
    with os.fdopen(descriptor, "rb") as file:
        if most is not None and facts.st_size > most:
            raise NotPlain(f"has {facts.st_size / 1e6:.1f} million bytes")
        return file.read()


def write_new(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that is not there yet, down to the disk. Raises FileExistsError if it is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def replace_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in one step: whoever reads it finds the old content or the new."""
    with replacing(path) as new:
        write_new(new, content, mode)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to make a file or folder in hiding; at the end it takes the place of the old one.

    After a failure everything is as it was. Names that begin with a dot are passed over by nbgrader.
    Whatever a killed process left of them is put right the next time.
    """
    new, old = hidden(path), path.with_name(f".{path.name}.old")
    is_first = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove(new)
    try:
        yield new
    except BaseException:
        with contextlib.suppress(OSError):
            _remove(new)
            if is_first:
                path.parent.rmdir()
        raise
    _remove(old)
    if path.is_dir():
        os.rename(path, old)
    os.replace(new, path)
    sync_folder(path.parent)
    _remove(old)


def hidden(path: Path) -> Path:
    """Where a new one is made."""
    return path.with_name(f".{path.name}.new")


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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


def read_timestamp(submitted: Path) -> tuple[datetime | None, str]:
    """When it was handed in, in UTC, where a timestamp.txt says so; and why one cannot be understood, or ""."""
    try:
        text = read_plain(submitted / "timestamp.txt", LONGEST_DATE).decode("utf-8").strip()
        return (parse_utc(text) if text else None), ""
    except FileNotFoundError:
        return None, ""
    except (NotPlain, ValueError, OverflowError) as error:
        return None, f"timestamp.txt cannot be understood ({error})"


def share(folder: Path, course: CourseDirectory) -> None:
    """Folders as nbgrader makes them where several instructors share a course."""
    if course.groupshared:
        os.chmod(folder, (folder.stat().st_mode | 0o2770) & 0o2777)
