"""Feedback pages: what a learner reads, and what no page holds."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder.grading import demo
from tests.build.mini_course import NAME

pytestmark = pytest.mark.slow

HIDDEN_WORDS = ("unseen_number", "BEGIN HIDDEN", "END HIDDEN")


def page(folder: Path, learner: str, lesson: str = NAME) -> BeautifulSoup:
    path = folder / "feedback" / learner / lesson / f"{lesson}.html"
    return BeautifulSoup(path.read_text(), "html.parser")


def what_it_loads_or_runs(soup: BeautifulSoup) -> list[str]:
    """Everything in a page that would run, or fetch from anywhere; links that wait to be clicked aside."""
    found = [
        tag.name for tag in soup.find_all(["script", "iframe", "object", "embed", "form", "base"])
    ]
    found += [str(tag) for tag in soup.find_all("link")]
    for tag in soup.find_all(True):
        for name, value in tag.attrs.items():
            if name.startswith("on"):
                found.append(f"{name}={value}")
            if name in ("src", "srcset", "data", "poster", "background") and not str(
                value
            ).startswith("data:image/"):
                found.append(f"{name}={value}")
            if name == "href" and urlsplit(value).scheme not in ("", "http", "https", "mailto"):
                found.append(f"{name}={value}")
    refresh = soup.find_all("meta", attrs={"http-equiv": "refresh"})
    return found + [str(tag) for tag in refresh]


def test_a_page_for_everybody(guarded_class: Path) -> None:
    for folder in (guarded_class / "submitted").iterdir():
        assert "Score" in page(guarded_class, folder.name).get_text()


def test_the_hidden_tests_source_is_not_shown(guarded_class: Path) -> None:
    for learner in ("right", "untouched", "wrong", "mallory"):
        text = page(guarded_class, learner).get_text()
        assert not any(word in text for word in HIDDEN_WORDS), learner
        assert "The hidden checks of double run here" in text


def test_what_went_wrong_is_said_without_the_line_it_went_wrong_in(guarded_class: Path) -> None:
    text = page(guarded_class, "wrong").get_text()
    assert "AssertionError: not for every number" in text
    assert "Score: 2.0 / 2.0" in text
    assert "Score: 0.0 / 3.0" in text


def test_stock_feedback_does_show_the_hidden_tests(stock_class: Path) -> None:
    text = page(stock_class, "right").get_text()
    assert all(word in text for word in HIDDEN_WORDS)


def test_pages_load_and_run_nothing(guarded_class: Path) -> None:
    for folder in (guarded_class / "submitted").iterdir():
        assert what_it_loads_or_runs(page(guarded_class, folder.name)) == [], folder.name


def test_stock_pages_load_mathjax_from_outside(stock_class: Path) -> None:
    found = what_it_loads_or_runs(page(stock_class, "right"))
    assert "script" in found
    assert any("cdnjs" in one for one in found)


def test_formulas_are_mathml(guarded_class: Path) -> None:
    soup = page(guarded_class, "right")
    assert [m.name for m in soup.find("math").find_all(["mi", "mo"])] == ["mi", "mo", "mi"]
    assert soup.find("mfrac") is not None
    assert "$" not in soup.find("h1").find_next("p").get_text()


def test_the_lessons_own_html_is_kept(guarded_class: Path) -> None:
    assert page(guarded_class, "right").find("b", string="all") is not None


def test_a_comment_by_the_instructor_is_on_the_page(guarded_class: Path, tmp_path: Path) -> None:
    course = shutil.copytree(guarded_class, tmp_path / "course")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "backward-by-hand") as gradebook:
        comment = gradebook.find_comment("double", NAME, NAME, "edited")
        comment.manual_comment = "Try $2x$, **really**. <script>no()</script>"
        gradebook.db.commit()
    command = ("-m", "nbgrader", "generate_feedback", NAME, "--student", "edited", "--force")
    demo.run(course, *command)
    soup = page(course, "edited")
    assert soup.find("strong", string="really") is not None
    assert what_it_loads_or_runs(soup) == []


def test_the_overview_says_where_a_person_decides(guarded_class: Path, tmp_path: Path) -> None:
    course = shutil.copytree(guarded_class, tmp_path / "course")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "backward-by-hand") as gradebook:
        waits = gradebook.find_grade("double-check", NAME, NAME, "wrong")
        waits.auto_score, waits.needs_manual_grade = None, True
        given = gradebook.find_grade("double-hidden", NAME, NAME, "wrong")
        given.manual_score, given.extra_credit, given.needs_manual_grade = 2.5, 0.25, False
        gradebook.db.commit()
    command = ("-m", "nbgrader", "generate_feedback", NAME, "--student", "wrong", "--force")
    demo.run(course, *command)
    assert page(course, "wrong").select_one(".total").get_text().endswith("/ 5.0, not final")
    rows = page(course, "wrong").select("nav tbody tr")
    said = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in rows]
    assert said == [
        ["double-check", "not final", "A person looks at this before it gets its points."],
        ["double-hidden", "2.75 / 3.0", "A person gave these points."],
    ]
