"""`autograder summary`: one page about a class, for the instructor: what to teach again on Monday.

What it says is in templates/summary.html.j2.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from markupsafe import Markup
from nbgrader.coursedir import CourseDirectory

from autograder.explaining.pages import TITLES
from autograder.explaining.pages import page as explanation
from autograder.grading.class_overview import WAITS, Standing, by_reason, overview
from autograder.grading.database import reading
from autograder.grading.handed_in import lesson_files
from autograder.grading.kept_files import replace_file
from autograder.grading.marking import Mark
from autograder.grading.safe_text import safe_html, said_as_html
from autograder.grading.similar import Alike, alike, read_answers, seen_by_all
from autograder.grading.words import filled, printable

BINS = 10
MOST_WAITING = 20  # who are named one by one
MOST_NAMED = 200
_STYLE = Path(__file__).parent.parent / "reporting" / "static" / "summary.css"

RIGHT, NOT_STARTED = "right", "not started"  # what a check finds, or else a rule


@dataclass(frozen=True)
class ExerciseSummary:
    """How many learners' most complete checks of one exercise found what."""

    name: str
    found: Counter[str]

    @property
    def causes(self) -> list[tuple[str, int]]:
        """(rule, learners) of wrong answers, the most common first."""
        return [each for each in self.found.most_common() if each[0] not in (RIGHT, NOT_STARTED)]

    @property
    def wrong(self) -> int:
        return sum(count for _, count in self.causes)


@dataclass(frozen=True)
class Cause:
    """A rule that answers of a lesson break: how many learners do, and (exercise, learners) where."""

    rule: str
    learners: int
    exercises: list[tuple[str, int]]


@dataclass(frozen=True)
class LessonSummary:
    """How a class did in one lesson.

    found      what was handed in
    exercises  those that most answers are wrong in first
    causes     over all exercises, the most common first; a learner counts once
    alike      submissions alike enough that somebody should look at both
    nothing    who handed nothing in, of those that the gradebook knows
    points     what each graded submission got, late penalties taken off; max_points: of how many
    """

    name: str
    found: tuple[Standing, ...]
    exercises: tuple[ExerciseSummary, ...]
    causes: tuple[Cause, ...]
    alike: tuple[Alike, ...]
    nothing: tuple[str, ...]
    points: tuple[float, ...]
    max_points: float


def summarise(
    name: str, found: Sequence[Standing], pairs: Sequence[Alike] = (), nothing: Sequence[str] = ()
) -> LessonSummary:
    """What the standing of a class's submissions says about a lesson."""
    by_exercise: defaultdict[str, Counter[str]] = defaultdict(Counter)
    learners = Counter[str]()
    graded = [one for one in found if not one.is_to_grade]
    for one in graded:
        # One mark an exercise: that of the check which asks the most.
        marks = sorted(one.record.result.marks, key=lambda mark: mark.hidden)
        outcomes = {
            mark.exercise: _outcome(mark) for mark in marks if mark.exercise and mark.report
        }
        learners.update(sorted({*outcomes.values()} - {RIGHT, NOT_STARTED}))
        for exercise, outcome in outcomes.items():
            by_exercise[exercise][outcome] += 1
    exercises = [ExerciseSummary(*each) for each in by_exercise.items()]
    causes = (
        Cause(
            rule,
            n,
            Counter({e.name: e.found[rule] for e in exercises if rule in e.found}).most_common(),
        )
        for rule, n in learners.most_common()
    )
    return LessonSummary(
        name, tuple(found), tuple(sorted(exercises, key=lambda one: (-one.wrong, one.name))),
        tuple(causes), tuple(pairs), tuple(nothing),
        tuple(one.score.points for one in graded if one.is_final),
        max((one.score.max_points for one in graded), default=0.0),
    )  # fmt: skip


def _outcome(mark: Mark) -> str:
    return NOT_STARTED if mark.report.get("not_started") else mark.rule or RIGHT


def histogram(points: Iterable[float], most: float) -> tuple[int, ...]:
    """How many got 0–10 %, 10–20 %, …, 90–100 % (and more) of the points."""
    counts = [0] * BINS
    for one in points:
        share = one / most if most else 1.0
        counts[max(0, min(BINS - 1, int(share * BINS + 1e-9)))] += 1
    return tuple(counts)


def run_summary(options: argparse.Namespace, course: CourseDirectory) -> int:
    """Write the page, and say where it is."""
    path = write_summary(course, list(dict.fromkeys(options.lesson)), options.output)
    print(f"Written: {path} (open it in a browser; it is for instructors only)")
    return 0


def write_summary(
    course: CourseDirectory, lessons: Sequence[str] = (), output: Path | None = None
) -> Path:
    """Write the page, and give its path. Raises CannotWrite or NoLesson."""
    with reading(course) as connection:
        look = overview(course, connection, lessons)
    names = {
        one.id: one.id if one.name == one.id else f"{one.name} ({one.id})" for one in look.students
    }
    summaries = []
    for name in dict.fromkeys(one.lesson for one in look.found):
        found = [one for one in look.found if one.lesson == name]
        # Who copied the solution is named as such, and like each other anyway.
        students = [one.student for one in found if not (one.is_to_grade or one.copied)]
        pairs = alike(read_answers(course, name, students), seen_by_all(lesson_files(course, name)))
        nothing = [names[student] for student in look.without.get(name, ())]
        summaries.append(summarise(name, found, pairs, nothing))
    path = output or Path(course.root, "grading", "summary.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    replace_file(
        path,
        page(summaries, when, sorted(names[one] for one in look.never)).encode("utf-8", "replace"),
        0o600,
    )
    return path


def page(summaries: Sequence[LessonSummary], when: str, never: Sequence[str] = ()) -> str:
    """The whole page. Names and reasons are a learner's text: every one of them is escaped."""
    style = _STYLE.read_text(encoding="utf-8")
    rules = sorted({cause.rule for one in summaries for cause in one.causes} & TITLES.keys())
    return filled(
        "summary.html.j2", summaries=summaries, when=when, style=style, titles=TITLES,
        most_named=MOST_NAMED, most_waiting=MOST_WAITING, waits=WAITS, histogram=histogram, median=median,
        by_reason=by_reason,
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        never=never,
        said=lambda reason: Markup(said_as_html(printable(reason))),
        meanings={rule: Markup(_meaning(rule)) for rule in rules},
    )  # fmt: skip


def _meaning(rule: str) -> str:
    """What a rule means: the beginning of its explanation page."""
    beginning = explanation(rule).split("\n## ")[0].partition("\n")[2]
    return safe_html(beginning.replace(f"**{TITLES.get(rule)}**", ""))
