"""What comes out of the box for one submission, and its limits and walls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from autograder.grading.box.inside.cells import Said
from autograder.grading.words import Trouble
from autograder.observation.packing import from_bytes


class CannotStart(Trouble):
    """The box could not be built, or does not hold; the message says what is missing."""


@dataclass(frozen=True)
class Lost:
    """A step that did not come to its end.

    why  "time", "died" (the process ended in it) or "output"
    """

    why: str
    detail: str = ""

    def __str__(self) -> str:
        words = {
            "time": "it did not come to its end in time",
            "died": "the process ended while it ran",
            "output": "it gave more than can be taken",
        }
        return words[self.why] + (f" ({self.detail})" if self.detail else "")


# Also what was asked when all time ran out: what used up its own time has been asked, and keeps its 0.
NOT_REACHED = Lost("time", "all time was used up before")


@dataclass
class Outcome:
    """What came out of the box, by the index of the step.

    answers  as bytes nobody has looked at yet
    lost     of the steps that never came to their end
    """

    answers: dict[int, bytes] = field(default_factory=dict)
    lost: dict[int, Lost] = field(default_factory=dict)

    def said(self, index: int) -> Said | None:
        """The answer of a step without questions; None where nothing came that can be read."""
        with suppress(KeyError, ValueError):
            return from_bytes(self.answers[index], expect=Said)
        return None


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
