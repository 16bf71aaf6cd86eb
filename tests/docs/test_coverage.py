"""docs/coverage.md: every item has a state, and every place it names is in the lessons."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from lessons.source import read_lesson

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
STATES = {"covered", "corrected", "dropped"}
# How many items the list of each source has: a line that gets lost is noticed.
COUNTS = {"A": 38, "B": 10, "C": 53, "D": 51, "M": 14}
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
PLACE = re.compile(r"`(\d\d_\w+) › ([^`]+)`")


@dataclass(frozen=True)
class Item:
    """A line of the tables."""

    id: str
    topic: str
    state: str
    where: str

    @property
    def places(self) -> list[tuple[str, str]]:
        """(lesson, heading) of every place that is named."""
        return PLACE.findall(self.where)


ITEMS = [Item(*row) for row in ROW.findall(TEXT)]


@functools.cache
def headings(lesson: str) -> frozenset[str]:
    """The headings of a lesson, "Exercise 3: " left out; none for a lesson that is not there."""
    path = ROOT / "lessons" / f"{lesson}.py"
    if not path.exists():
        return frozenset()
    texts = [
        cell.source for cell in read_lesson(path).notebook.cells if cell.cell_type == "markdown"
    ]
    found = [h for text in texts for h in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)]
    # Lessons 04 to 07 write their solution notes as a bold line.
    found += [
        h for text in texts for h in re.findall(r"^\*\*(Solution note · \w+)\*\*$", text, re.M)
    ]
    return frozenset(re.sub(r"^Exercise \d+\s*[:·]\s*", "", h.strip()) for h in found)


def test_no_item_is_missing() -> None:
    expected = [f"{letter}{n + 1}" for letter, count in COUNTS.items() for n in range(count)]
    assert [item.id for item in ITEMS] == expected


def test_every_line_of_the_tables_is_read() -> None:
    assert len(re.findall(r"^\| [A-Z]\d", TEXT, re.MULTILINE)) == len(ITEMS)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_state_is_one_of_three_and_says_where(item: Item) -> None:
    assert item.state in STATES
    if item.state in ("covered", "corrected"):
        assert item.places, "no lesson and heading is named"
    if item.state == "corrected":
        assert ": " in PLACE.sub("", item.where), "what was wrong comes after a colon"
    if item.state == "dropped":
        assert len(PLACE.sub("", item.where).split()) >= 5, "why?"


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_places_are_in_the_lessons(item: Item) -> None:
    missing = [f"{lesson} › {name}" for lesson, name in item.places if name not in headings(lesson)]
    assert not missing


def test_a_heading_that_is_not_there_would_be_found() -> None:
    assert "Anatomy" in headings("01_template")
    assert "Square" in headings("01_template")
    assert "No such heading" not in headings("01_template")
    assert headings("99_no_lesson") == frozenset()
