"""Every widget looked at, as wide as it is on two screens, light and dark, at its first, middle and last place."""

import pytest
import torch
from torch.autograd import Function

from tests.browser.widgets.sight import MARGINS, OUTPUT_WIDTHS, TALLEST, faults
from tests.browser.widgets.test_steps_player import SwishTwice
from tests.conftest import of_today
from tests.widgets.functions import Largest, MySigmoid, Scaled
from tests.widgets.test_attention_map import InTiles
from widgets.attention import attention_map
from widgets.builder import function_builder
from widgets.flow import gradient_flow
from widgets.jacobian import jacobian_map
from widgets.ledger import saved_ledger
from widgets.memory import memory_timeline
from widgets.ste import ste_explorer
from widgets.xray import xray

pytestmark = pytest.mark.browser


class Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.T @ x, grad_output.sum(0)


def linear():
    values = torch.linspace(-1000.5, 3, 20)
    return xray(Linear, values[:12].reshape(4, 3), values[12:18].reshape(2, 3), values[18:])


class LayerNorm(Function):
    """A backward of many operations: a second one has a graph higher than a screen."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        centred = x - x.mean(-1, keepdim=True)
        return centred * (centred**2).mean(-1, keepdim=True).rsqrt() * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred**2).mean(-1, keepdim=True).rsqrt()
        normal, g = centred * scale, grad_output * weight
        along = (g * normal).mean(-1, keepdim=True)
        grad_x = scale * (g - g.mean(-1, keepdim=True) - normal * along)
        return grad_x, (grad_output * normal).sum(0)


def layer_norm_twice():
    values = torch.linspace(-1, 3, 12).sin().reshape(3, 4)
    return xray(LayerNorm, values, torch.tensor([0.5, 1.0, -1.0, 2.0]), order=2)


WIDGETS = {
    "xray": lambda: xray(MySigmoid),
    "xray of a matrix": linear,
    "xray of two outputs": lambda: xray(Largest, torch.linspace(-1, 1, 12).reshape(3, 4), 1),
    "xray with a tray": lambda: xray(Scaled, torch.tensor([1.0, -2.0]), 3.0),
    "xray, order 2": lambda: xray(SwishTwice, order=2),
    "xray of a deep graph": layer_norm_twice,
    "gradient_flow": gradient_flow,
    "ste_explorer": ste_explorer,
    "function_builder": lambda: function_builder("Exponential", MySigmoid),
    "memory_timeline": memory_timeline,
    "attention_map": attention_map,
    "jacobian_map": jacobian_map,
    "attention_map in tiles": lambda: attention_map(tokens=list("tokens"), by=InTiles),
}
STEPPED = [name for name in WIDGETS if name.startswith(("xray", "gradient"))]


def opened(play, view, theme, screen):
    """The widget in a page as wide as its place on that screen."""
    size = {"width": OUTPUT_WIDTHS[screen] + MARGINS, "height": 900}
    return play(view, theme, viewport=size)


def linear_twice(x):
    weight = torch.ones(3, 3, requires_grad=True)
    return MySigmoid.apply(x @ weight) @ weight


LEDGERS = {
    "alone": lambda: saved_ledger(linear_twice, torch.ones(2, 3)),
    "side by side": lambda: saved_ledger([torch.sigmoid, linear_twice], torch.ones(2, 3)),
}
# As JupyterLab shows the HTML of an output; a long table may be scrolled in its own frame there.
OUTPUT = (
    "<body style='margin:1.5rem;background:Canvas;color:CanvasText;font:14px sans-serif'>"
    "<style>:root{{color-scheme:light dark}} th,td{{padding:0.5em;font-size:12px}}</style>"
    "<div class='bbh-ledger'>{}</div></body>"
)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", OUTPUT_WIDTHS)
@pytest.mark.parametrize("name", LEDGERS)
def test_nothing_of_a_ledger_is_cut_broken_or_out_of_its_theme(browser, name, screen, theme):
    size = {"width": OUTPUT_WIDTHS[screen] + MARGINS, "height": 900}
    page = browser.new_page(color_scheme=theme, viewport=size)
    page.set_content(OUTPUT.format(LEDGERS[name]()._repr_html_()))
    for folded in page.locator("summary").all():
        folded.click()
    found = faults(page, theme == "dark", ".bbh-ledger")
    page.close()
    assert found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", OUTPUT_WIDTHS)
@pytest.mark.parametrize("name", of_today(list(WIDGETS), 4))
def test_nothing_is_cut_broken_or_out_of_its_theme(play, name, screen, theme):
    page = opened(play, WIDGETS[name](), theme, screen)
    if name == "attention_map in tiles":
        page.evaluate("() => model.set('chosen', 1)")
    slider = page.get_by_role("slider").first
    last = int(slider.get_attribute("max"))
    for place in sorted({0, last // 2, last}):
        page.evaluate(f"() => model.set('{'step' if name in STEPPED else 'position'}', {place})")
        assert faults(page, theme == "dark") == [], place
    assert page.errors == []


@pytest.mark.parametrize("name", of_today(list(WIDGETS), 4))
def test_it_fits_one_screen(play, name):
    page = opened(play, WIDGETS[name](), "light", 1300)
    if name in STEPPED:
        page.evaluate("() => model.set('step', 2)")
    assert page.locator(".bbh").bounding_box()["height"] <= TALLEST


@pytest.mark.parametrize("name", of_today(STEPPED, 3))
def test_buttons_sentence_and_graph_of_every_step_fit_a_narrow_one(play, name):
    view = WIDGETS[name]()
    page = opened(play, view, "light", 900)
    top = page.locator(".bbh").bounding_box()["y"]
    for step in range(len(view.steps)):
        page.evaluate(f"() => model.set('step', {step})")
        legend = page.locator(".bbh-legend").bounding_box()
        assert legend["y"] + legend["height"] - top <= TALLEST, step


def test_a_graph_that_is_higher_than_its_frame_follows_the_step(play):
    view = layer_norm_twice()
    page = opened(play, view, "light", 1300)
    frame = page.locator(".bbh-graph")
    assert frame.evaluate("one => one.scrollHeight > one.clientHeight")
    assert frame.get_attribute("tabindex") == "0"
    seen = frame.bounding_box()
    for step in range(len(view.steps)):
        page.evaluate(f"() => model.set('step', {step})")
        for box in page.locator(".bbh-box.bbh-on .bbh-pill").all():
            y = box.bounding_box()["y"]
            assert seen["y"] <= y <= seen["y"] + seen["height"] - 20, step


PLANTED = {
    "outside of its box: −123456789": (
        "() => { document.querySelector('.bbh-cell text').textContent = '−123456789'; }"
    ),
    "white card: rect bbh-tray": "() => { document.querySelector('.bbh-tray').style.fill = 'white'; }",
    "outside of its box: MySigmoid": "() => { document.querySelector('.bbh-label').setAttribute('x', 400); }",
    "hard to read: value": "() => { document.querySelector('.bbh-forward .bbh-caption').style.fill = '#333'; }",
    "outside of the drawing: value": (
        "() => { document.querySelector('.bbh-forward .bbh-caption').setAttribute('y', -20); }"
    ),
    "broken word: MySigmoid.backward": (
        "() => { document.querySelector('.bbh-status').style.cssText = 'width: 80px; overflow-wrap: anywhere'; }"
    ),
    "cut off: P One run of MySigmoid": (
        "() => { document.querySelector('.bbh-title').style.cssText ="
        " 'width: 40px; overflow: hidden; white-space: nowrap'; }"
    ),
}
IN_A_GRID = "document.querySelector('.bbh-explorer .bbh-cell')"
PLANTED_IN_A_GRID = {
    "outside of its box: −123456789": (
        f"() => {{ {IN_A_GRID}.nextElementSibling.textContent = '−123456789'; }}"
    ),
    "hard to read: 0.00": f"() => {{ {IN_A_GRID}.style.fill = '#eee'; }}",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_seen(play, fault):
    page = opened(play, xray(MySigmoid), "dark", 1300)
    page.evaluate(PLANTED[fault])
    assert fault in faults(page, dark=True)


@pytest.mark.parametrize("fault", PLANTED_IN_A_GRID)
def test_a_fault_planted_in_a_grid_is_seen(play, fault):
    page = opened(play, jacobian_map(), "dark", 1300)
    page.evaluate(PLANTED_IN_A_GRID[fault])
    assert fault in faults(page, dark=True)
