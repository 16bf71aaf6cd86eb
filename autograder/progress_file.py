"""The file a learner's progress is kept in: found, read, written and mended here and nowhere else.

One JSON file a learner, outside the course folder, so that an update of the course, a second copy
of it or a fresh clone never touches it. Several kernels may write at once (a learner has two
lessons open), so every change is read–change–write under a file lock, and the file is replaced in
one step. A file that cannot be understood is moved aside, never deleted.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.progress_record import Progress

HOME_VARIABLE = "BACKWARD_BY_HAND_HOME"
FILE_NAME = "progress.json"
LOCK_SECONDS = (
    3.0  # a check must never hang because another kernel was stopped while it held the lock
)
_warned: set[str] = set()


def home() -> Path:
    """The folder progress is kept in; it need not exist yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "backward-by-hand"
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "backward-by-hand"


def path() -> Path:
    """The progress file; it need not exist yet."""
    return home() / FILE_NAME


def read() -> Progress:
    """What is on disk; an empty Progress where there is no file, or none that can be read.

    Never raises for what is on disk: a damaged file is kept aside and the learner is told where.
    """
    try:
        with contextlib.suppress(ValueError):
            return _parse(path())
        with _locked():
            return _parse_or_keep_aside(path())
    except OSError as error:
        _say_once(f"Your progress could not be read ({error}). Everything else works.")
        return Progress()


def update(change: Callable[[Progress], Progress]) -> None:
    """Apply `change` to what is on disk now, and write the result in one step.

    Never raises: where nothing can be written the learner is told, once a kernel.
    """
    try:
        with _locked():
            _write(change(_parse_or_keep_aside(path())))
    except OSError as error:
        _say_once(
            f"Your progress could not be saved in {home()} ({error}). Checks work all the same. "
            f"To keep progress, set {HOME_VARIABLE} to a folder you can write to, then restart "
            "the kernel."
        )


def move_to_backup() -> Path | None:
    """Move the progress file aside and return where it is now; None where there was none.

    Raises OSError where the file cannot be moved.
    """
    with _locked():
        return _move_aside("backup") if path().exists() else None


def _parse(file: Path) -> Progress:
    """Raises ValueError for a file that is not progress, OSError for one that cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Progress()
    try:
        return Progress.from_json(json.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _parse_or_keep_aside(file: Path) -> Progress:
    """As `_parse`, but a file that is not progress is moved aside first. Call it under the lock."""
    try:
        return _parse(file)
    except ValueError as error:
        kept = _move_aside("unreadable")
        print(
            f"The file with your progress could not be understood ({error}).\n"
            f"It was kept as {kept}, and a new one starts now. Your notebooks are untouched."
        )
        return Progress()


def _move_aside(why: str) -> Path:
    """Rename the progress file to a dated name that is not taken, and return that name."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = [f"progress-{why}-{stamp}.json"]
    names += [f"progress-{why}-{stamp}-{number}.json" for number in range(2, 1000)]
    target = next(home() / name for name in names if not (home() / name).exists())
    path().replace(target)
    return target


def _write(progress: Progress) -> None:
    """Replace the progress file in one step, so that a reader never meets half a file."""
    draft = home() / f".progress-{os.getpid()}.json"
    try:
        with draft.open("w", encoding="utf-8") as stream:
            json.dump(progress.to_json(), stream, indent=1, ensure_ascii=False)
            stream.flush()
            os.fsync(
                stream.fileno()
            )  # a full disk is noticed here, before the old file is replaced
        draft.replace(path())
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold the lock of the progress folder; go on without it after LOCK_SECONDS.

    The lock belongs to an open file, so the system releases it when a kernel is killed. Where the
    file system knows no locks, or a stopped kernel keeps one, the worst that is lost is one record.
    """
    home().mkdir(parents=True, exist_ok=True)
    with (home() / ".lock").open("a") as handle:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _try_lock(handle.fileno()) and time.monotonic() < deadline:
            time.sleep(0.01)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this file system: waiting would not help
    return True


def _say_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        print(message)
