"""What stops a command of the grading room: each is a sentence that says what to do."""

from __future__ import annotations

import errno

from autograder.grading.words import printable


class Trouble(Exception):
    """Why a command ends before its work is done; `autograder` prints it, and no traceback."""

    exit_status = 1

    def __str__(self) -> str:
        return "\n".join(map(printable, super().__str__().split("\n")))


class CannotWrite(Trouble):
    """Grades cannot be kept. Nothing was half-written."""


class NameTrouble(CannotWrite):
    """A student's name that no gradebook can hold: only this one submission is concerned."""


class Busy(Trouble):
    """Somebody else grades this course right now."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def file_trouble(error: OSError, student: str, lesson: str) -> CannotWrite:
    """Why the files of a submission could not be written."""
    what = f"the graded {lesson} of {student!r} could not be kept"
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in NO_ROOM:
        return CannotWrite(f"The disk is full: {what}. Make room, then run the same command again.")
    if error.errno in NOT_ALLOWED:
        return CannotWrite(
            f"You may not write here{where}: {what}. Get the right to write into autograded/ and "
            "grading/, then run the same command again."
        )
    return CannotWrite(
        f"{error.strerror or error}{where}: {what}. Then run the same command again."
    )
