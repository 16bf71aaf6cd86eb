"""What is put into the box for one submission, what comes out of it, and its limits and walls."""

from __future__ import annotations

import json
import pickle
from dataclasses import astuple, dataclass, field

from autograder.grading.words import Trouble
from autograder.observation.packing import from_plain, writable
from autograder.running.program import Piece

_LONGEST_CHARACTER = 12  # bytes, as JSON writes what is outside of Unicode's first plane
_BESIDES = 3000  # characters that a cell says besides what it prints: its error, and where


class CannotStart(Trouble):
    """The box could not be built, or does not hold; the message says what is missing."""


@dataclass(frozen=True)
class Run:
    """Text that runs in a namespace of its own, behind the pieces that it needs. ``name``: for people."""

    name: str
    source: str
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Check:
    """A graded cell: questions to put to what these pieces make of ``exercise``.

    questions  packed with ``packing.to_bytes``
    """

    name: str
    exercise: str
    questions: bytes
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Job:
    """The steps of one submission; each begins with nothing defined."""

    steps: tuple[Run | Check, ...]

    def as_message(self, leave_out: frozenset[int]) -> bytes:
        """Those steps that are left in: number, pieces, and the exercise ("" for a Run) with its questions."""
        return pickle.dumps([
            (index, (*step.pieces, Piece(step.name, step.source)), "", b"")
            if isinstance(step, Run) else (index, step.pieces, step.exercise, step.questions)
            for index, step in enumerate(self.steps) if index not in leave_out
        ])  # fmt: skip


@dataclass(frozen=True)
class Said:
    """What a step printed, and the error that stopped its last cell ("" for none)."""

    text: str = ""
    error: str = ""
    message: str = ""
    place: str = ""

    @classmethod
    def read(cls, data: bytes, limit: int) -> Said:
        """What a cell said, cut where it says more; ValueError for what is no such message."""
        if len(data) > _LONGEST_CHARACTER * (limit + _BESIDES):
            raise ValueError(f"{len(data)} bytes are more than a cell says")
        try:
            given = astuple(from_plain(cls, json.loads(data)))
        except (TypeError, RecursionError) as error:
            raise ValueError("not what a cell says") from error
        return cls(*(writable(text[: limit + 20]) for text in given))


@dataclass(frozen=True)
class Lost:
    """A step that did not come to its end.

    why  "time", "died" (the process ended in it), "memory" or "output"
    """

    why: str
    detail: str = ""

    def __str__(self) -> str:
        words = {
            "time": "it did not come to its end in time",
            "died": "the process ended while it ran",
            "memory": "it used more memory than there is",
            "output": "it gave more than can be taken",
        }
        return words[self.why] + (f" ({self.detail})" if self.detail else "")


NOT_REACHED = Lost("time", "all time was used up before")


@dataclass
class Outcome:
    """What came out of the box, by the index of the step.

    said     of the cells that ran
    answers  of the checks, as bytes nobody has looked at yet
    lost     of the steps that never came to their end
    seconds  from the first byte in to the last one out
    """

    said: dict[int, Said] = field(default_factory=dict)
    answers: dict[int, bytes] = field(default_factory=dict)
    lost: dict[int, Lost] = field(default_factory=dict)
    seconds: float = 0.0


MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Every figure is far above what right answers take.

    cell_seconds    for one cell, and for the questions of one exercise; then it is interrupted
    seconds         for the whole notebook; then its process is killed
    memory          bytes of address space beyond what the warm process has
    disk            bytes of files it may write, in a folder of its own, which is memory too
    files           of them, and open ones at a time
    threads         at a time; processes are not to be had at all
    text            characters of printed output kept of each cell
    answers         bytes of answers taken from it altogether
    """

    cell_seconds: float = 20.0
    seconds: float = 120.0
    memory: int = 1536 * MIB
    disk: int = 32 * MIB
    files: int = 64
    threads: int = 32
    text: int = 10_000
    answers: int = 256 * MIB


@dataclass(frozen=True)
class Walls:
    """Which walls are up. All of them, except where a test shows what each is for.

    outer       bubblewrap: an empty file system but for Python and its packages, no network
    namespaces  a submission's own user, mount, process and IPC namespaces
    landlock    the kernel's own file rules: reading what is mounted, writing to that folder only
    seccomp     system calls no exercise needs (processes, sockets, mounts, ptrace, …) fail
    limits      memory, files, output; time is watched from outside in any case
    """

    outer: bool = True
    namespaces: bool = True
    landlock: bool = True
    seccomp: bool = True
    limits: bool = True

    @classmethod
    def none(cls) -> Walls:
        """No sandbox, but for limits: for the work of people one trusts."""
        return cls(outer=False, namespaces=False, landlock=False, seccomp=False)
