"""Why something cannot be done or written, in sentences that say what to do."""

from __future__ import annotations

import errno

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

SECONDS_TO_ANSWER = 10
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
# What SQLite and PostgreSQL say where somebody else is writing, or was a moment ago.
_PASSING = ("database is locked", "database table is locked", "deadlock", "could not serialize",
            "lock timeout", "lock_not_available")  # fmt: skip


def is_passing(error: DBAPIError) -> bool:
    """Whether the same may work in a moment."""
    said = str(error.orig).lower()
    return (
        error.connection_invalidated
        or isinstance(error, IntegrityError)  # somebody else added the same row first
        or any(words in said for words in _PASSING)
    )


def database_trouble(error: DBAPIError, db_url: str) -> str:
    """Why the gradebook could not be used."""
    where = f"the gradebook {make_url(db_url).render_as_string(hide_password=True)}"
    said = str(error.orig).strip().split("\n")[0]
    lower = said.lower()
    if "locked" in lower:
        return (
            f"Somebody else keeps {where} to themselves. Close what has it open (another grading, "
            "a database browser), then run the same command again: it goes on where it stopped."
        )
    if "readonly" in lower or "read-only" in lower or "permission denied" in lower:
        return f"You may read but not write {where}. Get the right to write, then grade again."
    if "is full" in lower or "no space" in lower:
        return f"There is no room left for {where}. Make some, then run the same command again."
    if "no such column" in lower or "undefinedcolumn" in lower:
        return f"An older nbgrader made {where}. Make a copy of it, then run `nbgrader db upgrade`."
    if "not a database" in lower or "malformed" in lower:
        return f"A file is damaged: {where}. Put a copy of it back from your backup."
    if isinstance(error, DataError):
        return f"A name is too long for {where}: {said}. Rename the student's folder in submitted/."
    return f"There is trouble with {where}: {said}. Once it works, run the same command again."


def file_trouble(error: OSError, student: str, lesson: str) -> str:
    """Why the files of a submission could not be written."""
    what = f"the graded {lesson} of {student!r}"
    if error.errno in NO_ROOM:
        return f"The disk is full: {what} could not be kept. Make room, then run the same command again."
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in NOT_ALLOWED:
        return (
            f"You may not write here{where}: {what} could not be kept. Get the right to write into "
            "autograded/ and grading/, then run the same command again."
        )
    return f"{error.strerror or error}{where}: {what} could not be kept. Then run the same command again."


def name_trouble(student: str) -> str:
    """Why a name cannot be put into a database."""
    return (
        f"The name of student {student!r} is no valid text. Rename the folder in submitted/, then "
        "grade again."
    )


def refuse_without_gpu(device: str, scheduler: str = "") -> None:
    """Raise ValueError where a GPU is asked for, and none of those who work has one."""
    if device == "cuda" and not any(_gpus(scheduler)):
        where = f"no worker of {scheduler} has a" if scheduler else "this machine has no"
        raise ValueError(
            f"--device cuda: {where} GPU that torch can use (`autograder doctor` says more). "
            "Without --device everything is asked on the CPU."
        )


def _gpus(scheduler: str) -> list[bool]:
    """Whether each worker has a GPU that computes."""
    if not scheduler:
        return [_has_gpu()]
    try:
        from distributed import Client

        with Client(scheduler, timeout=SECONDS_TO_ANSWER) as client:
            return [found is True for found in client.run(_has_gpu, on_error="return").values()]
    except Exception:  # whatever is wrong with the cluster is said when the batch starts
        return [True]


def _has_gpu() -> bool:
    from autograder.devices import find_device

    return len(find_device().names) > 1
