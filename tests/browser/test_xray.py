"""xray in a real JupyterLab: keys stay in the widget, steps are quick, light and dark are readable."""

from __future__ import annotations

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.browser.axe import axe_violations
from tests.browser.notebook import (
    cells,
    change_theme,
    execute,
    open_notebook,
    run_all,
    write_notebook,
)

pytestmark = pytest.mark.browser

SOURCES = (
    "import torch\nfrom torch.autograd import Function\nfrom widgets import gradient_flow, saved_ledger, xray",
    """class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 2 * grad_output * y * (1 - y)""",
    "xray(MySigmoid)",
    "saved_ledger(MySigmoid, torch.ones(3))",
    "gradient_flow()",
    "with xray():\n    x = torch.ones(2, requires_grad=True)\n    MySigmoid.apply(x).sum().backward()",
)


@pytest.fixture
def xray_page(page, shared_lab):
    write_notebook(shared_lab.root / "xray/xray.ipynb", *SOURCES)
    open_notebook(page, shared_lab, "xray/xray.ipynb")
    run_all(page)
    page.wait_for_selector(".bbh-steps svg")
    return page


def shown(view):
    return int(view.get_attribute("data-step"))


def test_real_keys_walk_and_never_touch_cells(xray_page):
    page = xray_page
    before = cells(page)
    view = page.locator(".bbh-steps").first
    slider = view.get_by_role("slider")
    next_, play = view.get_by_role("button", name="Next"), view.get_by_role("button", name="Play")
    page.keyboard.press("Escape")  # the notebook is in command mode
    assert shown(view) == 5  # where the gradient is wrong
    slider.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    assert shown(view) == 4
    page.keyboard.press("Home")
    next_.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert shown(view) == 2
    assert "Saved for backward" in view.get_by_role("status").inner_text()
    play.focus()
    page.keyboard.press("Space")
    assert view.get_by_role("button", name="Pause").count() == 1
    page.keyboard.press("Enter")
    for control in (slider, next_, play, view.get_by_role("group", name="Graph, scrolls")):
        for key in ("x", "b", "a", "d", "d", "m", "Shift+M"):
            control.focus()
            page.keyboard.press(key)
    assert cells(page) == before


def test_without_our_mark_the_x_key_would_cut_the_cell(xray_page):
    before = cells(xray_page)
    xray_page.keyboard.press("Escape")
    slider = xray_page.get_by_role("slider").first
    slider.evaluate("element => element.removeAttribute('data-lm-suppress-shortcuts')")
    slider.focus()
    xray_page.keyboard.press("x")
    assert len(cells(xray_page)) == len(before) - 1


def test_axe_finds_nothing_light_or_dark(xray_page):
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        change_theme(xray_page, theme)
        assert axe_violations(xray_page, ".bbh-steps") == []


def test_gradient_flow_and_the_block_are_there_too(xray_page):
    titles = xray_page.locator(".bbh-steps .bbh-title").all_inner_texts()
    assert titles == [
        "One run of MySigmoid", "Values forward, gradients backward", "What ran in the block",
    ]  # fmt: skip
    flow = xray_page.locator(".bbh-steps").nth(1)
    flow.get_by_role("slider").press("End")
    assert flow.get_by_role("status").inner_text().endswith("To x goes 1 × 2 × 2 = 4.")
    assert xray_page.get_by_role("table", name="What MySigmoid keeps").count() == 1


def test_saved_untrusted_and_converted_it_shows_picture_and_steps(
    xray_page, page, shared_lab, tmp_path, requests_outside
):
    path = shared_lab.root / "xray/xray.ipynb"
    execute(page, "docmanager:save")
    for _ in range(100):
        if "bbh-stand-in" in path.read_text():
            break
        page.wait_for_timeout(50)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("'from somebody else'"))
    strange = path.with_name("strange.ipynb")
    nbformat.write(notebook, strange)
    html, _ = HTMLExporter().from_filename(str(strange))
    (tmp_path / "saved.html").write_text(html)
    execute(page, "kernelmenu:shutdown")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.sessionContext.session?.kernel")
    open_notebook(page, shared_lab, "xray/strange.ipynb")
    assert_true_picture(page)
    page.goto((tmp_path / "saved.html").as_uri())
    requests_outside.clear()  # nbconvert's own page asks for MathJax and require.js
    assert_true_picture(page)


def assert_true_picture(page):
    image = page.get_by_role("img", name="One run of MySigmoid. The numbered steps")
    assert image.evaluate("image => image.naturalWidth") > 300
    steps = page.locator("ol").filter(has_text="MySigmoid.backward returns").first
    assert steps.locator("li").count() == 7
    assert steps.is_visible()
