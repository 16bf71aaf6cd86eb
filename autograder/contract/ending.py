"""What ends a program, told apart: a person's interrupt, and what a submission raises itself; and when time is over."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_SLOW = 1 / 1250  # a call, as a share of all the time that there is


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


class Clock:
    """How many seconds are left for calls of what is judged.

    said, missed  it has said that they are over: for this part, for any

    Seconds in which others had the processor do not count: on a busy machine there is the same report.
    """

    def __init__(self, seconds: float | None):
        self.seconds, self.begun, self.said = seconds, time.monotonic() - _waited(), False
        self.missed = False
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
    def call(self) -> Iterator[None]:
        """One call of forward or of backward. Raises TimeIsOver instead of beginning it too late."""
        if self._started is not None:  # a part of another one
            yield
            return
        if self.over():
            raise TimeIsOver
        self._started = time.monotonic()
        try:
            yield
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

    def between(self) -> None:
        """What goes on is no call after all: a measured gradient, made of many."""
        self._started = None


_running: ContextVar[Clock | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def on(clock: Clock) -> Iterator[None]:
    """In the block calls are made as long as a clock allows it."""
    token = _running.set(clock)
    try:
        yield
    finally:
        _running.reset(token)


def a_call() -> contextlib.AbstractContextManager[None]:
    """Around each call of forward or of backward; raises TimeIsOver where a clock allows none."""
    clock = _running.get()
    return contextlib.nullcontext() if clock is None else clock.call()


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
