"""Tensors in a few words: their numbers, shape, size in memory."""

import math
from typing import Any

from autograder.learner.name_help import unwritten
from autograder.running.trace import Snapshot

SHOWN = 4  # values of a tensor that are written out
BRIEF = 2  # … and where there is little room
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
    """The values of a recorded thing: "2" for one number, "[1, −2, 0.5, …]" for more; "None"."""
    if isinstance(shot, bool) or not isinstance(shot, Snapshot | int | float):
        return "None" if shot is None else str(shot)
    if not isinstance(shot, Snapshot):
        return number(shot)
    if shot.values is None:
        return f"shape {shape(shot)}"
    values = shot.values.reshape(-1).tolist()
    if shot.shape == ():
        return number(values[0])
    more = ["…"] if _count(shot) > SHOWN else []
    return "[" + ", ".join([*map(number, values[:SHOWN]), *more]) + "]"


def brief(shot: Any) -> str:
    """The same for the little room under a box: two values of three digits."""
    if not isinstance(shot, Snapshot) or shot.values is None:
        return numbers(shot)
    values = [float(v) for v in shot.values.reshape(-1)[:BRIEF].tolist()]
    words = [number(float(f"{v:.3g}")) for v in values]
    if shot.shape == ():
        return words[0]
    return "[" + ", ".join(words + (["…"] if _count(shot) > BRIEF else [])) + "]"


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


def _count(shot: Snapshot) -> int:
    return math.prod(shot.shape)
