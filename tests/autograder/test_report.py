"""What the learner reads."""

import json
import re
import subprocess
import sys

import pytest
import torch
from torch.autograd import Function

from autograder import CheckFailed, check, evaluate, explain, hint
from autograder.evidence import Finding
from autograder.explanations import TITLES
from autograder.report import _MILESTONES, Report
from tests.autograder.examples import SIGMOID, Sigmoid, sigmoid_with
from tests.autograder.test_evaluate import WRONG
from tests.mistakes.gallery import answers


@pytest.fixture
def failed() -> Report:
    return evaluate(sigmoid_with(WRONG["gradient-scale"]), exercise=SIGMOID, seed=3)


def test_a_failed_report_is_short_and_complete(failed):
    text = str(failed)
    assert text.splitlines()[0].startswith("✗ ExampleSigmoid: The gradient for x is 3.0000 ×")
    for label in ("With:", "Yours:", "Expected:", "Next:", "Rule:", "Works:", "Again:"):
        assert label in text
    assert "seed=3" in text
    assert len(re.findall(r"^  \w", text, re.MULTILINE)) <= 12


def test_html_says_its_state_in_words_and_is_announced(failed):
    page = failed._repr_html_()
    assert 'role="alert"' in page
    assert ">Not yet<" in page
    passed = evaluate(Sigmoid, exercise=SIGMOID, seed=3)._repr_html_()
    assert 'role="status"' in passed
    assert ">Passed<" in passed


def test_html_escapes_what_the_learner_wrote():
    def forward(ctx, x):
        raise ValueError("<script>alert(1)</script>")

    page = evaluate(sigmoid_with(Sigmoid.backward, forward), exercise=SIGMOID)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_json_holds_the_findings(failed):
    data = json.loads(failed.to_json())
    assert data["passed"] is False
    assert data["seed"] == 3
    assert data["findings"][0]["rule"] == "gradient-scale"


def test_graded_hidden_reports_show_no_values_and_no_seed(failed, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    report = evaluate(sigmoid_with(WRONG["gradient-scale"]), exercise=SIGMOID, seed=3)
    evidence = failed.findings[0].evidence
    for shown in (str(report), report._repr_html_(), report.to_json()):
        assert "gradient-scale" in shown
        for secret in (evidence["actual"], evidence["expected"], "seed=3", "3.0000"):
            assert secret not in shown
    assert '"seed": null' in report.to_json()


def test_a_visible_report_never_claims_more_than_it_ran():
    report = evaluate(Sigmoid, exercise=SIGMOID, hidden=False, seed=3)
    assert report.passed
    assert re.search(r"\d+ visible checks pass; \d+ more run when graded", report.headline)
    complete = evaluate(Sigmoid, exercise=SIGMOID, hidden=True, seed=3)
    assert len(report.held) + report.more == len(complete.held)


def test_a_right_answer_may_keep_a_mask_on_ctx_and_is_told_what_is_better():
    class Clipped(Function):
        @staticmethod
        def forward(ctx, x, low, high):
            ctx.inside = (x >= low) & (x <= high)
            return x.clamp(low, high)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.inside, None, None

    report = evaluate(Clipped, exercise="Clip")
    assert report.passed
    assert "Note:       ctx.inside is a tensor that forward made. That is allowed;" in str(report)
    assert "<dt>Note</dt>" in report._repr_html_()
    assert "Note:" not in str(evaluate(Sigmoid, exercise=SIGMOID))


def test_check_returns_none_or_raises_with_the_headline(capsys):
    class MySigmoid(Sigmoid):
        pass

    assert check(MySigmoid) is None
    assert "MySigmoid" in capsys.readouterr().out

    class MyTanh(Sigmoid):
        pass

    with pytest.raises(CheckFailed, match="MyTanh: ") as caught:
        check(MyTanh)
    lines = "\n".join(caught.value._render_traceback_())
    assert "Traceback" not in lines
    assert "MyTanh" in lines


def test_hints_go_from_gentle_to_formula_and_stay_at_the_last(capsys):
    for expected in ("Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"):
        hint("MySigmoid")
        assert expected in capsys.readouterr().out


def test_explain_knows_every_rule_and_helps_with_names(capsys):
    for rule in TITLES:
        explain(rule)
        assert TITLES[rule] in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ValueError, match="gradient-sign"):
        explain("gradiant-sign")


def doubled() -> Report:
    return evaluate(
        sigmoid_with(WRONG["gradient-scale"]), exercise="MySigmoid", seed=3, hidden=False
    )


def test_in_a_notebook_a_wrong_gradient_points_to_xray(monkeypatch):
    monkeypatch.setattr("autograder.report.in_notebook", lambda: True)
    report = doubled()
    words = "`xray(MySigmoid)` opens on the step “Backward”: what backward returns"
    assert report.rows()[-1] == ("See", f"`from widgets import xray`, then {words}")
    monkeypatch.setattr("autograder.report.names_xray", lambda: True)
    assert report.rows()[-1] == ("See", words)
    assert "<code>xray(MySigmoid)</code>" in report._repr_html_()


def test_what_is_to_be_repaired_can_be_seen_and_a_stub_cannot(monkeypatch):
    monkeypatch.setattr("autograder.report.in_notebook", lambda: True)
    answer = next(a for a in answers() if a.exercise == "SwishTwice" and "released" in a.what)
    report = evaluate(answer.load(), exercise="SwishTwice", seed=1)
    assert report.not_started
    assert report.rows()[-1][0] == "See"
    assert "second backward" in report.rows()[-1][1]

    class MySigmoid(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise NotImplementedError()

    assert "xray" not in str(evaluate(MySigmoid, seed=1))


@pytest.mark.parametrize("what", ["terminal", "no widgets", "graded", "no exercise"])
def test_xray_is_only_named_where_it_can_be_called(monkeypatch, what):
    monkeypatch.setattr("autograder.report.in_notebook", lambda: what != "terminal")
    if what == "no widgets":
        monkeypatch.setattr("autograder.report.has_xray", lambda: False)
    report = doubled()
    report.graded = what == "graded"
    if what == "no exercise":
        report.exercise = "SomethingElse"
    assert "xray" not in str(report)


@pytest.mark.parametrize("rule", ["fails-special-point", "gradient-unstable", "value"])
def test_beside_a_special_point_what_works_is_said_of_the_ordinary_cases(rule):
    report = Report("Cube", False, [Finding(rule, "m")], held=list(_MILESTONES[1:4]))
    assert "The gradients agree with the reference in the ordinary cases, for" in str(report.rows())
    report = Report("Cube", False, [Finding("saves-too-much", "m")], held=list(_MILESTONES))
    assert "ordinary" not in str(report.rows())


def test_xray_is_found_without_importing_widgets():
    code = "from autograder import report, check; import sys; assert report.has_xray(); print('widgets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("rules", "left_out"),
    [
        (["gradient-count"], ["Backward runs.", "The gradients", "Second"]),
        (["forward-dtype", "gradient-value"], ["The output", "The gradients", "Second"]),
        (["forward-value", "double-backward-value"], ["The output", "Second"]),
        (["saves-too-much"], []),
        (["gradient-unstable"], []),
    ],
)
def test_what_works_never_contradicts_a_finding(rules, left_out):
    report = Report("Cube", False, [Finding(r, "m") for r in rules], held=list(_MILESTONES))
    shown = dict(report.rows())["Works"].replace(" in the ordinary cases", "")
    denied = [s for s in _MILESTONES if s.startswith(tuple(left_out))]
    assert not any(s in shown for s in denied)
    assert [s for s in _MILESTONES if s in shown] == [s for s in _MILESTONES if s not in denied][
        -3:
    ]
