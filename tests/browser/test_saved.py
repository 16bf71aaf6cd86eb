"""What a saved notebook shows where nothing runs: its kernel gone, not trusted, converted to HTML."""

from __future__ import annotations

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.browser.notebook import execute, open_notebook, run_all, write_notebook

pytestmark = pytest.mark.browser

SOURCES = (
    "import matplotlib.pyplot as plt\nfrom widgets import quiz, show",
    "fig, ax = plt.subplots()\nax.plot([1, 3, 2])\nshow(fig, alt='A line up and down.')",
    'quiz("start")',
)
ERROR = "Error displaying widget"


@pytest.fixture(scope="module")
def saved(browser, shared_lab):
    """The path of a notebook that was run and saved, and whose kernel was shut down."""
    path = shared_lab.root / "saved/saved.ipynb"
    write_notebook(path, *SOURCES)
    page = browser.new_page()
    open_notebook(page, shared_lab, "saved/saved.ipynb")
    run_all(page)
    page.wait_for_selector(".bbh-quiz fieldset")
    assert shown(page, ".bbh-stand-in") == []  # as long as the widget itself is there
    execute(page, "docmanager:save")
    for _ in range(100):
        if "bbh-stand-in" in path.read_text():
            break
        page.wait_for_timeout(50)
    execute(page, "kernelmenu:shutdown")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.sessionContext.session?.kernel")
    page.close()
    return path


def shown(page, selector):
    """The texts of the elements that can be seen."""
    return [one.inner_text() for one in page.locator(selector).all() if one.is_visible()]


def test_a_figure_is_one_image_with_alternative_text(saved, page, shared_lab):
    open_notebook(page, shared_lab, "saved/saved.ipynb")
    images = page.locator(".jp-OutputArea-output img")
    assert images.count() == 1
    assert images.get_attribute("alt") == "A line up and down."
    assert images.evaluate("image => image.naturalWidth") > 0


def test_with_its_kernel_gone_a_widget_is_stood_in_for(saved, page, shared_lab):
    open_notebook(page, shared_lab, "saved/saved.ipynb")
    page.get_by_text(ERROR).wait_for(state="attached")
    [text] = shown(page, ".bbh-stand-in")
    assert "Your check fails. Where do you look first?" in text
    assert shown(page, f".jp-OutputArea-child:has-text('{ERROR}')") == []


def test_in_a_notebook_that_is_not_trusted_too(saved, page, shared_lab):
    notebook = nbformat.read(saved, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("'from somebody else'"))
    nbformat.write(notebook, saved.with_name("strange.ipynb"))
    open_notebook(page, shared_lab, "saved/strange.ipynb")
    trusted = (
        "() => jupyterapp.shell.currentWidget.content.widgets.some((cell) => cell.model.trusted)"
    )
    assert not page.evaluate(trusted)
    assert "Where do you look first?" in page.locator(".jp-Notebook").inner_text()
    image = page.locator(".jp-OutputArea-output img")
    assert image.get_attribute("alt") == "A line up and down."
    assert image.evaluate("image => image.naturalWidth") > 0


def test_converted_to_html_too(saved, page, tmp_path, requests_outside):
    html, _ = HTMLExporter().from_filename(str(saved))
    (tmp_path / "saved.html").write_text(html)
    page.goto((tmp_path / "saved.html").as_uri())
    requests_outside.clear()  # nbconvert's own page asks for MathJax and require.js
    [text] = shown(page, ".bbh-stand-in")
    assert "Your check fails. Where do you look first?" in text
    assert page.locator(".jp-OutputArea-output img").get_attribute("alt") == "A line up and down."
