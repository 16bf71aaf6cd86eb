"""Whatever a submission sends to the grader harms nobody, itself least of all where it is right."""

from __future__ import annotations

import pytest

from autograder.grading import box as box_module
from autograder.grading import marking
from tests.grading.attacks.grading import assert_neighbour_unharmed, everything_in, graded
from tests.grading.attacks.lesson import EACH, RIGHT, handed_in, needing
from tests.grading.attacks.messages import MESSAGES, talking
from tests.grading.walls import needs_walls

pytestmark = needs_walls
CUTS_ITSELF_OFF = ("the end, and then staying", "more steps than there are")


@pytest.mark.parametrize("name", MESSAGES)
def test_a_forged_message_costs_its_own_exercise_only(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(marking, "concerns_in", lambda *given: [])
    monkeypatch.setattr(box_module, "_GRACE", 1.0)
    result = graded(
        handed_in(RIGHT | {"Square": needing(talking(MESSAGES[name]), RIGHT["Square"])})
    )
    everything_in(result).encode()  # it can be written to a file
    # What it cut off itself by saying that it was done is lost; the rest is not.
    assert result.score == (0.0 if name in CUTS_ITSELF_OFF else EACH)
    assert_neighbour_unharmed()
