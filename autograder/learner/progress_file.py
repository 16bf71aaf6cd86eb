"""What is remembered about one learner, and the file it is kept in: read, written and mended here.

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from autograder.observation.packing import conforming

VERSION = 1
HOME_VARIABLE = "BACKWARD_BY_HAND_HOME"
FILE_NAME = "progress.json"
LOCK_SECONDS = (
    3.0  # a check must never hang because another kernel was stopped while it held the lock
)
_warned: set[str] = set()


@dataclass
class ExerciseRecord:
    """One exercise: whether a check ever passed, what the last one found, and the help asked for.

    passed    every promise was kept once
    earlier   the check of an earlier course passed, which asked less
    hints     the number of the highest hint seen, 0 for none
    failed    how many checks fell short since one last passed
    kept      the promises that the last check found kept
    promises  all that it looked for
    """

    passed: bool = False
    earlier: bool = False
    attempts: int = 0
    hints: int = 0
    failed: int = 0
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
        """Plain lists, dicts, strings and numbers; `from_json` turns them back."""
        whole = json.loads(json.dumps(asdict(self)))  # lists, where we have tuples
        for record in whole["exercises"].values():
            for name, in_file in _IN_FILE.items():
                record[in_file] = record.pop(name)
        return {"version": VERSION, **whole}

    @classmethod
    def from_json(cls, data: object) -> "Progress":
        """Raises ValueError for anything that `to_json` of this version would not write."""
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise ValueError(f"it is not a progress file of version {VERSION}")
        try:
            exercises = {
                name: _made(ExerciseRecord, each) for name, each in data["exercises"].items()
            }
            quizzes = {name: _made(QuizRecord, each) for name, each in data["quizzes"].items()}
            for quiz in quizzes.values():
                quiz.answers = {q: _made(Answer, each) for q, each in quiz.answers.items()}
            return cast("Progress", conforming(cls(exercises, quizzes, _frozen(data["devices"]))))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a field is missing or of the wrong kind: {error}") from error


# Names that a file has always had: an earlier copy of the course reads it too.
_IN_FILE = {"passed": "hidden", "earlier": "visible"}
_NEWER = ("failed", "kept", "promises")  # fields that files from before have not


def _made(kind: Any, data: Mapping[str, Any]) -> Any:
    """A record of the fields that it has; what a later version adds is passed over."""
    in_file = {each.name: _IN_FILE.get(each.name, each.name) for each in fields(kind)}
    left_out = [name for name in _NEWER if name not in data]
    return kind(**{n: _frozen(data[there]) for n, there in in_file.items() if n not in left_out})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# ---- the file -----------------------------------------------------------------------------
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


def update(change: Callable[[Progress], object]) -> None:
    """Let `change` change what is on disk now, and write the result in one step.

    Never raises: where nothing can be written the learner is told, once a kernel.
    """
    try:
        with _locked():
            progress = _parse_or_keep_aside(path())
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
