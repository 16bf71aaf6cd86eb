"""Each general cause of a wrong number, with a tiny Function: the code, and the facts that decide."""

import pytest

from tests.explaining.tiny import CUBE, DIFFERENCE, MATRICES, RELU, SCALED, TWO_TERMS, told

RIGHT = "g * 3 * x**2"


@pytest.mark.parametrize(
    ("forward", "cause", "facts"),
    [
        ("-x**3", "departs/sign", {}),
        ("x * 0", "departs/mended", {"mine": "0"}),
        ("2 * x**3", "departs/edit", {"mine": "2 * x ** 3", "other": "x ** 3"}),
        ("x**3 * x.new_tensor(2)", "departs/edit", {"other": "x ** 3"}),
        ("x**3 / x.new_tensor(9.869604401089358).sqrt()", "departs/edit", {"other": "x ** 3"}),
        ("x**3 / x.numel()", "departs/edit", {"mine": "x ** 3 / x.numel()", "other": "x ** 3"}),
        ("x**3 * x", "departs/times", {"factor": "x"}),
        ("x**2", "departs/divided", {"factor": "x"}),
        ("x**3 + x", "departs/term", {"term": "x"}),
        ("x**3 + 4", "departs/edit", {"other": "x ** 3"}),
        ("(x**3).abs()", "departs/edit", {"other": "x ** 3"}),
        ("torch.where(x > 0, x.sin() + x, x.cos() / 7)", "departs/mended", {"line": 5}),
        ("torch.where(x > 0, x**3, x)", "departs/edit", {"other": "x ** 3"}),
        ("x**3 + 1e-6", "departs/edit", {"other": "x ** 3"}),
        ("(x.float()**3).double()", "precision/single", {"line": 5}),
        ("x**3 / (x - x)", "value/odd", {"line": 5}),
        ("float((x**3).sum())", "count/number", {"line": 5}),
        ("(x**3,)", "count/other", {"comma": True}),
        ("[x**3]", "count/other", {"listed": True}),
    ],
)
def test_outputs(forward, cause, facts):
    finding = told(CUBE, forward, RIGHT)
    assert finding.cause == cause, finding
    assert {name: finding.facts[name] for name in facts} == facts


@pytest.mark.parametrize(
    ("backward", "rule", "cause", "facts"),
    [
        ("-g * 3 * x**2", "gradient-sign", "departs/sign", {}),
        ("g * 0 * x", "gradient-zero", "departs/mended", {"mine": "0"}),
        ("g * 2 // 3 * 0 * x", "gradient-zero", "departs/mended", {"mine": "0"}),
        ("g * 6 * x**2", "gradient-scale", "departs/edit", {"mine": "6", "other": "3"}),
        ("g * (3 * x)**2", "gradient-scale", "departs/edit", {"other": "3 * x ** 2"}),
        ("g * x * (1.5 * x)", "gradient-scale", "departs/edit", {"mine": "1.5", "other": "3"}),
        ("3 * x**2", "upstream-ignored", "upstream/ignored", {}),
        ("g.clone()", "gradient-value", "upstream/passed-on", {}),
        ("g.abs() * 3 * x**2", "upstream-nonlinear", "departs/edit", {"mine": "g.abs()", "other": "g"}),
        ("g.clamp(-1, 1) * 3 * x**2", "upstream-nonlinear", "departs/edit", {"mine": "g.clamp(-1, 1)", "other": "g"}),
        ("g * g * 3 * x**2", "upstream-nonlinear", "departs/times", {"factor": "g"}),
        ("g.mean() * 3 * x**2", "gradient-value", "departs/edit", {"mine": "g.mean()", "other": "g"}),
        ("g * 3 * x**2 + x", "upstream-nonlinear", "departs/term", {"term": "x"}),
        ("g * 3 * x**2 * x", "gradient-value", "departs/times", {"factor": "x"}),
        ("g * 3 * x", "gradient-value", "departs/divided", {"factor": "x"}),
        ("g * 3 * (x**3)**2", "gradient-value", "departs/edit", {"mine": "x ** 3", "other": "x"}),
        ("g * 3 * x**2 + g * x", "gradient-value", "departs/term", {"term": "g · x"}),
        ("torch.where(x > 0, g * 3 * x**2, g)", "gradient-value", "departs/edit", {"other": "g * 3 * x ** 2"}),
        ("g * 3 * x**2 / (x - x)", "gradient-unstable", "value/odd", {"line": 9}),
        ("None", "gradient-missing", "gradient/nothing", {"argument": "x"}),
        ("(g * 3 * x**2).float()", "gradient-dtype", "gradient/dtype", {"line": 9}),
    ],
)  # fmt: skip
def test_gradients(backward, rule, cause, facts):
    finding = told(CUBE, "x**3", backward)
    assert (finding.rule, finding.cause) == (rule, cause), finding
    assert {name: finding.facts[name] for name in facts} == facts
    assert finding.evidence["line"] == 9


@pytest.mark.parametrize(
    ("forward", "cause"),
    [
        ("torch.tanh(x) / scale", "departs/edit"),
        ("torch.tanh(x) * scale * scale", "departs/times"),
        ("torch.tanh(x) * -scale", "departs/sign"),
        ("torch.tanh(x)", "departs/divided"),
    ],
)
def test_the_right_one_to_another_question(forward, cause):
    assert told(SCALED, forward, "g * scale * (1 - torch.tanh(x)**2), None").cause == cause


def test_arguments_exchanged():
    right = "2 * g * a * b, g * a * a"
    assert told(DIFFERENCE, "b * b * a", right).cause == "departs/edit"
    assert told(DIFFERENCE, "a * a * b", "2 * g * b * a, g * b * b").cause == "departs/mended"
    assert told(DIFFERENCE, "a * a * b", "g * a * a, 2 * g * a * b").rule == "gradient-swapped"


def test_a_transposed_gradient():
    finding = told(MATRICES, "x @ w", "g @ w.T, g.T @ x")
    assert (finding.rule, finding.cause) == ("gradient-transposed", "departs/edit")


@pytest.mark.parametrize(
    ("backward", "cause", "symptom"),
    [
        ("g", "mask/none", False),
        ("g * (torch.relu(x) >= 0)", "departs/edit", False),
        ("g * (x.clamp(min=1) > 0)", "departs/edit", False),
        ("g * ((x > 0) | (x < 1))", "departs/edit", False),
        ("g * (x >= 0)", "special/wrong", False),
        ("torch.where(x == 0, g / 2, g * (x > 0))", "special/wrong", False),
    ],
)
def test_masks_and_what_decides_at_a_kink(backward, cause, symptom):
    finding = told(RELU, "x.clamp(min=0)", backward)
    assert (finding.cause, finding.symptom) == (cause, symptom), finding


@pytest.mark.parametrize(
    ("step", "cause", "facts"),
    [
        ("slope = -3 * x**2", "departs/sign", {}),
        ("slope = 6 * x**2", "departs/edit", {"mine": "6", "other": "3"}),
        ("slope = 3 * x**2 / (x**2 + 2).sqrt() * (2 + x * x).sqrt() * 2", "departs/edit", {}),
        ("slope = 3 * x", "departs/divided", {"factor": "x"}),
        ("slope = (x**2).exp()", "departs/mended", {}),
    ],
)
def test_the_first_wrong_value_is_compared_with_the_right_one_there(step, cause, facts):
    """The result itself is nothing simple: what is added to it hides that."""
    finding = told(TWO_TERMS, "x**3 + x.sin()", "g * (slope + x.cos())", step)
    assert (finding.cause, finding.evidence["line"]) == (cause, 9), finding
    assert {name: finding.facts[name] for name in facts} == facts


def test_a_mask_that_is_never_true():
    finding = told(RELU, "x.clamp(min=0)", "g.masked_fill(never, 0.0)", "never = (x < 0) & (x > 0)")
    assert (finding.cause, finding.evidence["line"]) == ("mask/differs", 9), finding


def test_a_next_step_never_speaks_of_what_is_not_so():
    half = told(CUBE, "x**3 / 2", RIGHT)
    assert "missing" not in half.hint + half.message
    kept = told(CUBE, "x**3", "(g * 3 * x**2).squeeze().unsqueeze(0)")
    assert "keepdim" not in kept.message + kept.hint


def test_what_is_saved_for_something_else_is_told_where_it_is_saved():
    finding = told(DIFFERENCE, "a * a * b", "g * 2 * a * b, g * a * a", saved="b, b")
    assert (finding.cause, finding.facts["other"]) == ("departs/edit", "a"), finding
    assert finding.evidence["line"] == 4


def test_a_right_step_with_another_one_missing_after_it_is_not_accused():
    finding = told(TWO_TERMS, "x**3 + x.sin()", "g * (3 * x**2)")
    assert finding.cause == "departs/not-yet", finding


def test_a_gradient_that_stands_in_anothers_place_is_seen_there():
    finding = told(DIFFERENCE, "a * a * b", "None, g * 2 * a * b")
    assert (finding.cause, finding.facts["other"]) == ("gradient/elsewhere", "b"), finding
    assert told(DIFFERENCE, "a * a * b", "None, g * a * a").cause == "gradient/missing"
