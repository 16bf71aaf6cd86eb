"""What the time of a whole notebook did not suffice for waits; what had been asked keeps its verdict."""

from __future__ import annotations

import nbformat

from autograder.grading.box import Job, Limits, Lost, Outcome, Run
from autograder.grading.box.job import NOT_REACHED
from autograder.grading.marking import CUT, How, Marked, mark
from autograder.learner.lesson import LessonFiles, read_lesson
from tests.grading.batches import SIGMOID, SQUARE, notebook

LESSON = read_lesson(LessonFiles("lesson", notebook({"Square": SQUARE, "MySigmoid": SIGMOID})))
LIMITS = Limits(seconds=10.0)


def marked(lost: dict[str, Lost], seconds: float) -> Marked:
    """A notebook of which these checks did not come to their end."""
    here = nbformat.from_dict(LESSON.notebook)

    def run(job: Job) -> Outcome:
        checks = {s.exercise: i for i, s in enumerate(job.steps) if not isinstance(s, Run)}
        return Outcome(lost={checks[name]: how for name, how in lost.items()}, seconds=seconds)

    return mark(here, LESSON, run, How(3, limits=LIMITS))


def waiting(found: Marked) -> set[str]:
    return {one.exercise for one in found.marks if one.points is None}


def test_what_was_not_reached_waits_and_what_took_its_own_time_does_not() -> None:
    found = marked({"Square": CUT, "MySigmoid": NOT_REACHED}, seconds=9.0)
    assert waiting(found) == {"MySigmoid"}
    assert "(10 s) ran out before these had been asked: MySigmoid." in found.reasons[-1]
    assert "--seconds 20" in found.reasons[-1]
    assert not [m.report for m in found.marks if m.exercise == "MySigmoid" and m.report]


def test_what_was_asked_when_all_time_ran_out_waits_too() -> None:
    found = marked({"Square": CUT, "MySigmoid": CUT}, seconds=10.5)
    assert waiting(found) == {"MySigmoid"}


def test_what_died_is_judged() -> None:
    found = marked({"Square": Lost("died"), "MySigmoid": Lost("died")}, seconds=10.5)
    assert waiting(found) == set()
