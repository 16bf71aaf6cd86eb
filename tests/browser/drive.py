"""Drives each kind of widget by real key presses, and says what must have changed in the page.

`DRIVERS` maps a selector to what a learner can do there. Each driver asserts as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

# What these do to cells when the notebook has them: cut, insert below, delete, insert above, to
# markdown, merge.
CELL_KEYS = ("x", "b", "d", "d", "a", "m", "Shift+M")
CONTROLS = ":is(a, button, input, select, textarea, pre, [tabindex])"
FOCUSABLE = f"{CONTROLS}:not([tabindex='-1'])"

FIRST_OF_EACH_SORT = """(all) => {
  const sorts = all.map((one) => [one.tagName, one.type, one.className].join());
  return sorts.flatMap((sort, index) => (sorts.indexOf(sort) === index ? [index] : []));
}"""


def press(view, *keys: str) -> None:
    """Press the keys one after another, wherever the focus is."""
    for key in keys:
        view.page.keyboard.press(key)


def drive_steps(view) -> None:
    """A walk: the slider by arrows, Home and End, Next by Enter and Space, Play and Pause."""

    def step() -> int:
        return int(view.get_attribute("data-step"))

    def said() -> str:
        return view.get_by_role("status").inner_text()

    slider = view.get_by_role("slider", name="Step")
    last = int(slider.get_attribute("max"))
    drive_mover(view)
    slider.focus()
    press(view, "Home")
    assert step() == 0
    told = {said()}
    if last == 0:
        return
    press(view, "ArrowRight")
    assert step() == 1
    told.add(said())
    press(view, "ArrowLeft")
    assert step() == 0
    press(view, "End")
    assert step() == last
    told.add(said())
    assert len(told) == min(3, last + 1), "each step says something else"
    assert slider.get_attribute("aria-valuetext").startswith(f"Step {last + 1} of {last + 1}")
    slider.focus()
    press(view, "Home")
    view.get_by_role("button", name="Next").focus()
    press(view, "Enter")
    assert step() == 1
    press(view, "Space")
    assert step() == min(2, last)
    view.get_by_role("button", name="Back").focus()
    press(view, "Space")
    assert step() == min(2, last) - 1
    view.get_by_role("button", name="Play").focus()
    press(view, "Space")
    assert view.get_by_role("button", name="Pause").count() == 1
    press(view, "Enter")
    assert view.get_by_role("button", name="Play").count() == 1


def drive_mover(view) -> None:
    """The numbers that can be moved, one by the arrow keys: it is seen in its cell once the kernel has run."""
    mover = view.locator(".bbh-mover")
    if not mover.is_visible():
        return
    view.get_by_role("slider", name="Step").focus()
    press(view, "Home")
    slider = mover.get_by_role("slider")
    before = mover.locator(".bbh-value").inner_text()
    slider.focus()
    press(view, "ArrowRight")
    value = mover.locator(".bbh-value").inner_text()
    assert value != before
    view.locator(".bbh-movable").first.locator(f"title:text-is('{value}')").wait_for(
        state="attached"
    )


def drive_explorer(view) -> None:
    """A sweep: the slider by arrows, Home and End; another function or shape by the arrow keys."""

    def place() -> int:
        return int(view.get_attribute("data-position"))

    def said() -> str:
        return view.get_by_role("status").inner_text()

    slider = view.get_by_role("slider")
    last = int(slider.get_attribute("max"))
    slider.focus()
    press(view, "Home")
    assert place() == 0
    first = said()
    press(view, "ArrowRight")
    assert place() == 1
    assert said() != first
    press(view, "End")
    assert place() == last
    press(view, "ArrowLeft")
    assert place() == last - 1
    picker = view.get_by_role("combobox")
    if picker.count():
        before = picker.evaluate("picker => picker.selectedOptions[0].textContent")
        picker.focus()
        press(view, "ArrowDown")
        after = picker.evaluate("picker => picker.selectedOptions[0].textContent")
        assert after != before
        assert said().startswith(f"{after}, ")


def drive_quiz(view) -> None:
    """A quiz: arrows move between choices, Enter answers a question and the button another."""
    explained = view.locator(".bbh-why")
    questions = view.get_by_role("group").all()
    for number, question in enumerate(questions[:2]):
        radios = question.get_by_role("radio")
        radios.first.focus()
        press(view, "Space")
        press(view, "ArrowDown")
        assert radios.nth(1).is_checked()
        assert explained.count() == number, "moving gives nothing away"
        if number:
            question.get_by_role("button").focus()
        press(view, "Enter")
        assert explained.count() == number + 1
        verdict = view.locator("[role=status]").text_content()
        assert verdict.startswith(f"Question {number + 1}: ")
    score = view.locator(".bbh-score").inner_text()
    assert score.startswith(f"2 of {len(questions)} answered")


def drive_prediction(view) -> None:
    """A prediction: a letter answers, Enter on another button changes the answer; nothing is told."""
    buttons = view.get_by_role("button")
    buttons.first.focus()
    press(view, "b")
    assert buttons.nth(1).get_attribute("aria-pressed") == "true"
    buttons.first.focus()
    press(view, "Enter")
    pressed = [one.get_attribute("aria-pressed") for one in buttons.all()]
    assert pressed == ["true", *["false"] * (len(pressed) - 1)]
    assert view.get_by_role("status").inner_text() == "You say a. Now run the next cell."


DRIVERS: Mapping[str, Callable] = {
    ".bbh-steps": drive_steps,
    ".bbh-explorer": drive_explorer,
    ".bbh-quiz": drive_quiz,
    ".bbh-prediction": drive_prediction,
}
LIVE = f":is({', '.join(DRIVERS)})"


def drive(view) -> None:
    """Drive a widget, whatever its kind."""
    [driver] = [
        driver for selector, driver in DRIVERS.items() if view.and_(view.page.locator(selector)).count()
    ]  # fmt: skip
    driver(view)


def controls(view) -> list:
    """One focusable element of each sort in the widget: slider, button, choice, what scrolls."""
    every = view.locator(FOCUSABLE)
    return [every.nth(index) for index in every.evaluate_all(FIRST_OF_EACH_SORT)]


def press_cell_keys(control) -> None:
    """What would cut, add, delete and change cells if the notebook heard it."""
    control.focus()
    press(control, *CELL_KEYS)
