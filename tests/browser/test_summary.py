"""The summary of a class in a real browser: readable for everybody, in both colour schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autograder.grading.summary import write_summary
from tests.browser.axe import axe_violations
from tests.grading.gradebooks import make_course
from tests.grading.test_summary import a_class

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def summary_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = make_course(tmp_path_factory.mktemp("summary") / "course")
    a_class(course)
    return write_summary(course)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_summary_is_accessible(page: Any, summary_page: Path, scheme: str, width: int) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(summary_page.as_uri())
    page.locator("summary").first.click()
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert said == []  # the content security policy had nothing to refuse
