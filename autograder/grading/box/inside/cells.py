"""Runs a submission's cells in IPython and puts the questions to what they define.

Nothing here judges. What is said goes out at once, step by step, so that a process that dies has
said how far it came.
"""

from __future__ import annotations

import io
import json
import random
import re
import signal
import socket
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets.config import Config

from autograder.containment import failure_from
from autograder.grading.box.inside import frames
from autograder.observation import Observation
from autograder.packing import from_bytes, to_bytes
from autograder.probe import probe
from autograder.submission import INSTANCE, kind_of

_CELL = re.compile(r"^(<ipython-input-|/tmp/ipykernel)")
_MESSAGES = 64 * 2**20  # bytes of one message that the grader sends
# Magics that need a page to draw on or a program to start: without one they would end their cell.
_NOT_NEEDED = frozenset({"matplotlib", "conda", "mamba"})
# Cell magics that give their text to another program.
_SCRIPTS = frozenset({
    "!", "bash", "cmd", "perl", "pypy", "python", "python2", "python3", "ruby", "script", "sh", "sx",
    "system",
})  # fmt: skip


class Shell(InteractiveShell):
    """IPython without a terminal, a history file, or the means to start programs."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Errors are told in the grader's words."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Likewise."""

    def system(self, cmd: str) -> None:
        """What `!command` does."""
        print("Commands of the shell are not run while a notebook is graded.")

    def getoutput(self, cmd: str, *args: Any, **kwargs: Any) -> SList:
        """What `x = !command` does: x is as after a command that printed nothing."""
        self.system(cmd)
        return SList()

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """What `%magic` does; nothing where that is about the notebook's page or its environment."""
        if magic_name in _NOT_NEEDED:
            return None
        return super().run_line_magic(magic_name, line, _stack_depth + 1)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """What `%%magic` does; nothing where the cell is another program's text."""
        if magic_name in _SCRIPTS:
            return self.system(cell)
        return super().run_cell_magic(magic_name, line, cell)


def make_shell() -> Shell:
    """The one shell of a warm process; children get their own copy by forking."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.cache_size = 0
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.automagic = False  # a line that is a magic says so: %cd, not cd
    return Shell.instance(config=config)


class Bounded(io.TextIOBase):
    """Keeps the first characters of what is written to it."""

    def __init__(self, limit: int):
        self._parts: list[str] = []
        self._left, self._cut = limit, False

    def write(self, text: str) -> int:
        if self._left > 0:
            self._parts.append(text[: self._left])
        self._cut = self._cut or len(text) > self._left
        self._left -= min(len(text), self._left)
        return len(text)

    def isatty(self) -> bool:
        return False

    def text(self) -> str:
        return "".join(self._parts) + ("\n… (cut)" if self._cut else "")


class Submission:
    """One notebook, step by step."""

    def __init__(
        self, shell: InteractiveShell, to: socket.socket, limits: dict[str, float],
        experiments: dict[str, dict[str, Any]],
    ):  # fmt: skip
        self._shell, self._to, self._limits = shell, to, limits
        self._experiments = experiments

    def run(self) -> None:
        """Read the steps and take them one after the other."""
        torch.manual_seed(0)
        random.seed(0)
        table = json.loads(self._message())
        packs = [self._message() for step in table if "exercise" in step]
        for step in table:
            frames.send(self._to, frames.STARTS, str(step["index"]).encode())
            if "exercise" in step:
                kind, data = frames.ANSWER, self._answer(step["exercise"], packs.pop(0))
            else:
                kind, data = frames.SAID, json.dumps(self._cell(step["source"])).encode()
            frames.send(self._to, kind, data)
        frames.send(self._to, frames.END)

    def _message(self) -> bytes:
        return frames.receive(self._to, _MESSAGES)[1]

    def _cell(self, source: str) -> dict[str, str]:
        out = Bounded(int(self._limits["text"]))
        with redirect_stdout(out), redirect_stderr(out), self._interrupted_in_time():
            try:
                result = self._shell.run_cell(source, store_history=False, silent=False)
                error = result.error_before_exec or result.error_in_exec
            except BaseException as stopped:  # a hook of the cell's own may raise anything
                error = stopped
        sys.stdout.flush()
        if error is None:
            return {"text": out.text()}
        files = frozenset(f for f in _files_of(error) if _CELL.match(f))
        failure = failure_from(error, "cell", files)
        place = f"line {failure.line}: {failure.source}" if failure.line and files else ""
        message = failure.message[:1000]
        if isinstance(error, SyntaxError) and error.lineno:
            place = f"line {error.lineno}: {(error.text or '').strip()[:200]}"
            message = str(error.msg)[
                :1000
            ]  # str(error) names a file that the learner does not know
        return {"text": out.text(), "error": failure.kind, "message": message, "place": place}

    def _answer(self, name: str, pack: bytes) -> bytes:
        if name not in self._shell.user_ns:
            return to_bytes(Observation(facts={"kind": None}))
        value = self._shell.user_ns[name]
        kind = kind_of(value)
        observation = Observation()
        if kind.callable and kind.what != INSTANCE:
            scenarios = {
                title: SimpleNamespace(run=run)
                for title, run in self._experiments.get(name, {}).items()
            }
            # A cell may have switched gradients off and left it at that; check() switches them on, too.
            with torch.enable_grad(), self._interrupted_in_time():
                observation = probe(value, from_bytes(pack), scenarios)
        observation.facts["kind"] = asdict(kind)
        try:
            return to_bytes(observation)
        except Exception as error:  # values of a kind that cannot be told: a finding, not an end
            facts = {"kind": asdict(kind), "untold": f"{type(error).__name__}: {error}"[:300]}
            return to_bytes(Observation(facts=facts))

    @contextmanager
    def _interrupted_in_time(self) -> Any:
        """Interrupts, as a person would, what takes too long; again each second if that is caught."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, self._limits["cell_seconds"], 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _files_of(error: BaseException) -> set[str]:
    found, trace = set(), error.__traceback__
    while trace is not None:
        found.add(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return found
