"""The start page in a real JupyterLab: it runs through, mistakes on purpose included."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from lessons.convert import released
from lessons.source import read_lesson
from tests.browser.axe import axe_violations
from tests.browser.notebook import change_theme, execute, open_notebook

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start_page(page, shared_lab):
    notebook = released(ROOT, read_lesson(ROOT / "lessons/00_start_here.py"))
    folder = shared_lab.root / "00_start_here"
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / "00_start_here.ipynb")
    open_notebook(page, shared_lab, "00_start_here/00_start_here.ipynb")
    execute(page, "notebook:run-all-cells")
    page.get_by_text(re.compile("^Next: ")).wait_for(timeout=60_000)
    return page


def test_every_cell_runs_and_no_traceback_is_shown(start_page):
    for expected in (
        "Everything the course needs is here.",
        "Double: The gradient for x is 0.5000 × the expected one everywhere.",
        "Hint 1 of 3 for Double",
        "0 of 2 answered",
    ):
        assert start_page.get_by_text(expected).count() >= 1, expected
    assert "Traceback" not in start_page.locator(".jp-Notebook").inner_text()


def test_what_it_shows_is_accessible_light_and_dark(start_page):
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        change_theme(start_page, theme)
        assert axe_violations(start_page, ".jp-OutputArea-output") == []
