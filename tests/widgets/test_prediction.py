"""Predictions: asked before, kept, and explained only afterwards; with and without a widget."""

import json

import pytest
import traitlets

from autograder.learner.progress import load
from tests.widgets.questions import HOW_MANY
from widgets import outcome, predict, quiz_data
from widgets.quiz import NOT_ANSWERED
from widgets.quiz_data import kept_as, predictions_of

LESSONS = [name for name, texts in quiz_data.lessons().items() if "predictions" in texts]
NAMES = [name for lesson in LESSONS for name in predictions_of(lesson)]


@pytest.fixture
def asked(monkeypatch):
    """A prediction called "how-many", of a lesson called demo."""
    choices = [
        {"right" if one.correct else "wrong": one.text, "why": one.explanation}
        for one in HOW_MANY.choices
    ]
    texts = {"predictions": {"how-many": {"prompt": HOW_MANY.prompt, "choices": choices}}}
    monkeypatch.setattr(quiz_data, "lessons", lambda: {"demo": texts})
    return "how-many"


def kept():
    return load().quiz("demo: predictions").answers


def test_a_click_is_kept_and_comes_back(asked):
    widget = predict(asked)
    assert widget.chosen == NOT_ANSWERED
    widget.chosen = 0
    widget.chosen = 1
    assert kept()[HOW_MANY.prompt].choice == "Two"
    assert predict(asked).chosen == 1


@pytest.mark.parametrize("typed", ["b", "B", " b) ", "Two"])
def test_typing_answers_where_no_widget_runs(asked, typed, capsys):
    assert predict(asked, typed) is None
    assert capsys.readouterr().out == "You say b. Now run the next cell.\n"
    assert kept()[HOW_MANY.prompt].correct


@pytest.mark.parametrize("typed", ["d", "", "Four", 2])
def test_what_is_no_choice_is_refused_in_a_sentence(asked, typed):
    with pytest.raises(ValueError, match="is no choice; there are a, b, c"):
        predict(asked, typed)
    with pytest.raises(traitlets.TraitError):
        predict(asked).chosen = 3
    assert kept() == {}


def test_before_the_outcome_nothing_says_what_is_right(asked):
    widget = predict(asked)
    visible = json.dumps([widget._repr_mimebundle_()[0], widget.get_state()])
    assert '"correct"' not in visible
    for choice in HOW_MANY.choices:
        assert choice.text in visible
        assert json.dumps(choice.explanation)[1:-1] not in visible
    assert 'predict("how-many", "a")' in widget.stand_in()["text/plain"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (None, ["It is: Two"]),
        ("b", ["✓ As you said: Two"]),
        ("a", ["✗ You said: One", "needs `None` in its place", "It is: Two"]),
    ],
)
def test_the_outcome_explains_what_was_said_and_what_is_right(asked, typed, says, capsys):
    if typed:
        predict(asked, typed)
    outcome(asked)
    out = capsys.readouterr().out
    for words in [*says, "One for each argument"]:
        assert words in out


def test_an_unknown_prediction_names_the_closest(asked):
    with pytest.raises(ValueError, match=r"called 'how-mny'\. Closest names: how-many"):
        outcome("how-mny")


def test_names_and_prompts_are_not_used_twice():
    assert len(set(NAMES)) == len(NAMES)
    for lesson in LESSONS:
        prompts = [question.prompt for question in predictions_of(lesson).values()]
        assert len(set(prompts)) == len(prompts)


def test_predictions_are_kept_apart_from_the_quiz():
    assert not {kept_as(name) for name in NAMES} & set(quiz_data.lessons())
