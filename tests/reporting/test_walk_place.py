"""What a check found is remembered for this session, and where a walk shows it."""

import pytest

from autograder import check
from autograder.explaining.pages import TITLES
from autograder.learner.checking import CheckFailed
from autograder.reporting.walk_place import failed, place_of, place_of_finding
from tests.sigmoid_and_product import Sigmoid


def doubled():
    class MySigmoid(Sigmoid):
        @staticmethod
        def backward(ctx, g):
            return 2 * Sigmoid.backward(ctx, g)

    return MySigmoid


def test_a_failed_check_is_remembered_until_one_passes(capsys):
    with pytest.raises(CheckFailed):
        check(doubled(), seed=5)
    assert (failed("MySigmoid").rule, failed("MySigmoid").seed) == ("gradient-scale", 5)
    check(type("MySigmoid", (Sigmoid,), {}))
    assert failed("MySigmoid") is None


def test_nothing_is_remembered_while_grading(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(CheckFailed):
        check(doubled(), hidden=True)
    assert failed("MySigmoid") is None


def test_places_belong_to_rules_that_exist():
    shown = {rule for rule in TITLES if place_of(rule)}
    assert {"gradient-sign", "raises", "saves-too-much", "double-backward-value"} <= shown
    assert place_of("gradient-sign") == "on the step “Backward”: what backward returns"
    assert not place_of("uses-autograd")


def test_what_an_experiment_saw_no_walk_shows():
    assert place_of_finding("raises", {"case": "a vector"}, ["an experiment"])
    assert not place_of_finding("raises", {"case": "an experiment"}, ["an experiment"])
    assert not place_of_finding("gradient-value", {"original": "GradcheckError: no"}, [])
