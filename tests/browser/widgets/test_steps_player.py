"""Walking step by step as a learner does it: keys, words, colours; in the static player."""

import pytest
import torch
from torch.autograd import Function

from tests.browser.axe import axe_violations
from tests.widgets.functions import MySigmoid, Scaled, Stub
from widgets.cells import Cells
from widgets.live import script
from widgets.static_player import page as player_page
from widgets.steps import Part, Step, StepThrough, Walk
from widgets.xray import xray

pytestmark = pytest.mark.browser


def make(step=0):
    view = xray(MySigmoid)
    view.step = step
    return view


def shown(page):
    return int(page.locator(".bbh-steps").get_attribute("data-step"))


def status(page):
    return page.get_by_role("status").inner_text()


def test_buttons_move_by_enter_and_space_and_keep_the_focus(play):
    page = play(make())
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert shown(page) == 2
    page.get_by_role("button", name="Back").press("Enter")
    assert shown(page) == 1
    assert page.evaluate("() => model.get('step')") == 1
    assert "Back" in page.evaluate("() => document.activeElement.textContent")
    names = page.locator("#widget").aria_snapshot()
    for word in ("Back", "Next", "Play"):
        assert f'button "{word}"' in names, "signs are not read aloud"


def test_the_slider_moves_by_arrows_home_and_end(play):
    page = play(make())
    last = len(xray(MySigmoid).walk.steps) - 1
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for key, place in [
        ("ArrowRight", 1),
        ("ArrowUp", 2),
        ("ArrowLeft", 1),
        ("End", last),
        ("Home", 0),
    ]:
        page.keyboard.press(key)
        assert shown(page) == place
    assert slider.get_attribute("aria-valuetext") == f"Step 1 of {last + 1}: Forward"


def test_one_polite_status_line_tells_each_step(play):
    page = play(make())
    assert page.get_by_role("status").count() == 1
    page.get_by_role("button", name="Next").click()
    step = xray(MySigmoid).walk.steps[1]
    assert status(page) == f"Step 2 of 7 · {step.phase}. {step.text}"


def test_it_opens_where_something_is_wrong_and_says_so_in_words(play):
    page = play(xray(MySigmoid))
    assert shown(page) == 5
    assert "✗ Backward." in status(page)
    assert "Expected for x is" in status(page)
    assert page.locator(".bbh-box.bbh-wrong .bbh-label").inner_html() == "MySigmoid"


def test_boxes_keep_what_earlier_steps_wrote(play):
    page = play(make())
    values = page.locator(".bbh-tensor.bbh-forward")
    assert values.count() == 1
    page.get_by_role("slider").press("End")
    assert values.count() == 2
    page.get_by_role("slider").press("Home")
    assert values.count() == 1


def test_a_tensor_is_a_grid_of_its_numbers_and_the_tray_empties(play):
    page = play(make(2))
    [x, _] = page.locator(".bbh-tensor.bbh-forward").all()
    assert x.locator(".bbh-caption").text_content() == "value"
    shown_numbers = x.locator(".bbh-cell text").all_text_contents()
    assert (
        tuple((text,) for text in shown_numbers)
        == xray(MySigmoid).walk.steps[0].forward["n1"][0].texts
    )
    tray = page.locator(".bbh-kept")
    assert tray.locator(".bbh-caption").all_text_contents() == [
        "saved[0]: the output",
        "40 bytes, shared",
    ]
    assert tray.get_attribute("class") == "bbh-kept bbh-kept-shared"
    page.get_by_role("slider").press("End")
    assert tray.get_attribute("class") == "bbh-kept bbh-kept-freed"
    assert tray.locator(".bbh-caption").last.text_content() == "let go"


def test_where_no_kernel_is_nothing_offers_to_be_moved(play):
    page = play(make())
    assert page.locator(".bbh-mover").is_hidden()
    assert page.locator(".bbh-movable").count() == 0


def test_dragging_a_number_asks_the_kernel_for_it(play):
    view = make()
    page = play(view)
    page.evaluate("moves => { model.set('moves', moves); }", view.moves)
    cell = page.locator(".bbh-movable").nth(1)
    box = cell.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 5)
    name, index, value = page.evaluate("() => model.get('move')")
    assert (name, index) == ("x", 1)
    assert value == pytest.approx(view.moves[1][-1] + 1, abs=1e-3)
    page.mouse.up()
    page.mouse.move(box["x"] + 90, box["y"] + 5)
    assert page.evaluate("() => model.get('move')[2]") == value
    assert page.locator(".bbh-mover select").input_value() == "x[1]"
    page.locator(".bbh-mover").get_by_role("slider").press("ArrowLeft")
    assert page.evaluate("() => model.get('move')[2]") < value


def test_play_walks_to_the_end_and_pause_stops(play):
    page = play(make())
    page.clock.install()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    button = page.get_by_role("button", name="Play")
    button.press("Enter")
    page.clock.run_for(3000)
    assert shown(page) == 2
    page.get_by_role("button", name="Pause").press("Space")
    page.clock.run_for(5000)
    assert shown(page) == 2
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(60_000)
    assert shown(page) == 6
    page.get_by_role("button", name="Play").click()  # from the end it starts anew
    assert shown(page) == 0


def test_moving_by_hand_stops_play(play):
    page = play(make())
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Next").click()
    assert page.get_by_role("button", name="Play").count() == 1


def test_a_second_view_follows(play):
    page = play(make())
    page.evaluate("() => model.set('step', 4)")
    assert shown(page) == 4


def test_new_steps_from_the_kernel_are_shown(play):
    page = play(make())
    page.evaluate(
        "() => { model.set('step', 0); model.set('steps', [{phase: 'New', text: 'Only one.'}]); }"
    )
    assert status(page) == "Step 1 of 1 · New. Only one."


def test_tables_and_warnings_stand_under_the_step(play):
    view = xray(Scaled, torch.ones(2), 2.0)
    view.step = 2
    page = play(view)
    table = page.get_by_role("table", name="What is kept for backward")
    assert table.get_by_role("rowheader", name="saved[1]").count() == 1
    assert page.locator(".bbh-warnings li").count() == 2
    assert page.locator(".bbh-warnings code").first.inner_text() == "saved[1]"
    for warning in view.walk.steps[2].warnings:
        assert warning.replace("`", "") in status(page), "read aloud with the step"


def test_every_focusable_element_keeps_its_keys_from_the_notebook(play):
    page = play(make())
    focusable = page.locator("#widget :is(a, button, input, select, textarea, [tabindex])")
    assert focusable.count() == 6
    for element in focusable.all():
        assert element.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_texts_are_shown_and_never_run(play):
    attack = "<img src=x onerror='window.attacked = true'></script><script>window.attacked=true"
    grid = Cells(attack, ((attack,),), ((0,),), attack)
    step = Step(attack, attack, "a", forward={"a": (grid,)}, warnings=(attack,))
    page = play(StepThrough(Walk(attack, (Part("a", attack),), (), (step,))))
    assert attack in status(page)
    assert page.evaluate("() => window.attacked") is None


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("forced_colours", ["none", "active"])
def test_axe_finds_nothing(play, colour_scheme, forced_colours):
    page = play(xray(MySigmoid), colour_scheme, forced_colors=forced_colours)
    assert axe_violations(page) == []
    scaled = xray(Scaled, torch.ones(2), 2.0)
    scaled.step = 2
    page = play(scaled, colour_scheme, forced_colors=forced_colours)
    assert axe_violations(page) == []


def test_axe_would_find_a_planted_violation(play):
    page = play(make())
    page.evaluate("document.querySelector('.bbh-bar label').remove()")
    assert any(found.startswith("label ") for found in axe_violations(page))


def test_nothing_is_asked_of_the_network_and_no_error_happens(play, outside):
    page = play(xray(Stub, torch.ones(2)))
    page.get_by_role("button", name="Back").click()
    assert outside(page) == []
    assert page.errors == []


def test_the_page_can_be_read_on_a_narrow_screen(play):
    page = play(make(), viewport={"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_module_is_small():
    assert len(script("steps.js").encode()) <= 30_000
    assert "steps" in player_page(make(), "x")


class SwishTwice(Function):
    """As released: its second derivative is wrong."""

    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, s = ctx.saved_tensors
        by_x = grad_output * (s + beta * x * s * (1 - s))
        return by_x, (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)


@pytest.mark.parametrize("width", [1400, 900, 500])
def test_a_wide_graph_gives_up_the_numbers_in_its_cells_before_it_is_too_small(play, width):
    page = play(xray(SwishTwice, order=2), viewport={"width": width, "height": 900})
    graph = page.locator(".bbh-graph").bounding_box()
    drawing = page.locator(".bbh-graph svg").bounding_box()
    assert drawing["width"] <= graph["width"]
    assert (page.locator(".bbh-tensor .bbh-cell title").first.text_content()) != ""
    assert (
        drawing["width"] / float(page.locator(".bbh-graph svg").get_attribute("viewBox").split()[2])
        >= 0.75
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_has_no_history_is_marked_by_more_than_colour(play, scheme):
    page = play(xray(SwishTwice, order=2))
    page.emulate_media(color_scheme=scheme)
    cut = page.locator(".bbh-cut")
    assert cut.locator("text.bbh-label").text_content() == "✕ saved[2]"
    assert (
        cut.locator(".bbh-pill").evaluate("box => getComputedStyle(box).strokeDasharray") != "none"
    )
    assert page.locator(".bbh-from-cut").count() >= 2
    assert "✕ and dots: numbers without a history" in page.locator(".bbh-legend").inner_text()
    assert axe_violations(page) == []
