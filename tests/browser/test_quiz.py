"""The quiz in a real JupyterLab: keys stay in the quiz, answers survive a kernel restart."""

from __future__ import annotations

import pytest

from tests.browser.axe import axe_violations
from tests.browser.lab import KERNEL_IS_IDLE
from tests.browser.notebook import (
    cells,
    change_theme,
    execute,
    open_notebook,
    run_all,
    write_notebook,
)
from widgets.quiz_data import load_questions

pytestmark = pytest.mark.browser

# What these keys do to cells when the notebook has them: cut, insert below, insert above, delete,
# to markdown, merge, and edit.
CELL_KEYS = ("x", "b", "a", "d", "d", "m", "Shift+M", "Enter")


@pytest.fixture
def quiz_page(page, shared_lab):
    write_notebook(
        shared_lab.root / "quiz/quiz.ipynb", "from widgets import quiz", 'quiz("template")'
    )
    open_notebook(page, shared_lab, "quiz/quiz.ipynb")
    run_all(page)
    page.wait_for_selector(".bbh-quiz fieldset")
    return page


def test_keys_on_a_focused_control_never_touch_cells(quiz_page):
    before = cells(quiz_page)
    controls = [
        quiz_page.get_by_role("radio").first,
        quiz_page.get_by_role("button", name="Check my answer").first,
    ]
    for control in controls:
        for key in CELL_KEYS:
            control.focus()
            quiz_page.keyboard.press(key)
    assert cells(quiz_page) == before
    quiz_page.keyboard.press("Escape")  # still on the control, now surely in command mode
    for key in CELL_KEYS:
        controls[1].focus()
        quiz_page.keyboard.press(key)
    assert cells(quiz_page) == before


def test_without_our_mark_the_x_key_would_cut_the_cell(quiz_page):
    before = cells(quiz_page)
    quiz_page.keyboard.press("Escape")
    radio = quiz_page.get_by_role("radio").first
    radio.evaluate("element => element.removeAttribute('data-lm-suppress-shortcuts')")
    radio.focus()
    quiz_page.keyboard.press("x")
    assert len(cells(quiz_page)) == len(before) - 1


def test_answers_by_keyboard_survive_a_kernel_restart(quiz_page):
    [right] = [i for i, c in enumerate(load_questions("template")[0].choices) if c.correct]
    radios = quiz_page.get_by_role("group").first.get_by_role("radio")
    radios.first.focus()
    quiz_page.keyboard.press("Space")
    for _ in range(right):
        quiz_page.keyboard.press("ArrowDown")
    quiz_page.keyboard.press("Enter")
    assert quiz_page.locator(".bbh-why").inner_text().startswith("✓ Right.")

    execute(quiz_page, "notebook:restart-clear-output")  # asks first
    quiz_page.get_by_role("button", name="Confirm Kernel Restart").click()
    quiz_page.wait_for_selector(".bbh-quiz", state="detached")
    quiz_page.wait_for_function(KERNEL_IS_IDLE)
    run_all(quiz_page)
    quiz_page.wait_for_selector(".bbh-quiz fieldset")
    assert quiz_page.locator(".bbh-why").inner_text().startswith("✓ Right.")
    assert radios.nth(right).is_checked()
    assert quiz_page.locator(".bbh-score").inner_text().startswith("1 of")


def test_axe_finds_nothing_light_or_dark(quiz_page):
    radio = quiz_page.get_by_role("group").last.get_by_role("radio").first
    radio.check()
    quiz_page.get_by_role("button", name="Check my answer").last.click()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        change_theme(quiz_page, theme)
        assert axe_violations(quiz_page, ".bbh-quiz") == []
