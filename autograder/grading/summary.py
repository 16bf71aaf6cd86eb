"""`autograder summary`: one page about a class, for the instructor: what to teach again on Monday."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from autograder.grading.result import Mark
from autograder.grading.similar import Alike
from autograder.grading.standing import CHANGED, GRADED, UNGRADED, WAITS, Standing

BINS = 10


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

    points     what each graded submission got, late penalties taken off
    histogram  how many got 0–10 %, …, 90–100 % of the points
    causes     over all exercises, the most common first; a learner counts once
    alike      submissions alike enough that somebody should look at both
    nothing    who handed nothing in, of those that the gradebook knows
    """

    name: str
    handed_in: int
    graded: int
    to_grade: int
    points: tuple[float, ...]
    max_points: float
    histogram: tuple[int, ...]
    exercises: tuple[ExerciseSummary, ...]
    causes: tuple[Cause, ...]
    waiting: tuple[Standing, ...]
    alike: tuple[Alike, ...] = ()
    nothing: tuple[str, ...] = ()

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
    scored = [one for one in found if one.state in (GRADED, WAITS) and one.score is not None]
    final = [one.score for one in scored if one.score is not None and one.state == GRADED]
    points = tuple(score.points for score in final)
    most = max((one.score.max_points for one in scored if one.score), default=0.0)
    marks = [one.record.result.marks for one in scored if one.record is not None]
    return LessonSummary(
        name,
        len(found),
        sum(one.state == GRADED for one in found),
        sum(one.state in (CHANGED, UNGRADED) for one in found),
        points,
        most,
        histogram(points, most),
        _exercises(marks),
        _root_causes(marks),
        tuple(one for one in found if one.state == WAITS),
        tuple(pairs),
        tuple(nothing),
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
