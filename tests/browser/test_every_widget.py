"""One of each kind of widget in JupyterLab, those included that no lesson happens to show."""

from __future__ import annotations

import pytest

from tests.browser.axe import axe_violations
from tests.browser.drive import LIVE, controls, drive, press_cell_keys
from tests.browser.every_widget import CELLS, EXPLORERS, SOURCES, WALKS, index_of
from tests.browser.notebook import (
    cells,
    change_theme,
    in_command_mode,
    nothing_but,
    run_cells,
    show_cell,
    write_notebook,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def every_widget(desk, shared_lab, kernel) -> None:
    write_notebook(shared_lab.root / "every_widget.ipynb", *SOURCES)
    kernel.open(desk, "every_widget.ipynb")
    assert run_cells(desk, range(len(SOURCES))) == []


def test_it_opens_where_the_gradient_is_wrong_and_says_so(lab_page, every_widget) -> None:
    view = show_cell(lab_page, index_of("xray"), "xray").locator(LIVE)
    assert view.get_attribute("data-step") == "5"
    assert "✗ Backward." in view.get_by_role("status").inner_text()


def test_gradient_flow_ends_with_the_product_of_all_slopes(lab_page, every_widget) -> None:
    view = show_cell(lab_page, index_of("gradient_flow"), "gradient_flow").locator(LIVE)
    view.get_by_role("slider", name="Step").press("End")
    assert view.get_by_role("status").inner_text().endswith("To x goes 1 × 2 × 2 = 4.")


@pytest.mark.parametrize("name", [*WALKS, *EXPLORERS, "quiz"])
def test_real_keys_drive_it_and_never_touch_cells(name, lab_page, every_widget) -> None:
    before = cells(lab_page)
    view = show_cell(lab_page, index_of(name), name).locator(LIVE)
    assert in_command_mode(lab_page)
    drive(view)
    for control in controls(view):
        press_cell_keys(control)
    assert cells(lab_page) == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_light_or_dark(theme, lab_page, every_widget) -> None:
    change_theme(lab_page, theme)
    with nothing_but(lab_page, map(index_of, CELLS)):
        assert axe_violations(lab_page, ".jp-Notebook .jp-Cell-outputArea") == []
