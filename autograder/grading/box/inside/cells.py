"""Runs what a submission's answers need and puts the questions to what it defines.

Nothing here judges. What is said goes out at once, step by step, so that a process that dies has
said how far it came.
"""

from __future__ import annotations

import io
import pickle
import random
import signal
import socket
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, astuple, dataclass
from types import SimpleNamespace
from typing import Any

import torch

from autograder.observation.observation import Observation, Question
from autograder.observation.packing import from_bytes, to_bytes
from autograder.running.function_classes import derivatives_taken
from autograder.running.probe import probe
from autograder.running.program import Piece, new_space, run
from autograder.running.submission import INSTANCE, kind_of

# Messages on a socket: one byte for the kind, eight for the length, then the bytes.

HEADER = 9
# What a submission's process says before it has read anything of the submission …
READY, NO_WALL = b"r", b"w"
# … and after that. Everything else is no message.
STARTS, ANSWER, END = b"s", b"a", b"e"


@dataclass(frozen=True)
class Step:
    """What is asked of a submission in one go: it begins with nothing defined.

    pieces     what runs, one after the other
    exercise   what the questions are put to; "" where there are none: then it is told what was said
    questions  packed with ``packing.to_bytes``
    """

    pieces: tuple[Piece, ...]
    exercise: str = ""
    questions: bytes = b""


@dataclass(frozen=True)
class Said:
    """What a step printed, and the error that stopped its last piece ("" for none)."""

    text: str = ""
    error: str = ""
    message: str = ""
    place: str = ""


class Closed(EOFError):
    """The other side is gone before its message was complete."""


class TooLong(ValueError):
    """A message, or all messages together, above the limit."""


class Late(TimeoutError):
    """Nothing came in time."""


def send(to: socket.socket, kind: bytes, data: bytes = b"") -> None:
    """Send one message."""
    to.sendall(kind + len(data).to_bytes(8, "little") + data)


def receive(
    source: socket.socket, limit: int, deadline: float | None = None
) -> tuple[bytes, bytes]:
    """The next message; ``deadline`` is a time.monotonic(). Raises Closed, TooLong or Late.

    The length is looked at before anything is allocated.
    """
    head = _exactly(source, HEADER, deadline)
    size = int.from_bytes(head[1:], "little")
    if size > limit:
        raise TooLong(f"a message of {size} bytes, where {limit} are left")
    return head[:1], _exactly(source, size, deadline)


def _exactly(source: socket.socket, size: int, deadline: float | None) -> bytes:
    parts, missing = [], size
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            source.settimeout(left)
        try:
            part = source.recv(min(missing, 1 << 20))
        except TimeoutError:
            raise Late from None
        except ConnectionError:
            raise Closed from None
        if not part:
            raise Closed
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


# ---- the submission ---------------------------------------------------------------------------

_LARGEST = 256 * 2**20  # bytes that the grader sends


class Bounded(io.TextIOBase):
    """Keeps the first characters of what is written to it."""

    def __init__(self, limit: int):
        self.text, self._left = "", limit

    def write(self, text: str) -> int:
        cut = "\n… (cut)" if len(text) > self._left >= 0 else ""
        self.text += text[: max(0, self._left)] + cut
        self._left -= len(text)
        return len(text)


def take_steps(
    to: socket.socket, limits: dict[str, float], experiments: dict[str, dict[str, Any]]
) -> None:
    """Read the steps of one notebook and take them one after the other."""
    for step in pickle.loads(receive(to, _LARGEST)[1]):
        send(to, STARTS)
        torch.manual_seed(0)
        random.seed(0)
        send(to, ANSWER, _answer(step, limits, experiments.get(step.exercise, {})))
    send(to, END)


def _answer(step: Step, limits: dict[str, float], experiments: dict[str, Any]) -> bytes:
    space, name = new_space(), step.exercise
    out = Bounded(int(limits["text"]))
    with _interrupted_after(limits["cell_seconds"]):
        with derivatives_taken() as taken, redirect_stdout(out), redirect_stderr(out):
            stops = run(step.pieces, space)
        if not name:
            last = [astuple(one)[1:] for one in stops if one.cell == step.pieces[-1].cell]
            return to_bytes(Said(out.text, *(last[-1] if last else ())))
        if name not in space:
            how = str(stops[-1]) if stops else ""
            return to_bytes(Observation(facts={"kind": None, "stopped": how}))
        value = space[name]
        kind = kind_of(value)
        observation = Observation()
        if kind.callable and kind.what != INSTANCE:
            scenarios = {title: SimpleNamespace(run=made) for title, made in experiments.items()}
            # A cell may have switched gradients off; check() switches them on, too.
            with torch.enable_grad():
                observation = probe(
                    value, from_bytes(step.questions, expect=list[Question]), scenarios
                )
    observation.facts |= {"kind": asdict(kind), "set_up": bool(taken)}
    try:
        return to_bytes(observation)
    except Exception as error:  # values of a kind that cannot be told: a finding, not an end
        facts = {"kind": asdict(kind), "untold": f"{type(error).__name__}: {error}"[:300]}
        return to_bytes(Observation(facts=facts))


@contextmanager
def _interrupted_after(seconds: float) -> Any:
    """Interrupts, as a person would, what takes too long; again each second if that is caught."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
