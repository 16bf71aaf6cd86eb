"""In formgrader, a person grades what could not be read; grading again keeps what they gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_formgrader import open_submission
from tests.grading.gradebooks import CONFIG, LESSON, contents, grade_as, make_course

PAGES = CONFIG + "from autograder.grading.config import configure\nconfigure(c, 'pages')\n"
WHY = "The file is no JSON: it was cut short </pre><script>window.pwned = 1</script>."


@pytest.mark.browser
@pytest.mark.slow
def test_an_unreadable_submission_is_graded_by_hand(
    page: Page, lab_server: Any, tmp_path: Path
) -> None:
    course = make_course(tmp_path / "course", config=PAGES)
    unreadable = {"notebook": "", "answered": (), "reasons": (WHY,)}
    grade_as(course, "ben", (None, None), **unreadable)
    with lab_server(Path(course.root)) as lab:
        lab.sign_in(page)
        open_submission(page, lab, Path(course.root), "ben", LESSON)
        expect(page.get_by_text("could not be graded automatically")).to_be_visible()
        expect(page.get_by_text("it was cut short </pre><script>")).to_be_visible()
        assert page.evaluate("window.pwned") is None
        scores = page.locator("input.score")
        expect(scores).to_have_count(2)
        with page.expect_response(lambda answer: answer.request.method == "PUT"):
            scores.nth(1).fill("2.5")
            scores.nth(1).press("Tab")
    key = ("grade", "ben", LESSON, LESSON, "double-hidden")
    assert contents(course)[key] == (None, 2.5, None, False)
    grade_as(course, "ben", (None, None), **unreadable)
    # The same result once more: the points that a person gave stay, and nobody has to look again.
    assert contents(course)[key] == (None, 2.5, None, False)
