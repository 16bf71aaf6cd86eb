"""The quiz as a learner meets it: keys, words, colours; in the static player."""

import pytest

from tests.browser.axe import axe_violations
from tests.conftest import of_today
from tests.widgets.questions import QUESTIONS, WHAT_PRINTS
from tests.widgets.test_markup import CASES
from widgets.live import script
from widgets.quiz import NOT_ANSWERED, Quiz
from widgets.quiz_data import Choice, Question

pytestmark = pytest.mark.browser


def make(chosen=(NOT_ANSWERED, NOT_ANSWERED)):
    quiz = Quiz("demo", QUESTIONS)
    quiz.chosen = list(chosen)
    return quiz


def explanations(page):
    return page.locator(".bbh-why").all_inner_texts()


def test_arrows_only_move_and_enter_answers(play):
    page = play(make())
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("radio", name="Two").is_checked()
    assert explanations(page) == []
    page.keyboard.press("Enter")
    assert explanations(page) == ["✓ Right. One for each argument after ctx."]
    assert page.evaluate("() => model.get('chosen')") == [1, NOT_ANSWERED]
    assert page.locator(".bbh-score").inner_text() == "1 of 2 answered, 1 right."


def test_the_button_answers_with_the_space_key_and_the_focus_stays(play):
    page = play(make())
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert explanations(page) == ["✗ Not quite. A float needs None in its place."]
    assert page.evaluate("() => document.activeElement.textContent") == "Check my answer"


def test_one_polite_status_line_says_verdict_explanation_and_score(play):
    page = play(make())
    assert page.get_by_role("status").count() == 1
    page.get_by_label("Three").check()
    page.get_by_role("button").first.click()
    assert page.get_by_role("status").inner_text() == (
        "Question 1: ✗ Not quite. The node itself is no argument. 1 of 2 answered, 0 right."
    )


def test_answering_without_a_choice_says_so(play):
    page = play(make())
    page.get_by_role("button").nth(1).click()
    assert page.get_by_role("status").inner_text() == "Question 2: choose an answer first."
    assert page.evaluate("() => model.get('chosen')") == [NOT_ANSWERED, NOT_ANSWERED]


def test_another_answer_replaces_the_explanation(play):
    page = play(make())
    for name in ("One", "Two"):
        page.get_by_label(name).check()
        page.get_by_role("button").first.click()
    assert explanations(page) == ["✓ Right. One for each argument after ctx."]
    described = page.get_by_label("Two").get_attribute("aria-describedby")
    assert page.locator(f"#{described}").inner_text().startswith("✓ Right.")


def test_earlier_answers_are_there_when_the_quiz_opens(play):
    page = play(make(chosen=(0, 0)))
    assert page.get_by_label("One").is_checked()
    assert [text.split(".")[0] for text in explanations(page)] == ["✗ Not quite", "✓ Right"]
    assert page.get_by_role("status").inner_text() == ""  # nothing happened yet to be told of


def test_a_second_view_of_the_same_quiz_follows(play):
    page = play(make())
    page.evaluate("() => { model.set('chosen', [1, -1]); }")
    assert page.get_by_label("Two").is_checked()
    assert len(explanations(page)) == 1


def test_every_question_is_a_group_named_by_its_prompt(play):
    page = play(make())
    group = page.get_by_role("group", name="1. How many values does backward return")
    assert group.get_by_role("radio").count() == 3
    page = play(Quiz("demo", (WHAT_PRINTS,)))
    code = page.get_by_role("group").last.get_attribute("aria-describedby")
    assert page.locator(f"#{code}").inner_text() == WHAT_PRINTS.code


def test_every_focusable_element_keeps_its_keys_from_the_notebook(play):
    page = play(make())
    focusable = page.locator("#widget :is(a, button, input, select, textarea, [tabindex])")
    assert focusable.count() == 7
    for element in focusable.all():
        assert element.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_texts_are_shown_and_never_run(play):
    attack = "<img src=x onerror='window.attacked = true'></script><script>window.attacked=true"
    question = Question(attack, (Choice(attack, True, attack), Choice("no", False, "no")), attack)
    page = play(Quiz("demo", (question,)))
    page.get_by_role("radio").first.check()
    page.get_by_role("button").click()
    assert attack in explanations(page)[0]
    assert page.evaluate("() => window.attacked") is None


@pytest.mark.parametrize(("text", "html"), of_today(CASES, 3))
def test_the_browser_marks_texts_as_python_does(play, text, html):
    page = play(Quiz("demo", (Question(text, WHAT_PRINTS.choices),)))
    assert page.locator("legend").inner_html() == f"1. {html}"


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("forced_colours", ["none", "active"])
def test_axe_finds_nothing(play, colour_scheme, forced_colours):
    page = play(make(chosen=(0, 0)), colour_scheme, forced_colors=forced_colours)
    assert axe_violations(page) == []


@pytest.mark.parametrize(
    ("plant", "rule"),
    [
        ("document.querySelector('.bbh-choice span').textContent = ''", "label"),
        ("document.querySelector('.bbh-why').style.color = '#999'", "color-contrast"),
    ],
)
def test_axe_would_find_a_planted_violation(play, plant, rule):
    page = play(make(chosen=(0, 0)))
    page.evaluate(plant)
    assert any(found.startswith(f"{rule} ") for found in axe_violations(page))


def test_nothing_is_asked_of_the_network_and_no_error_happens(play, outside):
    page = play(make())
    page.get_by_label("One").check()
    page.get_by_role("button").first.click()
    assert outside(page) == []
    assert page.errors == []


def test_a_planted_request_would_be_noticed(play, outside):
    quiz = make()
    quiz._esm = script("quiz.js") + "\nfetch('http://127.0.0.1:9/pixel').catch(() => {});"
    assert outside(play(quiz)) == ["http://127.0.0.1:9/pixel"]


@pytest.mark.parametrize(("wish", "seconds"), [("reduce", "0s"), ("no-preference", "0.15s")])
def test_nothing_moves_for_people_who_ask_for_that(play, wish, seconds):
    page = play(make(), reduced_motion=wish)
    duration = "() => getComputedStyle(document.querySelector('.bbh button')).transitionDuration"
    assert set(page.evaluate(duration).split(", ")) == {seconds}


def test_the_module_is_small():
    assert len(script("quiz.js").encode()) <= 30_000
