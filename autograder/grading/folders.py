"""The folders that boxes are built in: in the system's place for temporary files, and gone with us.

A process that is killed cannot clean up after itself. So each folder is locked by the process whose
box it is; the lock ends with the process, and the next box that is built anywhere takes away the
folders nobody holds any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "grading-box-"
SHORT = Path("/tmp")
LONGEST = 60  # bytes of a path, so that with the names below it a socket's stays below 104


@dataclass(frozen=True)
class Folder:
    """A folder of our own. lock: the descriptor that holds it; owner: the process that made it."""

    path: Path
    lock: int
    owner: int = field(default_factory=os.getpid)

    def remove(self) -> None:
        """Take it away, with all that is in it. A forked child that ends leaves it where it is."""
        if os.getpid() != self.owner:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def make_folder(for_sockets: bool = False) -> Folder:
    """A new, empty folder; sockets can only be where the path is short. Raises OSError."""
    place = Path(tempfile.gettempdir())
    if for_sockets and len(os.fsencode(place)) > LONGEST:
        place = SHORT
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            lock = _open(path)
        except FileNotFoundError:  # somebody who cleans up was here between the two steps
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return Folder(path, lock)
        os.close(lock)


def sweep() -> None:
    """Take away what killed processes have left behind."""
    for place in {Path(tempfile.gettempdir()), SHORT}:
        for path in place.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):  # another user's, or just gone
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    lock = _open(path)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path)
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
