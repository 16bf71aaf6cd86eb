"""Every widget of every lesson, in the lesson's solution, in a real JupyterLab, by real keys; each day another lesson or two.

Which cells show something is read from the notebooks, so a new widget is driven here without
anybody's doing; of the other cells only those are executed that the widgets need. The lessons take
turns with one kernel. Screenshots of everything, light and dark, are in build/screenshots afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nbformat import NotebookNode
from PIL import Image, ImageStat

from lessons.shown import Cell, cells_to_run, code_cells, shown_cells
from tests.browser.axe import axe_violations
from tests.browser.drive import LIVE, controls, drive, press_cell_keys
from tests.browser.lessons import (
    ROOT,
    START_PAGE,
    lesson_names,
    shows_something_of_its_own,
    solution,
)
from tests.browser.notebook import (
    cells,
    change_theme,
    close_all,
    execute,
    in_command_mode,
    nothing_but,
    run_cells,
    save_notebook,
    show_cell,
    wait_until,
    write_notebook,
)
from tests.conftest import of_today

pytestmark = pytest.mark.browser

SCREENSHOTS = ROOT / "build/screenshots"
LESSONS = lesson_names()
OUTPUTS = ".jp-Notebook .jp-Cell-outputArea"


@pytest.fixture(scope="module", params=of_today(LESSONS, 12))
def lesson(request, desk, shared_lab, kernel) -> Iterator[tuple[Cell, ...]]:
    """What a lesson shows: it is open, and what its widgets need was executed without an error."""
    notebook = without_outputs(solution(request.param))
    path = f"lessons/{request.param}/{request.param}.ipynb"
    save_notebook(shared_lab.root / path, notebook)
    kernel.open(desk, path)
    every = code_cells(notebook)
    assert run_cells(desk, [cell.index for cell in cells_to_run(every, shown_cells(every))]) == []
    yield tuple(shown_cells(every))
    close_all(desk, kernel.id)


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """The notebook as after "Clear Outputs of All Cells": a second quicker to open."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return notebook


def places(page, lesson: tuple[Cell, ...]) -> Iterator:
    """The cells that show something, one after another, scrolled to."""
    for cell in lesson:
        yield show_cell(page, cell.index, cell.grade_id)


@pytest.mark.parametrize("name", [name for name in LESSONS if name != START_PAGE])
def test_every_lesson_shows_something_of_its_own(name) -> None:
    assert shows_something_of_its_own(code_cells(solution(name))), (
        f'{name} has no cell whose grade_id begins with "see-": nothing of it would be driven here'
    )


def test_real_keys_drive_every_widget_and_never_touch_cells(lab_page, lesson) -> None:
    driven = 0
    before = cells(lab_page)
    for place in places(lab_page, lesson):
        views = place.locator(LIVE)
        if not views.count():
            assert place.locator(".jp-OutputArea :is(table, img, ol, p)").count(), (
                "it shows nothing"
            )
        for view in views.all():
            assert in_command_mode(lab_page)
            drive(view)
            for control in controls(view):
                press_cell_keys(control)
            assert cells(lab_page) == before, f"keys in {place.get_attribute('data-name')} got out"
            driven += 1
    assert driven, "not one live widget"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_light_or_dark(theme, lab_page, lesson, request) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    picture = SCREENSHOTS / f"{request.node.callspec.params['lesson']}-{theme}.png"
    change_theme(lab_page, theme)
    with nothing_but(lab_page, [cell.index for cell in lesson]):
        assert lab_page.locator(f"{OUTPUTS}:visible").count() == len(lesson)
        assert axe_violations(lab_page, OUTPUTS) == []
        lab_page.screenshot(path=picture)
    brightness = ImageStat.Stat(Image.open(picture).convert("L")).median[0]
    assert brightness > 200 if theme == "light" else brightness < 60, "not in its theme"


def test_without_our_mark_the_x_key_would_cut_the_cell(lab_page, planted) -> None:
    before = cells(lab_page)
    slider = lab_page.locator(LIVE).get_by_role("slider").first
    slider.evaluate("one => one.removeAttribute('data-lm-suppress-shortcuts')")
    slider.focus()
    lab_page.keyboard.press("x")
    assert len(cells(lab_page)) == len(before) - 1
    execute(lab_page, "notebook:undo-cell-action")


@pytest.mark.parametrize(
    ("where", "plant", "rule"),
    [
        (".bbh-steps input", "input => input.labels[0].remove()", "label"),
        ("table td", "cell => cell.style.cssText = 'color: #aaa; background: #fff'", "color-contrast"),
    ],
)  # fmt: skip
def test_axe_would_find_a_planted_violation(where, plant, rule, lab_page, planted) -> None:
    with nothing_but(lab_page, planted):
        assert axe_violations(lab_page, OUTPUTS) == []
        lab_page.locator(f"{OUTPUTS} {where}:visible").first.evaluate(plant)
        violations = axe_violations(lab_page, OUTPUTS)
    assert [one.split()[0] for one in violations] == [rule]


@pytest.fixture
def planted(desk, shared_lab, kernel) -> list[int]:
    """Indices of a walk and of the table of saved_ledger, run anew, in a notebook to do harm to."""
    sources = (
        "import torch\nfrom widgets import gradient_flow, saved_ledger",
        "gradient_flow()",
        "saved_ledger(torch.sigmoid, torch.ones(3))",
    )
    path = shared_lab.root / "planted.ipynb"
    if not path.exists():
        write_notebook(path, *sources)
    kernel.open(desk, "planted.ipynb")
    assert run_cells(desk, range(len(sources))) == []
    return [1, 2]


@pytest.mark.parametrize(
    "ask",
    [
        "fetch('https://example.org/pixel').catch(() => {})",
        "void (new Image().src = 'https://example.org/pixel')",
        "void new WebSocket('wss://example.org/pixel')",
    ],
)
def test_a_planted_request_would_be_noticed(ask, lab_page, lab_outside) -> None:
    lab_page.evaluate(ask)
    wait_until(lab_page, lambda: lab_outside)
    asked = list(lab_outside)
    lab_outside.clear()
    assert [address.split("://")[1] for address in asked] == ["example.org/pixel"]
