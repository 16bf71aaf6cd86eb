"""Exploring as a learner does it: keys, words, colours; in the static player."""

import pytest

from tests.browser.axe import axe_violations
from tests.conftest import of_today
from tests.widgets.functions import MySigmoid, Stub
from widgets.attention import attention_map
from widgets.builder import function_builder
from widgets.jacobian import jacobian_map
from widgets.live import script
from widgets.memory import memory_timeline
from widgets.ste import ste_explorer

pytestmark = pytest.mark.browser


def builder():
    return function_builder("Square", MySigmoid, Stub)


WIDGETS = {
    "ste_explorer": ste_explorer,
    "function_builder": builder,
    "memory_timeline": memory_timeline,
    "attention_map": attention_map,
    "jacobian_map": jacobian_map,
}


@pytest.fixture(params=of_today(list(WIDGETS), 3))
def make(request):
    return WIDGETS[request.param]


def shown(page):
    return int(page.locator(".bbh-explorer").get_attribute("data-position"))


def status(page):
    return page.get_by_role("status").inner_text()


def test_the_slider_moves_by_arrows_home_and_end(play, make):
    view = make()
    page = play(view)
    sweep = view.exploration.sweeps[0]
    last = len(sweep.frames) - 1
    slider = page.get_by_role("slider")
    slider.focus()
    for key, place in (
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowUp", 2),
        ("ArrowLeft", 1),
        ("End", last),
    ):
        page.keyboard.press(key)
        assert shown(page) == place
        assert slider.get_attribute("aria-valuetext") == sweep.frames[place].place
        assert page.evaluate("() => model.get('position')") == place


def test_every_frame_says_what_python_says(play, make):
    view = make()
    page = play(view)
    for chosen, sweep in enumerate(view.exploration.sweeps):
        for position in {0, sweep.start, len(sweep.frames) - 1}:
            page.evaluate(
                f"() => {{ model.set('chosen', {chosen}); model.set('position', {position}) }}"
            )
            assert status(page) == sweep.said(position).replace("`", "")
            cells = page.locator("tbody :is(th, td)").count()
            assert cells == sum(map(len, sweep.rows))


def test_a_whole_matrix_is_read_aloud_and_which_one_it_is_only_once(play):
    view = jacobian_map()
    page = play(view)
    [grid, *_] = view.exploration.sweeps[0].grids
    label = page.get_by_role("img").first.get_attribute("aria-label")
    for name, row in zip(grid.rows, grid.texts, strict=True):
        assert f"{name}: {', '.join(row)}" in label
    heard = page.get_by_role("status").locator("strong > span")
    assert heard.get_attribute("aria-hidden") == "false"
    page.get_by_role("slider").press("End")
    assert heard.get_attribute("aria-hidden") == "true"
    page.evaluate("() => model.set('chosen', 1)")
    assert heard.get_attribute("aria-hidden") == "false"


def test_the_picker_works_by_keys(play, make):
    view = make()
    page = play(view)
    sweeps = view.exploration.sweeps
    if len(sweeps) == 1:
        assert page.get_by_role("combobox").count() == 0
        return
    page.get_by_role("combobox").focus()
    page.keyboard.press("ArrowDown")
    assert status(page).startswith(f"{sweeps[1].name}, ")
    assert page.evaluate("() => document.activeElement.tagName") == "SELECT"


def test_one_polite_status_line_and_keys_kept_from_the_notebook(play, make):
    page = play(make())
    assert page.get_by_role("status").count() == 1
    focusable = page.locator("#widget :is(a, button, input, select, textarea, [tabindex])")
    assert focusable.count() >= 1
    for element in focusable.all():
        assert element.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("forced_colours", ["none", "active"])
def test_axe_finds_nothing(play, make, colour_scheme, forced_colours):
    page = play(make(), colour_scheme, forced_colors=forced_colours)
    assert axe_violations(page) == []


def test_axe_would_find_a_planted_violation(play):
    page = play(ste_explorer())
    page.evaluate("document.querySelector('.bbh-bar label').remove()")
    assert any(found.startswith("select-name ") for found in axe_violations(page))


CONTRAST = """() => {
  const rgb = (colour) => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [high, low] = [light(rgb(a)), light(rgb(b))].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const style = (node) => getComputedStyle(node);
  const all = (name) => [...document.querySelectorAll(name)];
  const ink = style(document.querySelector("figure svg text")).fill;
  const grounds = all(".bbh-area, .bbh-cell").map((node) => style(node).fill);
  const curves = all("figure .bbh-curve").map((node) => style(node).stroke);
  return [...grounds.map((ground) => ratio(ink, ground)), ...curves.map((one) => ratio(one, grounds[0]))];
}"""


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_words_and_lines_in_the_drawing_have_contrast(play, make, colour_scheme):
    """axe does not look at SVG."""
    assert min(play(make(), colour_scheme).evaluate(CONTRAST)) >= 4.5


def test_nothing_is_asked_of_the_network_and_no_error_happens(play, outside, make):
    page = play(make())
    page.get_by_role("slider").press("ArrowRight")
    assert outside(page) == []
    assert page.errors == []


def test_the_page_can_be_read_on_a_narrow_screen(play, make):
    page = play(make(), viewport={"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_module_is_small():
    assert len(script("explorer.js").encode()) <= 30_000
