"""The quiz in a real JupyterLab: answers survive a kernel restart."""

from __future__ import annotations

import pytest

from tests.browser.lab import KERNEL_IS_IDLE
from tests.browser.notebook import execute, open_notebook, run_cells, write_notebook
from widgets.quiz_data import load_questions

pytestmark = pytest.mark.browser


@pytest.fixture
def quiz_page(lab_page, shared_lab):
    path = shared_lab.root / "quiz/quiz.ipynb"
    write_notebook(path, "from widgets import quiz", 'quiz("template")')
    open_notebook(lab_page, "quiz/quiz.ipynb")
    assert run_cells(lab_page, [0, 1]) == []
    return lab_page


def test_answers_by_keyboard_survive_a_kernel_restart(quiz_page):
    [right] = [i for i, c in enumerate(load_questions("template")[0].choices) if c.correct]
    radios = quiz_page.locator(".bbh-quiz fieldset").first.get_by_role("radio")
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
    assert run_cells(quiz_page, [0, 1]) == []
    assert quiz_page.locator(".bbh-why").inner_text().startswith("✓ Right.")
    assert radios.nth(right).is_checked()
    assert quiz_page.locator(".bbh-score").inner_text().startswith("1 of")
