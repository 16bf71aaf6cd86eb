"""The box that submissions run in: bubblewrap around a warm process, and a wall for each submission.

``inside`` is what runs in the box; nothing else of the course is there but what answers questions
(``outer_wall.TAKEN``). The rest of this package stays outside.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import time
import weakref
from collections.abc import Sequence
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory, TemporaryFile

from autograder.grading.box import outer_wall
from autograder.grading.box.inside import cells
from autograder.grading.box.inside.cells import Said, Step
from autograder.grading.box.job import NOT_REACHED, CannotStart, Limits, Lost, Outcome, Walls
from autograder.running.program import Piece

__all__ = ["Box", "CannotStart", "Limits", "Lost", "Outcome", "Said", "Step", "Walls", "trouble"]

_START = 120.0  # seconds until the warm process has to be there
_MOMENT = 0.2
_GRACE = 5.0  # seconds beyond a limit until what does not end is ended
_ATTEMPTS = 3  # at a submission that was ended by nothing it can do itself


class _Ended(Exception):
    """Somebody or something outside ended a submission's process, or the warm one it came from."""

    def __init__(self, index: int, how: str):
        self.index, self.how = index, how


class Box:
    """Holds a warm process behind the outer wall; each job runs in a child of it.

    device   "cpu", or "cuda": then the GPU's device files are in the box
    A box whose warm process is gone (killed, out of memory) builds itself anew for the next job.
    """

    def __init__(self, limits: Limits | None = None, walls: Walls | None = None, device: str = "cpu"):  # fmt: skip
        self.limits, self.walls = limits or Limits(), walls or Walls()
        self._device = device
        self._process: Popen[bytes] | None = None
        self._control: socket.socket | None = None

    # ---- building ---------------------------------------------------------------------------
    def start(self) -> None:
        """Build the box, if it is not there. Raises CannotStart."""
        if self._process is not None and self._process.poll() is None:
            return
        for _ in range(_ATTEMPTS):
            self.close()
            said = self._start()
            if said != "":  # without a word: somebody ended it; what fails by itself says why
                break
        if said is not None:
            self.close()
            raise CannotStart(_in_words(said))

    def _start(self) -> str | None:
        """Start a warm process; what it said where it did not come to serve, or None."""
        self._control, theirs = socket.socketpair()
        work = None if self.walls.outer else TemporaryDirectory(prefix="grading-box-")
        try:
            with theirs, TemporaryFile() as given, TemporaryFile() as log:
                given.write(outer_wall.what_asks())
                given.seek(0)
                command, environment = outer_wall.command(
                    theirs.fileno(), given.fileno(), work.name if work else outer_wall.WORK, self.limits,
                    self.walls, self._device,
                )  # fmt: skip
                self._process = Popen(
                    command, env=environment, pass_fds=[theirs.fileno(), given.fileno()],
                    stdin=DEVNULL, stdout=DEVNULL, stderr=log, cwd="/", start_new_session=True,
                )  # fmt: skip
                # A box nobody holds any more ends, whatever became of whoever held it.
                self._end = weakref.finalize(
                    self, _end, self._process, self._control, work, os.getpid()
                )
                theirs.close()
                try:
                    cells.receive(self._control, 1 << 20, time.monotonic() + _START)
                except (cells.Closed, cells.Late):
                    log.seek(0)
                    return log.read().decode(errors="replace").strip()[-2000:]
        except OSError as error:
            raise CannotStart(
                f"it could not be built ({error.filename or 'TMPDIR'}): {error.strerror}"
            ) from error
        return None

    def close(self) -> None:
        """End the warm process and everything in the box."""
        if self._process is not None:
            self._end()
        self._process = self._control = None

    def __enter__(self) -> Box:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- running ----------------------------------------------------------------------------
    def run(self, job: Sequence[Step]) -> Outcome:
        """Run one submission. What ends its process costs that step; the others run again without it.

        Raises CannotStart where the box does not hold, never for what a submission does.
        """
        self.start()  # building the box is nobody's time
        outcome, attempts, deadline = Outcome(), 1, time.monotonic() + self.limits.seconds
        for _ in range(len(job) + _ATTEMPTS - 1):
            left = [i for i in range(len(job)) if i not in outcome.lost.keys() | outcome.answers]
            try:
                index, lost = self._once(job, left, outcome, deadline)
            except _Ended as ended:
                if attempts < _ATTEMPTS and time.monotonic() < deadline:
                    attempts += 1
                    outcome.answers.clear()  # from the start again, as if nothing had been
                    continue
                index, lost = ended.index, Lost("died", ended.how)
            if lost is None:
                break
            late = time.monotonic() > deadline
            outcome.lost[index] = NOT_REACHED if late and lost.why == "time" else lost
            if late:
                for later in {*range(index + 1, len(job))} - outcome.answers.keys():
                    outcome.lost.setdefault(later, NOT_REACHED)
                break
        return outcome

    def _once(
        self, job: Sequence[Step], left: list[int], outcome: Outcome, deadline: float
    ) -> tuple[int, Lost | None]:
        """Run the steps that are left; the step that did not end, and why; or None. Raises _Ended."""
        self.start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        try:
            with ours:
                with theirs:
                    socket.send_fds(self._control, [b"j"], [theirs.fileno()])
                at, lost = self._listen(ours, job, left, outcome, deadline)
        except BrokenPipeError:
            self.close()
            raise _Ended(0, "the warm process is gone") from None
        except BaseException:
            self.close()  # what this one's end is told with must not be read as the next one's
            raise
        ended = self._ended(at, kill=lost is not None)
        return at, Lost("died", ended) if lost and lost.why == "died" and ended else lost

    def _listen(
        self, ours: socket.socket, job: Sequence[Step], left: list[int], outcome: Outcome, deadline: float
    ) -> tuple[int, Lost | None]:  # fmt: skip
        at, steps = left[0] if left else 0, iter(left)
        room = self.limits.answers
        try:
            kind, data = cells.receive(ours, 1 << 16, time.monotonic() + _START)
            if kind != cells.READY:
                raise CannotStart(f"a wall could not be put up: {data.decode(errors='replace')}")
            cells.send(ours, b"m", pickle.dumps([job[index] for index in left]))
            until = deadline
            while True:
                kind, data = cells.receive(ours, room, min(until, deadline) + _GRACE)
                room -= len(data)
                if kind == cells.END:
                    return at, None
                if kind == cells.STARTS:
                    at = next(steps)
                    until = time.monotonic() + self.limits.cell_seconds
                elif kind == cells.ANSWER:
                    outcome.answers[at] = data
                else:
                    return at, Lost("died", "it sent what is no message")
        except cells.Late:
            return at, Lost("time")
        except cells.TooLong as error:
            return at, Lost("output", str(error))
        except (cells.Closed, OSError, StopIteration):
            return at, Lost("died")

    def _ended(self, at: int, kill: bool) -> str:
        """Wait until the submission's process is gone; what ended it, in words, or "". Raises _Ended."""
        assert self._control is not None
        told = False
        try:
            # It may be about to end by itself: how it ended is worth a moment.
            for patience in (_MOMENT if kill else _GRACE, _GRACE):
                try:
                    kind, data = cells.receive(self._control, 1 << 16, time.monotonic() + patience)
                    break
                except cells.Late:
                    if told:
                        raise
                    told = True
                    self._control.sendall(b"k")
        except (cells.Closed, cells.Late, OSError):
            self.close()  # the next job gets a new one
            if not kill:
                return ""  # everything had been said before
            raise _Ended(at, "the warm process went with it") from None
        if kind == b"f":
            raise CannotStart(data.decode(errors="replace"))
        status = int(data)
        if kill and not told and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            raise _Ended(at, "SIGKILL")  # no process can send that to itself in here
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        code = os.WEXITSTATUS(status)
        return f"exit status {code}" if code else ""


def _end(
    process: Popen[bytes], control: socket.socket, work: TemporaryDirectory[str] | None, owner: int
) -> None:
    """End a box; a process that was forked from ours and ends leaves it alone."""
    if os.getpid() != owner:
        return
    control.close()
    process.kill()
    process.wait()
    if work is not None:
        work.cleanup()


def _in_words(said: str) -> str:
    """What to do about a box that did not start."""
    if "setting up uid map" in said or "No permissions to create" in said or "userns" in said:
        return (
            "this machine does not let unprivileged users make namespaces "
            f"(`autograder doctor` says more): {said}"
        )
    return f"the warm process did not start: {said or 'it said nothing'}"


def trouble(walls: Walls | None = None) -> str:
    """Why no submission can be run behind these walls (all of them) here; "" where one was run."""
    try:
        with Box(walls=walls) as box:
            outcome = box.run([Step((Piece("hello", "print('hello')"),))])
    except CannotStart as error:
        return str(error)
    return "" if outcome.said(0) == Said("hello\n") else f"nothing ran: {outcome.lost.get(0)}"
