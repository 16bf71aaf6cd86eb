"""`autograder summary`: one page about a class, for the instructor: what to teach again on Monday."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from autograder.grading.class_overview import WAITS, Standing
from autograder.grading.class_words import by_reason
from autograder.grading.result import Mark
from autograder.grading.similar import Alike

BINS = 10
MOST_WAITING = 20  # who are named one by one


@dataclass(frozen=True)
class ExerciseSummary:
    """How a class did in one exercise, by its most complete check.

    causes  (rule, learners) of those whose answer is wrong, the most common first
    """

    name: str
    right: int
    not_started: int
    causes: tuple[tuple[str, int], ...]

    @property
    def wrong(self) -> int:
        return sum(count for _, count in self.causes)


@dataclass(frozen=True)
class Cause:
    """A rule that answers of a lesson break.

    learners   how many of them
    exercises  (exercise, learners) where they do, the most common first
    """

    rule: str
    learners: int
    exercises: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LessonSummary:
    """How a class did in one lesson.

    found      what was handed in
    histogram  how many got 0–10 %, …, 90–100 % of the points
    exercises  those that most answers are wrong in first
    causes     over all exercises, the most common first; a learner counts once
    alike      submissions alike enough that somebody should look at both
    nothing    who handed nothing in, of those that the gradebook knows
    """

    name: str
    found: tuple[Standing, ...]
    exercises: tuple[ExerciseSummary, ...]
    causes: tuple[Cause, ...]
    alike: tuple[Alike, ...] = ()
    nothing: tuple[str, ...] = ()

    @property
    def handed_in(self) -> int:
        return len(self.found)

    @property
    def graded(self) -> int:
        return sum(one.is_final for one in self.found)

    @property
    def to_grade(self) -> int:
        return sum(one.is_to_grade for one in self.found)

    @property
    def waiting(self) -> list[Standing]:
        return [one for one in self.found if one.state == WAITS]

    @property
    def copies(self) -> list[str]:
        """Who handed in the course's own solution."""
        return [one.student for one in self.found if one.copied]

    @property
    def waiting_named(self) -> list[Standing]:
        """Those who wait, where they are few; otherwise `reasons` has them."""
        return self.waiting if len(self.waiting) <= MOST_WAITING else []

    @property
    def reasons(self) -> list[tuple[str, list[str]]]:
        """Where many wait: (reason, students), the most common first."""
        return [] if self.waiting_named else by_reason(self.waiting)

    @property
    def points(self) -> list[float]:
        """What each graded submission got, late penalties taken off."""
        return [one.score.points for one in self.found if one.score is not None and one.is_final]

    @property
    def max_points(self) -> float:
        scored = (one.score for one in self.found if not one.is_to_grade)
        return max((score.max_points for score in scored if score), default=0.0)

    @property
    def histogram(self) -> tuple[int, ...]:
        return histogram(self.points, self.max_points)

    @property
    def median(self) -> float:
        return median(self.points) if self.points else 0.0


def summarise(
    name: str,
    found: Sequence[Standing],
    pairs: Sequence[Alike] = (),
    nothing: Sequence[str] = (),
) -> LessonSummary:
    """What the standing of a class's submissions says about a lesson."""
    marks = [
        one.record.result.marks
        for one in found
        if not one.is_to_grade and one.score is not None and one.record is not None
    ]
    exercises = sorted(_exercises(marks), key=lambda one: (-one.wrong, one.name))
    return LessonSummary(
        name, tuple(found), tuple(exercises), _root_causes(marks), tuple(pairs), tuple(nothing)
    )


def histogram(points: Iterable[float], most: float) -> tuple[int, ...]:
    """How many got 0–10 %, 10–20 %, …, 90–100 % (and more) of the points."""
    counts = [0] * BINS
    for one in points:
        share = one / most if most else 1.0
        counts[max(0, min(BINS - 1, int(share * BINS + 1e-9)))] += 1
    return tuple(counts)


def _exercises(marks: Iterable[Sequence[Mark]]) -> tuple[ExerciseSummary, ...]:
    right, not_started = Counter[str](), Counter[str]()
    causes: dict[str, list[set[str]]] = {}
    for given in marks:
        for mark in _complete(given):
            causes.setdefault(mark.exercise, []).append(set(_causes([mark])))
            right[mark.exercise] += bool(mark.report.get("passed"))
            not_started[mark.exercise] += bool(mark.report.get("not_started"))
    return tuple(
        ExerciseSummary(name, right[name], not_started[name], _most_common(found))
        for name, found in causes.items()
    )


def _root_causes(marks: Iterable[Sequence[Mark]]) -> tuple[Cause, ...]:
    learners, places = Counter[str](), dict[str, Counter[str]]()
    for given in marks:
        broken = {(mark.rule, mark.exercise) for mark in given if _causes([mark])}
        learners.update({rule for rule, _ in broken})
        for rule, exercise in broken:
            places.setdefault(rule, Counter())[exercise] += 1
    return tuple(Cause(rule, count, _ordered(places[rule])) for rule, count in _ordered(learners))


def _complete(marks: Sequence[Mark]) -> list[Mark]:
    """One mark an exercise: that of the check which asks the most."""
    found: dict[str, Mark] = {}
    for mark in marks:
        if mark.exercise and mark.report and (mark.hidden or mark.exercise not in found):
            found[mark.exercise] = mark
    return list(found.values())


def _causes(marks: Sequence[Mark]) -> list[str]:
    return [mark.rule for mark in marks if mark.rule and not mark.report.get("not_started")]


def _most_common(found: Iterable[set[str]]) -> tuple[tuple[str, int], ...]:
    return _ordered(Counter(rule for rules in found for rule in rules))


def _ordered(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
