"""How far a command is, while it works."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TextIO

_LENGTH = 24


class Bar:
    """A progress bar in a terminal; elsewhere a line now and then."""

    def __init__(self, out: TextIO):
        self._out, self._said, self._began = out, 0, time.monotonic()
        self._is_open = False
        self._first = 0.0  # seconds until the first result: workers have to get ready

    def show(self, done: int, total: int) -> None:
        """So many of so many are done."""
        if not total:
            return
        text, share = f"{done}/{total}  {self._speed(done, total)}", done / total
        if self._out.isatty():
            self._is_open = True
            bar = "█" * int(share * _LENGTH)
            print(f"\r\x1b[K{bar:░<{_LENGTH}} {text}", end="", file=self._out, flush=True)
        elif int(share * 10) > self._said:
            print(text, file=self._out, flush=True)
        self._said = int(share * 10)

    def _speed(self, done: int, total: int) -> str:
        if not done:
            return "getting ready"
        seconds = time.monotonic() - self._began
        self._first = self._first or seconds
        passed = seconds - self._first
        if done < 2 or not passed:
            return f"the first after {self._first:.0f} s"
        rate = (done - 1) / passed
        left = timedelta(seconds=round((total - done) / rate))
        return f"{rate:.1f} a second  {left} left"

    def end(self) -> None:
        """Leave the bar where it is and begin a new line."""
        if self._is_open:
            print(file=self._out)
