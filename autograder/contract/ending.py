"""What ends a program, told apart: a person's interrupt, and what a submission raises itself; and when time is over."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

_SLOW = 1 / 1250  # a call, as a share of all the time that there is
_LATER = 0.2  # of all the time that there is: so much later a call may end that began in time
_AGAIN = 0.25  # seconds after which a call that goes on all the same is interrupted once more
# Where nothing is interrupted: what is half done there, nobody would put back.
_WHOLE = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), contextlib.__file__,
    os.path.join("torch", "utils", "_python_dispatch.py"), os.path.join("torch", "overrides.py"),
)  # fmt: skip


class Interrupted(KeyboardInterrupt):
    """A person's own."""


@contextlib.contextmanager
def errors_only() -> Iterator[None]:
    """Nothing but a person ends the program: what else would (exit, another's KeyboardInterrupt) is an error."""
    try:
        yield
    except (Exception, Interrupted):
        raise
    except BaseException as end:
        raise RuntimeError(f"{type(end).__name__}: {end}") from end


def ended_in(error: BaseException) -> str:
    """An error in words, as far as anybody reads them."""
    return f"{type(error).__name__}: {error}"[:300]


class TimeIsOver(Exception):
    """No new call of what is judged is worth beginning."""


class _Interrupts(BaseException):
    """What ends a call from outside: who catches every Exception there does not catch it."""


class Clock:
    """How many seconds are left for calls of what is judged.

    said, missed  it has said that they are over: for this part, for any
    cut           in words, the call that was interrupted, where one went on for longer than that

    Seconds in which others had the processor do not count: on a busy machine there is the same report.
    """

    def __init__(self, seconds: float | None):
        self.seconds, self.begun, self.said = seconds, time.monotonic() - _waited(), False
        self.missed, self.cut, self._what = False, "", ""
        self._took = deque[float](maxlen=5)
        self._started: float | None = None

    @property
    def cost(self) -> float:
        """How many seconds a call takes, as the last ones did."""
        return statistics.median(self._took) if self._took else 0.0

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds + self.begun + _waited() - time.monotonic()  # fmt: skip

    def over(self) -> bool:
        """Whether a call would end too late."""
        late = self.seconds is not None and time.monotonic() - self.begun + self.cost >= self.seconds  # fmt: skip
        self.said = self.said or (late and self.left <= self.cost)
        self.missed |= self.said
        return self.said

    @contextlib.contextmanager
    def call(self, what: str) -> Iterator[None]:
        """One call of forward or of backward. Raises TimeIsOver instead of beginning it too late."""
        if self._started is not None:  # a part of another one
            yield
            return
        if self.over():
            raise TimeIsOver
        self._started, self._what = time.monotonic(), what
        try:
            yield
        except _Interrupts as end:
            raise TimeIsOver from end
        finally:
            if self._started is not None:
                self._took.append(time.monotonic() - self._started)
                self._started = None

    @contextlib.contextmanager
    def for_a_part(self, share: float) -> Iterator[None]:
        """In the block time is over after this share of what is left."""
        before = self.seconds
        if before is not None:
            self.seconds = before - (1 - share) * self.left
        try:
            yield
        finally:
            self.seconds, self.said = before, False

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """In the block a call that goes on long after time is over ends with TimeIsOver, between two steps of Python.

        A single step cannot be interrupted: one call of native code is one. So it is on the main thread, where the
        system has such signals, and nobody else waits for one.
        """
        wanted = self.seconds is not None and hasattr(signal, "setitimer")
        main = threading.current_thread() is threading.main_thread()
        if not wanted or not main or signal.getitimer(signal.ITIMER_REAL)[0]:
            yield
            return
        before = signal.signal(signal.SIGALRM, self._late)
        signal.setitimer(signal.ITIMER_REAL, max(self.left, _AGAIN), _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before or signal.SIG_DFL)

    def _late(self, number: int, frame: FrameType | None) -> None:
        if frame is None or self._started is None or self.left > -_LATER * (self.seconds or 0.0):
            return
        file, took = frame.f_code.co_filename, time.monotonic() - self._started
        if any(each in file for each in _WHOLE):
            return
        place = f"in line {frame.f_lineno} of {Path(file).name}"
        self.cut = self.cut or f"{self._what} was interrupted after {took:.1f} s, {place}"
        raise _Interrupts

    def between(self) -> None:
        """What goes on is no call after all: a measured gradient, made of many."""
        self._started = None


_running: ContextVar[Clock | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def on(clock: Clock) -> Iterator[None]:
    """In the block calls are made, and go on, as long as a clock allows it."""
    token = _running.set(clock)
    try:
        with clock.interrupting():
            yield
    finally:
        _running.reset(token)


def a_call(what: str) -> contextlib.AbstractContextManager[None]:
    """Around each call of forward or of backward; raises TimeIsOver where a clock allows none."""
    clock = _running.get()
    return contextlib.nullcontext() if clock is None else clock.call(what)


def between_calls() -> None:
    """What goes on is no call after all, but made of many."""
    if (clock := _running.get()) is not None:
        clock.between()


def in_time() -> None:
    """Raises TimeIsOver where no call is allowed any more."""
    if (clock := _running.get()) is not None and clock.over():
        raise TimeIsOver


def slow() -> bool:
    """Whether calls take so long that there is time for a few well chosen ones alone."""
    clock = _running.get()
    return clock is not None and clock.seconds is not None and clock.cost > _SLOW * clock.seconds


def _waited() -> float:
    """For how many seconds this thread could have run, and others did; 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
