"""The page about a class: right numbers, and nothing in it that acts."""

from __future__ import annotations

import re
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.explaining.pages import TITLES
from autograder.grading.class_overview import Standing, standings
from autograder.grading.database import open_gradebook
from autograder.grading.marking import Mark, Result
from autograder.grading.records import Record
from autograder.grading.scores import Score
from autograder.grading.summary import histogram, page, summarise, write_summary
from tests.grading.gradebooks import LESSON, grade_as, hand_in, source_notebook

PASSED = {"passed": True, "findings": []}


def wrong(rule: str, not_started: bool = False) -> dict[str, Any]:
    return {"passed": False, "not_started": not_started, "findings": [{"rule": rule}]}


def a_class(course: Any) -> None:
    """Three right, two with a wrong sign (one already in the visible check), one with a wrong scale,
    one who never started, one for a person, one not graded."""
    for name in ("ada", "ben", "carla"):
        grade_as(course, name, reports=(PASSED, PASSED))
    grade_as(course, "dan", (2.0, 0.0), reports=(PASSED, wrong("gradient-sign")))
    sign = wrong("gradient-sign")
    grade_as(course, "eve", (0.0, 0.0), reports=(sign, sign))
    grade_as(course, "frank", (2.0, 0.0), reports=(PASSED, wrong("gradient-scale")))
    stub = wrong("raises", not_started=True)
    grade_as(course, "gina", (0.0, 0.0), reports=(stub, stub))
    grade_as(course, "h<script>alert(1)</script>".replace("/", "∕"), (None, None),
             reasons=("Line 3: `<img src=x onerror=alert(1)>`.",))  # fmt: skip
    hand_in(course, "iris")


def summary(course: Any) -> BeautifulSoup:
    return BeautifulSoup(write_summary(course).read_text(), "html.parser")


def table(soup: BeautifulSoup, caption: str) -> list[list[str]]:
    found = next(t for t in soup.find_all("table") if caption in t.caption.get_text())
    return [
        [cell.get_text(" ") for cell in row.find_all(["th", "td"])]
        for row in found.tbody.find_all("tr")
    ]


def test_numbers_are_right(small_course: Any) -> None:
    a_class(small_course)
    soup = summary(small_course)
    text = soup.get_text(" ")
    assert "9 handed in: 7 graded, 1 waiting for a person, 1 to be graded." in text
    assert "Half of the graded have 2 points or more, of 5; 3 have all." in text
    shares = {row[0]: int(row[1]) for row in table(soup, "Learners by share")}
    assert sum(shares.values()) == 7
    assert shares["0 % to under 10 %"] == 2
    assert shares["40 % to under 50 %"] == 2
    assert shares["90 % to 100 %"] == 3


def test_what_to_teach_again_counts_each_learner_once(small_course: Any) -> None:
    a_class(small_course)
    soup = summary(small_course)
    monday = [item.get_text() for item in soup.find("ol").find_all("li")]
    assert monday == [
        f"{TITLES['gradient-sign']} – 2 learners: double (2)",
        f"{TITLES['gradient-scale']} – 1 learner: double (1)",
    ]
    (row,) = table(soup, "Root causes")
    assert row[:4] == ["double", "3", "1", "3"]
    assert TITLES["gradient-sign"] + " (2)" in " ".join(row[4].split()).replace(". (", ". (")


def test_a_rule_names_the_exercises_where_most_break_it() -> None:
    def learner(*broken: tuple[str, str]) -> Standing:
        marks = [Mark("x", 0.0, 1.0, where, False, wrong(rule), rule) for where, rule in broken]
        marks += [Mark("x", 0.0, 1.0, where, True, wrong(rule), rule) for where, rule in broken]
        record = Record(Result("x", LESSON, "", tuple(marks)), "")
        return Standing("x", LESSON, Score("x", LESSON, None, 0.0), record)

    found = [
        learner(("WeightedSum", "gradient-scale"), ("Linear", "gradient-scale")) for _ in range(3)
    ]
    found += [learner((name, "gradient-scale")) for name in ("Linear", "A", "B")]
    found += [learner(("Linear", "gradient-sign"))]
    first, second = summarise(LESSON, found).causes
    assert (first.rule, first.learners) == ("gradient-scale", 6)
    assert first.exercises == [("Linear", 4), ("WeightedSum", 3), ("A", 1), ("B", 1)]
    assert (second.rule, second.learners, second.exercises) == (
        "gradient-sign",
        1,
        [("Linear", 1)],
    )
    soup = BeautifulSoup(page([summarise(LESSON, found)], "today"), "html.parser")
    assert (
        soup.find("ol")
        .find("li")
        .get_text()
        .endswith("6 learners: Linear (4), WeightedSum (3), A (1) and 1 more")
    )


def test_who_handed_nothing_in_is_named(small_course: Any) -> None:
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        gradebook.add_student("zoe", first_name="Zoë", last_name="Z<b>")
        gradebook.add_student("yan")
    grade_as(small_course, "ada")
    text = summary(small_course).get_text(" ")
    assert (
        "Handed nothing in 2 learners of those that the gradebook knows: yan Z<b>, Zoë (zoe)"
        in (" ".join(text.split()))
    )
    grade_as(small_course, "yan")
    grade_as(small_course, "zoe")
    assert "nothing" not in summary(small_course).find("main").get_text()


def test_code_in_a_reason_is_code(small_course: Any) -> None:
    reason = "cell 2, line 1: `get('http://evil.example/x')` – reaches out."
    grade_as(small_course, "ada", (None, None), reasons=(reason,))
    soup = summary(small_course)
    assert soup.find("code", string="get('http://evil.example/x')") is not None
    assert "`" not in soup.find("main").get_text()


def test_every_link_leads_to_an_explanation_on_the_page(small_course: Any) -> None:
    a_class(small_course)
    soup = summary(small_course)
    links = [link["href"] for link in soup.find_all("a")]
    assert "#rule-gradient-sign" in links
    for link in links:
        assert link.startswith("#")
        assert soup.find(id=link[1:]) is not None
    meaning = soup.find(id="rule-gradient-sign").find_next("dd").get_text()
    assert "Training would go uphill." in meaning


def test_the_picture_is_told_in_words(small_course: Any) -> None:
    a_class(small_course)
    picture = summary(small_course).find("svg")
    assert picture["role"] == "img"
    named = [picture.find(id=name) for name in picture["aria-labelledby"].split()]
    assert all(one is not None and one.get_text().strip() for one in named)
    heights = [float(bar["height"]) for bar in picture.find_all("rect")]
    assert len(heights) == 3
    assert max(heights) == heights[-1]
    assert heights[0] == pytest.approx(heights[-1] * 2 / 3, abs=0.1)


def test_regions_of_several_lessons_have_names_of_their_own(small_course: Any) -> None:
    a_class(small_course)
    with (
        closing(open_gradebook(small_course)) as gradebook,
        gradebook.engine.connect() as connection,
    ):
        found = list(standings(small_course, connection))
    soup = BeautifulSoup(page([summarise(n, found) for n in ("a", "b")], "today"), "html.parser")
    names = [region["aria-label"] for region in soup.select("[role=region]")]
    assert len(names) == len(set(names)) == 4


def test_several_reasons_are_a_list(small_course: Any) -> None:
    grade_as(small_course, "ada", (None, None), reasons=("One.", "Two."))
    (name,) = summary(small_course).find_all("strong", string="ada")
    assert [item.get_text() for item in name.parent.select("li")] == ["One.", "Two."]


def test_names_and_reasons_are_text_only(small_course: Any) -> None:
    a_class(small_course)
    soup = summary(small_course)
    assert not soup.find_all(["script", "img", "iframe", "link", "form"])
    assert not [tag for tag in soup.find_all(True) for name in tag.attrs if name.startswith("on")]
    assert not soup.find_all(style=True)
    assert "<img src=x onerror=alert(1)>" in soup.get_text()
    policy = soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


UNUSUAL = """\
def double(number):
    halves = [number / 2 for _ in range(4)]
    total = halves[0] * 3 - halves[1] + halves[2] * 2
    for left, right in zip(halves, reversed(halves)):
        total = total + left - right
    if total != number * 2:
        total = sum(halves, start=number - number)
    return total if number else number * {zero}
"""


def hand_in_code(course: Any, student: str, source: str) -> None:
    notebook = source_notebook()
    notebook.cells[0].source = source
    grade_as(course, student, notebook=nbformat.writes(notebook), reports=(PASSED, PASSED))


def test_answers_that_are_alike_are_named_as_a_reason_to_look(small_course: Any) -> None:
    for number, name in enumerate(("ada", "ben", "carla", "dan")):
        hand_in_code(
            small_course, name, f"def double(number):\n    return number * 2 + {number} * 0"
        )
    assert "Alike enough" not in summary(small_course).get_text()
    hand_in_code(small_course, "eve", UNUSUAL.format(zero=0))
    hand_in_code(small_course, "frank", UNUSUAL.format(zero=0).replace("halves", "parts"))
    text = summary(small_course).get_text(" ")
    assert "Alike enough to look at" in text
    assert "eve and frank: double (" in text
    assert "no more: look before you judge" in text
    assert "ada and" not in text


def test_only_the_instructor_reads_it(small_course: Any) -> None:
    grade_as(small_course, "ada")
    path = write_summary(small_course)
    assert path == Path(small_course.root, "grading", "summary.html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nobody_handed_in(small_course: Any) -> None:
    assert "Nothing was handed in." in summary(small_course).get_text()


def test_lessons_and_file_can_be_chosen(
    small_course: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_class(small_course)
    place = tmp_path / "here" / "page.html"
    assert main(["summary", LESSON, "--course", small_course.root, "-o", str(place)]) == 0
    assert re.search(r"Written: .*page\.html", capsys.readouterr().out)
    assert LESSON in place.read_text()
    assert main(["summary", "99_nothing", "--course", small_course.root]) == 1


@pytest.mark.parametrize(
    ("points", "most", "place"),
    [(0, 10, 0), (0.99, 10, 0), (1, 10, 1), (0.3, 1, 3), (0.7, 1, 7), (10, 10, 9), (12, 10, 9), (0, 0, 9)],
)  # fmt: skip
def test_histogram(points: float, most: float, place: int) -> None:
    counts = histogram([points], most)
    assert [counts.index(1), sum(counts), len(counts)] == [place, 1, 10]
