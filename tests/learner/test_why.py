"""`why` says which question, rule and cause spoke."""

from __future__ import annotations

import nbformat
import pytest

from autograder.__main__ import main
from tests.grading.one_verdict import filled_in
from tests.mistakes.gallery import Answer, answers


def test_the_rule_the_question_and_the_facts_are_told(tmp_path, capsys) -> None:
    wrong = next(
        a for a in answers() if a.exercise == "MySigmoid" and a.rules[:1] == ("gradient-sign",)
    )
    path = tmp_path / "02_sigmoid.ipynb"
    nbformat.write(filled_in("02_sigmoid", [wrong]), path)
    assert main(["why", str(path), "MySigmoid"]) == 0
    said = capsys.readouterr().out
    assert "finding 1:\n  rule gradient-value, cause gradient/" in said
    assert "gradient-sign" in said
    assert "explained by " in said
    assert "✗ MySigmoid" in said
    assert main(["why", str(path), "Square"]) == 2
    assert "has no exercise Square. Say one of MySigmoid" in capsys.readouterr().err


def test_the_cause_that_is_told_last_is_that_of_the_report(tmp_path, capsys) -> None:
    source = """class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inner = y * y + 0.25
        return grad_output * (1 - inner)
"""
    path = tmp_path / "02_sigmoid.ipynb"
    nbformat.write(filled_in("02_sigmoid", [Answer("MyTanh", "a term too many", source)]), path)
    assert main(["why", str(path), "MyTanh"]) == 0
    told, _, report = capsys.readouterr().out.partition("✗ MyTanh")
    assert "cause departs/" in told.rpartition("explained by ")[2]
    assert "line 11" in report or "11:" in report


@pytest.mark.parametrize(
    "given", [["why", "none.ipynb", "Square"], ["why", "x", "Sqare"], ["hint", "x"], ["check", "."]]
)
def test_what_cannot_be_said_is_a_wrong_call(given, capsys) -> None:
    assert main(given) == 2
    assert capsys.readouterr().err.startswith("autograder: There is no ")
