"""The warm-up of the start page: it fails as the page says, and one changed line mends it."""

import linecache
from pathlib import Path

import jupytext
import pytest

from autograder import evaluate
from autograder.__main__ import main
from autograder.exercises import LESSONS, all_exercises, find
from autograder.learner.progress import load

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "lessons/00_start_here.py"
COURSE = ROOT / "course/00_start_here/00_start_here.ipynb"


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


def test_a_terminal_checks_the_page_and_gives_its_hints(tmp_path, capsys):
    page = tmp_path / "00_start_here.ipynb"
    text = COURSE.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    assert main(["check", str(page)]) == 1
    assert "grad_output itself" in capsys.readouterr().out
    page.write_text(text.replace("return grad_output", "return 2 * grad_output"), encoding="utf-8")
    assert main(["check", str(page), "--hidden"]) == 0
    for level in (1, 2):
        assert main(["hint", str(page)]) == 0
        assert f"Hint {level} of 3 for Double" in capsys.readouterr().out


def test_a_check_in_a_terminal_counts_for_progress(tmp_path, capsys):
    page = tmp_path / "00_start_here.ipynb"
    text = COURSE.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    main(["check", str(page)])
    begun = load().exercise("Double")
    page.write_text(text.replace("return grad_output", "return 2 * grad_output"), encoding="utf-8")
    main(["check", str(page), "--format", "json"])
    done = load().exercise("Double")
    assert (begun.passed, begun.attempts, done.passed, done.attempts) == (False, 1, True, 0)


def test_a_terminal_gives_the_hint_of_the_exercise_that_is_named(capsys):
    lesson = str(COURSE.parents[1] / "01_template/01_template.ipynb")
    assert main(["hint", lesson]) == 2
    assert "Square, MyReLU" in capsys.readouterr().err
    assert main(["hint", lesson, "--function", "MyReLU"]) == 0
    assert "Hint 1 of 3 for MyReLU" in capsys.readouterr().out
