"""What an entry of the list of equivalent mutants says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """Changes of one right answer of the gallery that are no fault, and why."""

    exercise: str
    answer: str
    why: str
    changes: tuple[str, ...]

    def fits(self, exercise: str, answer: str, change: str) -> bool:
        return (exercise, answer) == (self.exercise, self.answer) and any(
            change.startswith(known[:-1]) if known.endswith("…") else change == known
            for known in self.changes
        )
