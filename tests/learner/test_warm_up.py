"""The warm-up of the start page: it fails as the page says, and one changed line mends it."""

import linecache
from pathlib import Path

import jupytext
import pytest

from autograder import evaluate
from autograder.exercises import LESSONS, all_exercises, find

PAGE = Path(__file__).parents[2] / "lessons/00_start_here.py"


@pytest.fixture(scope="module")
def cells():
    found = jupytext.read(PAGE).cells
    return {c.metadata.nbgrader.grade_id: c for c in found if c.cell_type == "code"}


def double(source):
    """The class as a notebook would know it, its source included."""
    linecache.cache["<start page>"] = (len(source), None, source.splitlines(True), "<start page>")
    names = {"__name__": "__main__"}
    exec(compile("import torch\n" + source, "<start page>", "exec"), names)
    return names["Double"]


def test_as_it_stands_the_root_cause_is_the_missing_slope(cells):
    report = evaluate(double(cells["demo-double"].source))
    assert report.findings[0].cause == "upstream/passed-on"


def test_one_changed_line_mends_it(cells):
    source = cells["demo-double"].source
    mended = source.replace("return grad_output", "return 2 * grad_output")
    assert mended != source
    assert evaluate(double(mended)).passed


def test_failing_on_purpose_does_not_stop_the_page(cells):
    for name in ("demo-check", "demo-check-all"):
        assert "raises-exception" in cells[name].metadata.tags


def test_it_has_three_hints_and_is_no_exercise_of_a_lesson():
    assert len(set(find("Double").hints)) == 3
    assert "Double" not in all_exercises()
    assert all("Double" not in names for names in LESSONS.values())
