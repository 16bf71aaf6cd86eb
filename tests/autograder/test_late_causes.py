"""Lessons 04 to 07: the headline names the line or the measurement, and nothing beside it is false."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers

SAID = {
    ("hvp", "the second pass is a .backward()"): ".backward() in line 5 fills .grad of every leaf",
    ("Cube", "the 3 is squared"): "to the power 2 has 9 in it, not 3",
    ("FirstOrderOnly", "torch.from_numpy of"): "torch.from_numpy takes arrays only",
    ("RoundSTE", "no gradient where x lies"): "is blocked at x = -2.5, -1.5, -0.5, …",
    ("saved_bytes", "a default argument rem"): "The default argument known outlasts the call",
    ("saved_bytes", "told apart by id"): "id(saved) in line 5 tells Python objects apart",
    ("SignSTE", "detach is taken for a copy"): "values = x.detach() in line 4 is no copy",
    ("Checkpoint", "the state is set and not"): "set_rng_state in line 19 changes the caller's",
    ("gradient_penalty", "retain_graph in place"): "stands where create_graph=True is needed",
}


def reported(exercise, what, **how):
    (answer,) = [a for a in answers() if a.exercise == exercise and a.what.startswith(what)]
    return evaluate(answer.load(), exercise=exercise, hidden=True, **{"seed": 1, **how})


@pytest.mark.parametrize(("exercise", "what"), SAID, ids=str)
def test_the_headline_names_the_cause(exercise, what):
    assert SAID[exercise, what] in reported(exercise, what).headline


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_what_outlasts_a_call_is_named_whatever_ran_before(seed):
    said = "for the same tensors a later call counts 0 bytes"
    assert said in reported("saved_bytes", "a default argument rem", seed=seed).headline


def test_an_assert_of_the_learners_own_is_not_told_as_torchs_words():
    rows = dict(reported("FirstOrderOnly", "an assert refuses").rows())
    assert "one derivative" in rows["The error"]
    assert "torch says" not in rows


def test_hooks_that_stay_on_are_not_told_as_settings_left_as_they_were():
    kept = [a for a in answers() if a.exercise == "save_in_bfloat16" and not a.right]
    kept = [a for a in kept if "shared-state" in a.rules]
    reports = [evaluate(a.load(), exercise=a.exercise, hidden=True, seed=1) for a in kept]
    hooks = [r for r in reports if "still on after the block" in r.headline]
    assert hooks
    assert not any("left as they were" in dict(r.rows()).get("Works", "") for r in hooks)


def test_float32_is_shown_no_number_that_it_does_not_have():
    report = reported("Softmax", "one maximum of everything")
    assert "where 0 is right" in report.headline
    assert "e-" not in report.findings[0].evidence["expected"]


def test_your_line_is_the_one_that_the_headline_names():
    wrong = [a for a in answers() if a.exercise == "Softmax" and "raises" in a.rules]
    reports = [evaluate(a.load(), exercise="Softmax", hidden=True, seed=1) for a in wrong]
    told = [r for r in reports if "keepdim=True is missing in the sum of line" in r.headline]
    assert told
    for report in told:
        line = dict(report.rows())["Your line"].split(":")[0]
        assert f"of line {line}" in report.headline
