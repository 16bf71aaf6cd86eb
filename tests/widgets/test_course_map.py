"""The map of the start page: a station for each lesson, and where the learner is."""

import re
from dataclasses import dataclass

from autograder.contract.promises import Line
from autograder.exercises import LESSONS, lesson_exercises
from autograder.learner.progress import BEGUN, COMPLETE, TO_DO, record_check
from widgets.figures import course_map
from widgets.figures.course_map import STATIONS, drawing, state_of_lesson


@dataclass
class Passed:
    exercise: str
    passed: bool = True
    promises: tuple[Line, ...] = ()


def test_every_lesson_has_a_station_in_the_order_of_the_course():
    assert list(STATIONS) == list(LESSONS)


def test_a_lesson_is_begun_by_one_exercise_and_complete_with_all():
    first, *others = [exercise.name for exercise in lesson_exercises("01_template")]
    assert state_of_lesson("01_template") == TO_DO
    record_check(Passed(first))
    assert state_of_lesson("01_template") == BEGUN
    for name in others:
        record_check(Passed(name))
    assert state_of_lesson("01_template") == COMPLETE
    assert state_of_lesson("02_sigmoid") == TO_DO


def test_you_are_at_the_first_lesson_that_is_open():
    states = dict.fromkeys(STATIONS, TO_DO) | {"01_template": COMPLETE, "02_sigmoid": BEGUN}
    svg = drawing(states)
    assert svg.count("you are here") == 1
    assert svg.index("Save the output") < svg.index("you are here") < svg.index("One gradient")
    assert re.findall(r">(0\d[✓…]?)<", svg)[:3] == ["01✓", "02…", "03"]
    assert "you are here" not in drawing(dict.fromkeys(STATIONS, COMPLETE))


def test_its_text_says_the_same(capsys):
    course_map()
    told = capsys.readouterr().out
    assert f"0 of {len(STATIONS)} lessons done" in told
    for title, words in STATIONS.values():
        assert title in told
        assert words in told
