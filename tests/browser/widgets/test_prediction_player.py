"""A prediction as a learner meets it: one click or one letter, and nothing is given away."""

import pytest

from tests.browser.axe import axe_violations
from widgets.live import script
from widgets.prediction import Prediction
from widgets.quiz_data import load_prediction

pytestmark = pytest.mark.browser


def make():
    return Prediction("round", load_prediction("round"))


def pressed(page):
    return [one.get_attribute("aria-pressed") for one in page.get_by_role("button").all()]


def test_one_click_answers(play):
    page = play(make())
    page.get_by_role("button").nth(2).click()
    assert pressed(page) == ["false", "false", "true"]
    assert page.evaluate("() => model.get('chosen')") == 2
    assert page.get_by_role("status").inner_text() == "You say c. Now run the next cell."


def test_one_letter_answers_and_other_keys_do_not(play):
    page = play(make())
    page.keyboard.press("Tab")
    for key in ("z", "d", "Control+b"):
        page.keyboard.press(key)
    assert pressed(page) == ["false"] * 3
    page.keyboard.press("b")
    assert pressed(page) == ["false", "true", "false"]
    assert page.evaluate("() => document.activeElement.textContent") == "b 0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_asked_for(play, outside, scheme):
    page = play(make(), colour_scheme=scheme)
    page.get_by_role("button").first.click()
    assert axe_violations(page) == []
    assert outside(page) == []
    assert len(script("prediction.js").encode()) <= 30_000
