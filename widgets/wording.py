"""Tensors in a few words: their numbers, shape, size in memory."""

import math
from typing import Any

from autograder.learner.name_help import unwritten
from widgets.trace import Snapshot

MOST, LETTERS = 12, 60  # a tensor of at most so many numbers and letters is written out
SHOWN = 4  # values of any other
SAID = 160  # letters of an error's message


def number(value: float | int | bool | complex) -> str:
    """At most four significant digits, with a true minus sign: "−0.25", "3", "nan"."""
    if isinstance(value, bool | complex):
        return str(value)
    if isinstance(value, int):
        return str(value).replace("-", "−")
    if math.isfinite(value) and value == int(value) and abs(value) < 1e5:
        return str(int(value)).replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def numbers(shot: Any) -> str:
    """The values of a recorded thing: "2", "[1, −2]", "[[1, 2], [3, 4]]", "[1, −2, 0.5, 3, …]", "None"."""
    if isinstance(shot, bool) or not isinstance(shot, Snapshot | int | float):
        return "None" if shot is None else str(shot)
    if not isinstance(shot, Snapshot):
        return number(shot)
    if shot.values is None:
        return f"shape {shape(shot)}"
    if shot.shape == ():
        return number(shot.values.item())
    count, across = math.prod(shot.shape), shot.shape[-1]
    values = [number(v) for v in shot.values.reshape(-1)[:MOST].tolist()]
    if not count:
        return f"[] of shape {shape(shot)}"
    rows = ["[" + ", ".join(values[i : i + across]) + "]" for i in range(0, len(values), across)]
    text = rows[0] if len(shot.shape) == 1 else "[" + ", ".join(rows) + "]"
    if count <= len(values) and len(text) <= LETTERS:
        return text
    if len(shot.shape) > 1 and across <= SHOWN:
        return f"[{rows[0]}, …]"
    return "[" + ", ".join([*values[:SHOWN], "…"]) + "]"


def shape(shot: Snapshot) -> str:
    """ "(3, 4)", "(5)" and, for a single number, "()"."""
    return "(" + ", ".join(map(str, shot.shape)) + ")"


def size(count: int) -> str:
    """Bytes in words: "24 bytes", "1.5 KiB"."""
    if count < 10_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    return f"{count / 1024:.1f} KiB" if count < 2**20 else f"{count / 2**20:.1f} MiB"


def stopped(error: Exception, name: str = "") -> str:
    """How a run ended that a widget was to show: "is not written yet …", "stops: ValueError: …".

    name  what ran; it may need an exercise of another name that is not written
    """
    first = str(error).splitlines()[0][:SAID].replace("`", "'") if str(error).strip() else ""
    kind = type(error).__name__
    if isinstance(error, NotImplementedError) and not first:
        needed = unwritten(error)
        who = f"needs {needed}, which" if name and needed not in ("", name) else ""
        return f"{who} is not written yet ({kind}). Run this cell again when it is.".strip()
    return f"stops with {kind}: {first}" if first else f"stops with {kind}."
