"""The map of the course says where a learner is and names the next step."""

import pytest

from autograder.learner.progress import ProgressMap
from autograder.learner.progress_file import Answer, ExerciseRecord, Progress, QuizRecord

LESSONS = {"01_template": ("Square", "Clip"), "02_sigmoid": ("MySigmoid",)}
BEGUN = ExerciseRecord(attempts=1, kept=("values",), promises=("values", "gradients"))
EARLIER = ExerciseRecord(earlier=True, attempts=1)
COMPLETE = ExerciseRecord(passed=True, attempts=2)
QUIZ_DONE = QuizRecord(1, {"Why?": Answer("So", True)})


def shown(exercises=(), quizzes=()):
    return ProgressMap(LESSONS, Progress(dict(exercises), dict(quizzes)))


@pytest.mark.parametrize(
    ("exercises", "quizzes", "expected"),
    [
        ({}, {}, "Next: `Square` in 01_template."),
        ({"Clip": COMPLETE}, {}, "Next: `Square` in 01_template."),
        (
            {"Square": BEGUN},
            {},
            "Next: `Square` in 01_template. The first promise that it does not keep yet: gradients.",
        ),
        ({"Square": EARLIER, "Clip": COMPLETE}, {}, "Run `check(Square)` again"),
        ({"Square": COMPLETE, "Clip": COMPLETE}, {}, "the quiz at the end of 01_template"),
        (
            {"Square": COMPLETE, "Clip": COMPLETE},
            {"template": QUIZ_DONE},
            "Next: `MySigmoid` in 02_sigmoid.",
        ),
        (
            {"Square": COMPLETE, "Clip": COMPLETE, "MySigmoid": COMPLETE},
            {"template": QUIZ_DONE, "sigmoid": QUIZ_DONE},
            "completed every lesson",
        ),
    ],
)
def test_the_next_step_is_the_first_thing_not_done(exercises, quizzes, expected):
    view = shown(exercises, quizzes)
    assert expected in view.next_step().text
    assert expected in str(view)


def test_text_groups_exercises_by_how_far_they_are():
    text = str(shown({"Square": COMPLETE, "Clip": BEGUN}, {"template": QUIZ_DONE}))
    assert text.startswith("1 of 3 exercises complete, 1 more begun.")
    begun = "    complete: Square\n    begun: Clip (1 of 2 promises kept)\n"
    assert f"{begun}    quiz: 1 of 1 answered, 1 right" in text
    assert "02_sigmoid\n    to do: MySigmoid\n    quiz: not started" in text


def test_html_is_a_table_with_headers_and_a_link_to_the_next_notebook():
    html = shown({"Square": COMPLETE})._repr_html_()
    assert html.count('<th scope="row"') == len(LESSONS)
    assert html.count('<th scope="col"') == 5
    assert 'href="../01_template/01_template.ipynb"' in html
    assert "<code>Clip</code>" in html


def test_html_has_no_link_when_there_is_nothing_left():
    everything = {"Square": COMPLETE, "Clip": COMPLETE, "MySigmoid": COMPLETE}
    html = shown(everything, {"template": QUIZ_DONE, "sigmoid": QUIZ_DONE})._repr_html_()
    assert "<a " not in html
