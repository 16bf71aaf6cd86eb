"""What is remembered about one learner, and the file it is kept in: read, written and mended here.

One JSON file a learner, outside the course folder, so that an update of the course, a second copy
of it or a fresh clone never touches it. Several kernels may write at once (a learner has two
lessons open), so every change is read–change–write under a file lock, and the file is replaced in
one step. A file that cannot be understood is moved aside, never deleted.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from autograder.observation.packing import from_plain

VERSION = 1
HOME_VARIABLE = "BACKWARD_BY_HAND_HOME"
FILE_NAME = "progress.json"
# A check must never hang because another kernel was stopped while it held the lock.
LOCK_SECONDS = 3.0


@dataclass
class ExerciseRecord:
    """One exercise: whether a check ever passed, what the last one found, and the help asked for.

    passed    every promise was kept once
    earlier   the check of an earlier course passed, which asked less
    attempts  failing checks of what was written, since it passed last
    hints     the number of the highest hint seen, 0 for none
    kept      the promises that the last check found kept
    promises  all that it looked for
    """

    passed: bool = False
    earlier: bool = False
    attempts: int = 0
    hints: int = 0
    kept: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The choice a learner took last, as its text, so that reordered choices stay true."""

    choice: str
    correct: bool


@dataclass
class QuizRecord:
    """Answers by the text of their question: a question that was rewritten is asked again."""

    questions: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def correct(self) -> int:
        """How many of the answers are right."""
        return sum(answer.correct for answer in self.answers.values())


@dataclass
class Progress:
    """Everything that is remembered about one learner."""

    exercises: dict[str, ExerciseRecord] = field(default_factory=dict)
    quizzes: dict[str, QuizRecord] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu",)

    def exercise(self, name: str) -> ExerciseRecord:
        """The record of an exercise, a new one where it was never tried."""
        return self.exercises.setdefault(name, ExerciseRecord())

    def quiz(self, quiz_id: str) -> QuizRecord:
        """The record of a quiz, a new one where no question was answered."""
        return self.quizzes.setdefault(quiz_id, QuizRecord())

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, tuples, strings and numbers; `from_json` turns them back."""
        named = asdict(self, dict_factory=lambda pairs: {_IN_FILE.get(k, k): v for k, v in pairs})
        return {"version": VERSION, **named}

    @classmethod
    def from_json(cls, data: object) -> "Progress":
        """Raises ValueError for anything that `to_json` of this version would not write."""
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise ValueError(f"it is not a progress file of version {VERSION}")
        try:
            made: Progress = from_plain(cls, data, _IN_FILE)
        except TypeError as error:
            raise ValueError(str(error)) from error
        return made


# Names that a file has always had: an earlier copy of the course reads it too.
_IN_FILE = {"passed": "hidden", "earlier": "visible"}


# ---- the file -----------------------------------------------------------------------------
def home() -> Path:
    """The folder progress is kept in; it need not exist yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else user_data_path("backward-by-hand")


def path() -> Path:
    """The progress file; it need not exist yet."""
    return home() / FILE_NAME


def read() -> Progress:
    """What is on disk; an empty Progress where there is no file, or none that can be read.

    Never raises for what is on disk: a damaged file is kept aside and the learner is told where.
    """
    try:
        with contextlib.suppress(ValueError):
            return _parse()
        with _locked():
            return _parse_or_keep_aside()
    except OSError as error:
        _say_once(f"Your progress could not be read ({error}). Everything else works.")
        return Progress()


def update(change: Callable[[Progress], object]) -> None:
    """Let `change` change what is on disk now, and write the result in one step.

    Never raises: where nothing can be written the learner is told, once a kernel.
    """
    try:
        with _locked():
            progress = _parse_or_keep_aside()
            change(progress)
            _write(progress)
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


def _parse() -> Progress:
    """Raises ValueError for a file that is not progress, OSError for one that cannot be read."""
    try:
        return Progress.from_json(json.loads(path().read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Progress()
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _parse_or_keep_aside() -> Progress:
    """As `_parse`, but a file that is not progress is moved aside first. Call it under the lock."""
    try:
        return _parse()
    except ValueError as error:
        kept = _move_aside("unreadable")
        print(
            f"The file with your progress could not be understood ({error}).\n"
            f"It was kept as {kept}, and a new one starts now. Your notebooks are untouched."
        )
        return Progress()


def _move_aside(why: str) -> Path:
    """Rename the progress file after this very moment, and return its new name."""
    return path().replace(home() / f"progress-{why}-{datetime.now():%Y%m%d-%H%M%S-%f}.json")


def _write(progress: Progress) -> None:
    """Replace the progress file in one step, so that a reader never meets half a file."""
    draft = home() / f".progress-{os.getpid()}.json"
    try:
        with draft.open("w", encoding="utf-8") as stream:
            json.dump(progress.to_json(), stream, indent=1, ensure_ascii=False)
            stream.flush()
            # a full disk is noticed here, before the old file is replaced
            os.fsync(stream.fileno())
        draft.replace(path())
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold the lock of the progress folder; go on without it after LOCK_SECONDS.

    The system releases it when a kernel is killed. Where the file system knows no locks, or a stopped
    kernel keeps one, the worst that is lost is one record.
    """
    home().mkdir(parents=True, exist_ok=True)
    lock = FileLock(home() / ".lock", timeout=LOCK_SECONDS)
    with contextlib.suppress(Timeout, NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@cache
def _say_once(message: str) -> None:
    print(message)
