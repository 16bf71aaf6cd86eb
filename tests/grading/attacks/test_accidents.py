"""Honest work keeps its marks, whatever happened to it on its way."""

from __future__ import annotations

import nbformat
import pytest

from tests.conftest import of_today
from tests.grading.attacks.accidents import ACCIDENTS, Accident
from tests.grading.attacks.grading import everything_in, graded
from tests.grading.attacks.lesson import FULL, WRONG, handed_in
from tests.grading.walls import needs_walls

pytestmark = needs_walls


@pytest.mark.parametrize("accident", of_today(ACCIDENTS, 3), ids=lambda accident: accident.name)
def test_an_accident_costs_nothing(accident: Accident):
    result = graded(accident.notebook())
    assert result.reasons == ()
    assert not result.reasons
    assert result.score == FULL
    everything_in(result).encode()
    nbformat.validate(nbformat.reads(result.notebook, as_version=4))


def is_about_an_answer(accident: Accident) -> bool:
    return bool(accident.answers) or "answer" in accident.name or "attempt" in accident.name


@pytest.mark.parametrize(
    "accident",
    of_today([a for a in ACCIDENTS if not is_about_an_answer(a)], 3),
    ids=lambda a: a.name,
)
def test_an_accident_gains_nothing(accident: Accident):
    """The same things happen to wrong answers, too."""
    wrong = Accident(accident.name, accident.before, accident.after, WRONG, accident.change)
    assert graded(wrong.notebook()).score == 0.0


def test_wrong_answers_without_an_accident_gain_nothing_either():
    assert graded(handed_in()).score == 0.0
