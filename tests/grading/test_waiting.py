"""What the time of a whole notebook did not suffice for waits; what had been asked keeps its verdict."""

from __future__ import annotations

import nbformat

from autograder.grading import box
from autograder.grading.box import Box, Limits, Lost, Outcome, Step, Walls
from autograder.grading.box.job import NOT_REACHED
from autograder.grading.marking import How, Mark, mark, plan
from autograder.learner.lesson import LessonFiles, read_lesson
from autograder.running.program import Piece
from tests.grading.batches import SIGMOID, SQUARE, notebook

LESSON = read_lesson(LessonFiles("lesson", notebook({"Square": SQUARE, "MySigmoid": SIGMOID})))
LIMITS = Limits(seconds=10.0)


def marked(lost: dict[str, Lost]) -> tuple[list[Mark], list[str]]:
    """A notebook of which these checks did not come to their end."""
    here = nbformat.from_dict(LESSON.notebook)

    how = How(3, limits=LIMITS)
    planned = plan(here, LESSON, how)
    checks = {one.exercise: i for i, one in enumerate(planned.asked)}
    outcome = Outcome(lost={checks[name]: how for name, how in lost.items()})
    return mark(here, LESSON, planned, outcome, how)


def waiting(found: tuple[list[Mark], list[str]]) -> set[str]:
    return {one.exercise for one in found[0] if one.points is None}


def test_what_was_not_reached_waits_and_what_took_its_own_time_does_not() -> None:
    found = marked({"Square": Lost("time"), "MySigmoid": NOT_REACHED})
    assert waiting(found) == {"MySigmoid"}
    assert "(10 s) ran out before these had been asked: MySigmoid." in found[1][-1]
    assert "--seconds 20" in found[1][-1]
    assert not [m.report for m in found[0] if m.exercise == "MySigmoid" and m.report]


def test_what_was_asked_when_all_time_ran_out_was_not_reached(monkeypatch) -> None:
    monkeypatch.setattr(box, "_GRACE", 0.2)
    deaf = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass"
    steps = [Step((Piece(name, deaf),)) for name in ("a", "b")]
    with Box(Limits(cell_seconds=60.0, seconds=0.5), Walls.none()) as made:
        assert made.run(steps).lost == {0: NOT_REACHED, 1: NOT_REACHED}
    with Box(Limits(cell_seconds=0.3, seconds=60.0), Walls.none()) as made:
        assert made.run(steps).lost == {0: Lost("time"), 1: Lost("time")}


def test_what_died_is_judged() -> None:
    found = marked({"Square": Lost("died"), "MySigmoid": Lost("died")})
    assert waiting(found) == set()
