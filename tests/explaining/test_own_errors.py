"""An error of the learner's own is told as theirs."""

from autograder import evaluate
from tests.mistakes.gallery import answers


def reported(exercise, what, **how):
    (answer,) = [a for a in answers() if a.exercise == exercise and a.what.startswith(what)]
    return evaluate(answer.load(), exercise=exercise, hidden=True, **{"seed": 1, **how})


def test_an_assert_of_the_learners_own_is_not_told_as_torchs_words():
    rows = {r.label: r.text for r in reported("FirstOrderOnly", "an assert refuses").rows()}
    assert "one derivative" in rows["The error"]
    assert "torch says" not in rows
