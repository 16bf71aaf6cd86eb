"""The explorers in a real JupyterLab: real keys in command mode stay in them, light and dark."""

from __future__ import annotations

import pytest

from tests.browser.axe import axe_violations
from tests.browser.notebook import cells, change_theme, open_notebook, run_all, write_notebook

pytestmark = pytest.mark.browser

NAMES = ("ste_explorer", "function_builder", "memory_timeline", "attention_map")


@pytest.fixture
def explorers(page, shared_lab):
    sources = [f"from widgets import {', '.join(NAMES)}", *(f"{name}()" for name in NAMES)]
    write_notebook(shared_lab.root / "explorers/explorers.ipynb", *sources)
    page.set_viewport_size({"width": 1280, "height": 6000})  # else JupyterLab draws only some cells
    open_notebook(page, shared_lab, "explorers/explorers.ipynb")
    run_all(page)
    page.wait_for_function(
        f"document.querySelectorAll('.bbh-explorer figure').length >= {len(NAMES)}"
    )
    return page


def test_real_keys_explore_and_never_touch_cells(explorers):
    page = explorers
    before = cells(page)
    views = page.locator(".bbh-explorer").all()
    assert len(views) == len(NAMES)
    page.keyboard.press("Escape")  # the notebook is in command mode
    for view in views:
        slider = view.get_by_role("slider")
        slider.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert view.get_attribute("data-position") == "1"
        controls = view.locator(":is(input, select, pre)").all()
        assert len(controls) >= 1
        for control in controls:
            for key in ("x", "b", "a", "d", "d", "m"):
                control.focus()
                page.keyboard.press(key)
    assert cells(page) == before


def test_axe_finds_nothing_in_light_and_dark(explorers):
    page = explorers
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        change_theme(page, theme)
        assert axe_violations(page, ".bbh-explorer") == []
