"""What grading one submission gives: plain data that travels between processes and machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Mark:
    """What one graded cell is worth and what it got.

    grade_id    the cell's name in the lesson and in the gradebook
    points      what it got; None: a person has to look (``Result.reasons`` says why)
    max_points  what the lesson gives for it
    exercise    the exercise it checks; "" for a cell that is graded by hand
    hidden      whether it is the cell whose numbers are hidden
    report      the full report as plain data (``Report.to_json``), evidence included: for instructors
    rule        the first finding's rule; "" where nothing was found
    found       what its check found it to be worth, also where a person has to look first
    """

    grade_id: str
    points: float | None
    max_points: float
    exercise: str = ""
    hidden: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    found: float | None = None

    @property
    def name(self) -> str:
        """What the cell is called, for people."""
        kind = "hidden" if self.hidden else "first"
        return f"{self.exercise}, {kind} check" if self.exercise else self.grade_id

    @property
    def waits(self) -> tuple[str, bool]:
        """Its exercise (or the cell), and whether a person has to look."""
        return self.exercise or self.grade_id, self.points is None

    def points_in_words(self, undecided: str) -> str:
        """What it got of how many points."""
        return undecided if self.points is None else f"{self.points:g} of {self.max_points:g}"


@dataclass(frozen=True)
class Result:
    """The outcome for one student's notebook of one lesson.

    notebook  the notebook nbgrader keeps in autograded/, as JSON (nbformat 4), sanitised; "" where
              what was handed in is no readable notebook
    marks     one for each graded cell of the lesson, in its order
    answered  grade_ids of the solution cells that differ from what was released
    reasons   sentences saying why a person has to look; empty where everything was graded
    content   hash of all that the outcome depends on (submission, lesson, course version, seed)
    seed      the batch's secret seed, which repeats these very checks; never shown to learners
    seconds   time by phase: read, box, judge, write
    copied    every answer is, word for word, that of the lesson's own solution
    """

    student: str
    lesson: str
    notebook: str
    marks: tuple[Mark, ...]
    answered: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    content: str = ""
    seed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    copied: bool = False

    @property
    def score(self) -> float:
        """Points of the cells that were graded automatically."""
        return sum(mark.points or 0.0 for mark in self.marks)

    @property
    def max_score(self) -> float:
        return sum(mark.max_points for mark in self.marks)


def part_of(cells: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
    """Of (name, whether it waits) those that wait, each once; empty where all do."""
    every = tuple(cells)
    waiting = tuple(dict.fromkeys(name for name, waits in every if waits))
    return waiting if not all(waits for _, waits in every) else ()
