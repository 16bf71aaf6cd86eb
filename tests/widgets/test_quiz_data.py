"""Questions that cannot be asked are refused; the course's own can be."""

import dataclasses

import pytest

from tests.widgets.questions import HOW_MANY
from widgets.quiz_data import Choice, Question, lessons, load_questions

RIGHT, WRONG = Choice("So", True, "Because."), Choice("Not so", False, "For this reason.")


@pytest.mark.parametrize(
    ("prompt", "choices", "problem"),
    [
        ("Why?", (RIGHT,), "fewer than two"),
        ("Why?", (RIGHT, dataclasses.replace(WRONG, text="So")), "same choice twice"),
        ("Why?", (WRONG, dataclasses.replace(WRONG, text="Nor so")), "exactly one right"),
        ("Why?", (RIGHT, dataclasses.replace(RIGHT, text="And so")), "exactly one right"),
        ("Why?", (RIGHT, dataclasses.replace(WRONG, explanation=" ")), "empty text"),
        (" ", (RIGHT, WRONG), "empty text"),
        ("Why `x?", (RIGHT, WRONG), "not closed"),
        ("Why?", (RIGHT, dataclasses.replace(WRONG, explanation="`x")), "not closed"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(prompt, choices, problem):
    with pytest.raises(ValueError, match=problem):
        Question(prompt, choices)


def test_a_good_question_is_kept_as_it_is():
    assert dataclasses.replace(HOW_MANY) == HOW_MANY


def test_an_unknown_quiz_names_the_closest():
    with pytest.raises(ValueError, match=r"no quiz called 'templat'.*template"):
        load_questions("templat")


@pytest.mark.parametrize("quiz_id", lessons())
def test_every_quiz_of_the_course_can_be_asked(quiz_id):
    questions = load_questions(quiz_id)
    prompts = [question.prompt for question in questions]
    assert questions
    assert len(set(prompts)) == len(prompts)  # answers are remembered by the text of the question


@pytest.mark.parametrize("quiz_id", lessons())
def test_the_right_choice_is_not_always_in_the_same_place(quiz_id):
    questions = load_questions(quiz_id)
    places = {[choice.correct for choice in q.choices].index(True) for q in questions}
    assert len(places) > 1 or len(questions) == 1
