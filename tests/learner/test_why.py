"""`why` says which question, rule and cause spoke."""

from __future__ import annotations

import nbformat
import pytest

from autograder.__main__ import main
from tests.grading.one_verdict import filled_in
from tests.mistakes.gallery import answers


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
    assert "has no check of Square" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["why", "none.ipynb", "Square"], ["why", "x", "Sqare"]])
def test_what_cannot_be_said_is_a_wrong_call(given, capsys) -> None:
    assert main(given) == 2
    assert capsys.readouterr().err.startswith("autograder: There is no ")
