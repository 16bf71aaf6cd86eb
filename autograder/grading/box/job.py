"""What is put into the box for one submission, and what comes out of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields

from autograder.packing import writable

_LONGEST_CHARACTER = 12  # bytes, as JSON writes what is outside of Unicode's first plane
_BESIDES = 3000  # characters that a cell says besides what it prints: its error, and where


@dataclass(frozen=True)
class Run:
    """A cell to run. ``name`` is for people, and names the cell in error messages."""

    name: str
    source: str


@dataclass(frozen=True)
class Check:
    """A graded cell: questions to put to what is called ``exercise`` at this place.

    questions  packed with ``packing.to_bytes``
    """

    name: str
    exercise: str
    questions: bytes


@dataclass(frozen=True)
class Job:
    """The steps of one submission, in the notebook's order."""

    steps: tuple[Run | Check, ...]

    def as_messages(self, leave_out: frozenset[int] = frozenset()) -> list[bytes]:
        """A table of the steps, then the questions of each Check that is left in."""
        table, packs = [], []
        for index, step in enumerate(self.steps):
            if index in leave_out:
                continue
            if isinstance(step, Run):
                table.append({"index": index, "name": step.name, "source": step.source})
            else:
                table.append({"index": index, "name": step.name, "exercise": step.exercise})
                packs.append(step.questions)
        return [json.dumps(table).encode(), *packs]


@dataclass(frozen=True)
class Said:
    """What a cell printed, and the error that stopped it ("" for none)."""

    text: str = ""
    error: str = ""
    message: str = ""
    place: str = ""

    @classmethod
    def read(cls, data: bytes, limit: int) -> Said:
        """What a cell said, cut where it says more; ValueError for what is no such message."""
        if len(data) > _LONGEST_CHARACTER * (limit + _BESIDES):
            raise ValueError(f"{len(data)} bytes are more than a cell says")
        try:
            given = json.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        names = [f.name for f in fields(cls)]
        if not isinstance(given, dict) or not all(isinstance(given.get(n, ""), str) for n in names):
            raise ValueError("not what a cell says")
        return cls(**{n: writable(given.get(n, "")[: limit + 20]) for n in names})


@dataclass(frozen=True)
class Lost:
    """A step that did not come to its end.

    why  "time", "died" (the process ended in it), "memory" or "output"
    """

    why: str
    detail: str = ""

    def __str__(self) -> str:
        words = {
            "time": "it did not come to its end in time",
            "died": "the process ended while it ran",
            "memory": "it used more memory than there is",
            "output": "it gave more than can be taken",
        }
        return words[self.why] + (f" ({self.detail})" if self.detail else "")


@dataclass
class Outcome:
    """What came out of the box, by the index of the step.

    said     of the cells that ran
    answers  of the checks, as bytes nobody has looked at yet
    lost     of the steps that never came to their end
    seconds  from the first byte in to the last one out
    """

    said: dict[int, Said] = field(default_factory=dict)
    answers: dict[int, bytes] = field(default_factory=dict)
    lost: dict[int, Lost] = field(default_factory=dict)
    seconds: float = 0.0
