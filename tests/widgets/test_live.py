"""Every widget is displayed with what stands in for it where it cannot run."""

import pytest
from bs4 import BeautifulSoup

from tests.widgets.questions import QUESTIONS
from widgets import live
from widgets.quiz import Quiz


@pytest.fixture
def displayed(monkeypatch):
    shown = []
    monkeypatch.setattr(live, "display", lambda data, **options: shown.append(data))
    return shown


def test_the_stand_in_comes_first_and_the_live_view_after_it(displayed):
    quiz = Quiz("demo", QUESTIONS)
    quiz._ipython_display_()
    stand_in, view = displayed
    assert BeautifulSoup(stand_in["text/html"], "html.parser").find(class_="bbh-stand-in").ol
    assert stand_in["text/plain"].startswith("1. How many")
    assert live.VIEW not in stand_in
    assert view[live.VIEW]["model_id"] == quiz.model_id
    assert "text/html" not in view


def test_a_closed_widget_shows_only_what_stands_in(displayed):
    quiz = Quiz("demo", QUESTIONS)
    quiz.close()
    quiz._ipython_display_()
    [stand_in] = displayed
    assert "bbh-stand-in" in stand_in["text/html"]
