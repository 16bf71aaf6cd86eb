"""How much a submission may use, and which walls stand around it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

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

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


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

    def as_dict(self) -> dict[str, bool]:
        return asdict(self)
