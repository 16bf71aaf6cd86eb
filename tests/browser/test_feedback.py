"""Feedback pages in a real browser: readable for everybody, on any screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import axe_violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("learner", ["ada", "ben", "carla"])
def test_feedback_is_accessible(page: Any, real_class: Path, learner: str) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for lesson in ("01_template", "02_sigmoid"):
        page.goto((real_class / "feedback" / learner / lesson / f"{lesson}.html").as_uri())
        assert axe_violations(page) == []
    assert said == []  # the content security policy had nothing to refuse


def test_formulas_in_a_sentence_have_no_scroll_bars(page: Any, real_class: Path) -> None:
    page.goto((real_class / "feedback/ada/01_template/01_template.html").as_uri())
    scrolls = "elements => elements.map(e => getComputedStyle(e).overflowY)"
    within = page.locator("math:not([display=block])").evaluate_all(scrolls)
    alone = page.locator("math[display=block]").evaluate_all(scrolls)
    assert len(within) > 10
    assert set(within) == {"visible"}
    assert len(alone) > 1
    assert set(alone) == {"hidden"}


def test_feedback_fits_a_phone_and_its_links_lead_to_the_checks(
    page: Any, real_class: Path
) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto((real_class / "feedback/carla/02_sigmoid/02_sigmoid.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("navigation").get_by_role("link", name="MySigmoid, hidden check").click()
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top < 400")
    assert "MySigmoid, hidden check" in page.locator(":target").inner_text()
