"""What is found does not hang on how it is said: with other words in every sentence, it is the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from autograder import evaluate
from autograder.reporting import wording
from tests.conftest import DAY
from tests.mistakes.gallery import Answer, answers

OTHER = "Snark"
WRONG = random.Random(int(DAY)).sample([a for a in answers() if not a.right], 8)


def found(value: Any, answer: Answer) -> list[tuple[Any, ...]]:
    """Everything about the findings but their words."""
    report = evaluate(value, exercise=answer.exercise, seed=5)
    assert not report.passed
    return [
        (f.rule, f.cause, str(f.facts), f.evidence.get("line"), f.symptom) for f in report.findings
    ]


def in_other_words(catalogue: wording.Catalogue) -> wording.Catalogue:
    return {
        code: tuple(replace(each, message=f"{OTHER}.", hint=f"{OTHER}!") for each in sentences)
        for code, sentences in catalogue.items()
    }


@pytest.mark.parametrize("answer", WRONG, ids=lambda answer: answer.id)
def test_other_words_change_no_cause_or_line(answer, monkeypatch):
    value = answer.load()  # once: an operator has another name in every load
    before, read, course = found(value, answer), wording.read, wording.course
    monkeypatch.setattr(wording, "read", lambda text: in_other_words(read(text)))
    monkeypatch.setattr(wording, "course", lambda: in_other_words(course()))
    assert found(value, answer) == before
    report = evaluate(value, exercise=answer.exercise, seed=5)
    assert {f.message for f in report.findings} == {f"{OTHER}."}
