"""Where no widget can run: GitHub, a page made by nbconvert, a notebook that is not trusted, and one
whose kernel is gone. Each kind of widget shows there what it showed alive, as picture and as text.

The notebook is run and saved once, without the widgets' state, as JupyterLab does unless asked.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bleach
import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from PIL import Image

from tests.browser.drive import LIVE, press
from tests.browser.every_widget import CELLS, EXPLORERS, SOURCES, WALKS, index_of
from tests.browser.notebook import (
    close_all,
    execute,
    open_notebook,
    run_cells,
    save_notebook,
    show_cell,
    write_notebook,
)

pytestmark = pytest.mark.browser

VIEW = "application/vnd.jupyter.widget-view+json"
ERROR = "Error displaying widget"
PICTURES = {**WALKS, **EXPLORERS}
# What is left of HTML where notebooks of strangers are shown: no style sheets, no scripts, no classes.
KEPT_TAGS = {
    "b", "br", "caption", "code", "div", "em", "figcaption", "figure", "img", "li", "ol", "p", "pre",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
KEPT_ATTRIBUTES = {"img": ["src", "alt"], "th": ["scope"], "ol": ["type"]}


@dataclass(frozen=True)
class Saved:
    """The notebook as it was saved, and what each widget said alive: every step, or its first place."""

    path: Path
    notebook: NotebookNode
    said: dict[str, list[str]]


@pytest.fixture(scope="module")
def saved(desk, shared_lab, kernel) -> Saved:
    path = shared_lab.root / "saved/saved.ipynb"
    write_notebook(path, *SOURCES)
    open_notebook(desk, "saved/saved.ipynb")  # with a kernel of its own, which is then shut down
    assert run_cells(desk, range(len(SOURCES))) == []
    said = {name: all_said(show_cell(desk, index_of(name), name)) for name in PICTURES}
    visible = desk.locator(".bbh-stand-in:visible")
    assert visible.count() == 0, "the widgets themselves are there"
    execute(desk, "docmanager:save")
    desk.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    close_all(desk, kernel.id)
    return Saved(path, nbformat.read(path, as_version=4), said)


def all_said(place) -> list[str]:
    """What the status line says at every step of a walk, or where an explorer stands."""
    view = place.locator(LIVE)
    status = view.get_by_role("status")
    if view.get_attribute("data-step") is None:
        return [plain(status.inner_text())]
    slider = view.get_by_role("slider", name="Step")
    slider.focus()
    press(view, "Home")
    found = []
    for _ in range(int(slider.get_attribute("max")) + 1):
        found.append(plain(status.inner_text().split(" · ", 1)[1].removeprefix("✗ ")))
        press(view, "ArrowRight")
    return found


def plain(text: str) -> str:
    """The words, whatever stands between them."""
    return re.sub(r"\s+", " ", text).strip()


def outputs(saved: Saved, name: str) -> list[NotebookNode]:
    return saved.notebook.cells[index_of(name)].outputs


def assert_true(place, saved: Saved, name: str) -> None:
    """What stands in the page for a widget says and shows what the widget did."""
    image = place.get_by_role("img").first
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    items = [plain(text) for text in place.locator("ol").first.locator("> li").all_inner_texts()]
    assert len(items) >= 2
    assert all(items)
    if name in WALKS:
        assert len(items) == len(saved.said[name])
        for item, said in zip(items, saved.said[name], strict=True):
            assert item.startswith(said)
    else:
        assert saved.said[name][0] in plain(image.get_attribute("alt"))


def test_no_widget_state_is_saved_and_every_widget_has_its_stand_in(saved: Saved) -> None:
    assert "widgets" not in saved.notebook.metadata
    for name in PICTURES:
        kinds = [set(output.get("data", {})) for output in outputs(saved, name)]
        assert {"text/plain", "text/html", "image/png"} in kinds, name
        assert any(VIEW in kind for kind in kinds), name


@pytest.fixture
def kernel_gone(lab_page, saved: Saved, kernel) -> Iterator:
    """The saved notebook, trusted as it is ours, with a kernel that knows nothing of its widgets."""
    open_notebook(lab_page, "saved/saved.ipynb")
    assert lab_page.evaluate(TRUSTED)
    lab_page.get_by_text(ERROR).first.wait_for(state="attached")
    yield lab_page
    close_all(lab_page, kernel.id)


@pytest.fixture
def not_trusted(lab_page, saved: Saved, shared_lab, kernel) -> Iterator:
    """A notebook that came from somebody else: JupyterLab runs nothing in it and strips its HTML."""
    notebook = nbformat.from_dict(saved.notebook)
    notebook.cells.append(nbformat.v4.new_code_cell("'from somebody else'"))
    save_notebook(shared_lab.root / "saved/strange.ipynb", notebook)
    open_notebook(lab_page, "saved/strange.ipynb")
    assert not lab_page.evaluate(TRUSTED)
    yield lab_page
    close_all(lab_page, kernel.id)


TRUSTED = "() => jupyterapp.shell.currentWidget.content.widgets.some((cell) => cell.model.trusted)"


@pytest.fixture
def converted(page, saved: Saved, tmp_path, requests_outside):
    """A page made by `jupyter nbconvert --to html`, without the internet that it would like to have."""
    html, _ = HTMLExporter().from_filename(str(saved.path))
    (tmp_path / "saved.html").write_text(html)
    page.goto((tmp_path / "saved.html").as_uri())
    requests_outside.clear()  # nbconvert's own page asks for MathJax and require.js
    return page


def test_with_its_kernel_gone_pictures_and_steps_stand_in(kernel_gone, saved: Saved) -> None:
    for name in PICTURES:
        place = show_cell(kernel_gone, index_of(name), name)
        assert_true(place.locator(".bbh-stand-in"), saved, name)
        assert place.locator(".bbh-stand-in").is_visible()
        assert place.locator(f".jp-OutputArea-child:visible:has-text('{ERROR}')").count() == 0
    quiz = show_cell(kernel_gone, index_of("quiz"), "quiz")
    assert (
        "Your check fails. Where do you look first?" in quiz.locator(".bbh-stand-in").inner_text()
    )


def test_in_a_notebook_that_is_not_trusted_too(not_trusted, saved: Saved) -> None:
    for name in PICTURES:
        place = show_cell(not_trusted, index_of(name), name)
        assert_true(place.locator(".jp-OutputArea"), saved, name)
        assert place.locator("ol").first.is_visible()
    quiz = show_cell(not_trusted, index_of("quiz"), "quiz")
    assert "Where do you look first?" in quiz.locator(".jp-OutputArea").inner_text()
    ledger = show_cell(not_trusted, index_of("saved_ledger"), "saved_ledger")
    assert ledger.get_by_role("table", name="What MySigmoid keeps for backward").is_visible()
    figure = show_cell(not_trusted, index_of("figure"), "figure").locator(".jp-OutputArea img")
    assert figure.get_attribute("alt") == "A line up and down."
    assert figure.evaluate("image => image.naturalWidth") > 0


def test_converted_to_html_too(converted, saved: Saved) -> None:
    cells = converted.locator(".jp-CodeCell")
    for name in PICTURES:
        place = cells.nth(index_of(name))
        assert_true(place.locator(".bbh-stand-in"), saved, name)
        assert place.locator(".bbh-stand-in").is_visible()
    assert "Where do you look first?" in cells.nth(index_of("quiz")).inner_text()
    assert cells.nth(index_of("saved_ledger")).get_by_role("table").is_visible()
    assert cells.nth(index_of("figure")).get_by_alt_text("A line up and down.").is_visible()


def test_on_github_too_which_strips_styles_and_scripts(page, saved: Saved) -> None:
    sections = []
    for name in CELLS:
        html = [
            output.data["text/html"]
            for output in outputs(saved, name)
            if "text/html" in output.get("data", {})
        ]
        assert html, name
        kept = bleach.clean(
            re.sub("<style>.*?</style>", "", "".join(html), flags=re.S),
            tags=KEPT_TAGS, attributes=KEPT_ATTRIBUTES, protocols=["data"], strip=True,
        )  # fmt: skip
        sections.append(f"<section id='{name}'>{kept}</section>")
    page.set_content("".join(sections))
    for name in PICTURES:
        assert_true(page.locator(f"#{name}"), saved, name)
    assert "Where do you look first?" in page.locator("#quiz").inner_text()
    assert page.locator("#saved_ledger table").is_visible()


@pytest.mark.parametrize("name", PICTURES)
def test_where_html_is_not_shown_a_picture_and_numbered_lines_are(name: str, saved: Saved) -> None:
    [data] = [
        output.data for output in outputs(saved, name) if "image/png" in output.get("data", {})
    ]
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width > 300
    assert len(image.convert("RGB").getcolors(image.width * image.height)) > 10, "it is not blank"
    assert data["image/png"].strip() in data["text/html"], "the picture is the one in the HTML"
    lines = data["text/plain"].splitlines()
    numbers = [int(found[1]) for line in lines if (found := re.match(r" {0,2}(\d+)\. ", line))]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 2
    if name in WALKS:
        text = plain(data["text/plain"])
        assert len(numbers) == len(saved.said[name])
        assert all(said in text for said in saved.said[name])
