"""A cause that stops with an error takes nothing from the report: the rule that found something, and the other causes, speak."""

import logging

from autograder import evaluate
from autograder.explaining import explanation
from tests.sigmoid_and_product import Sigmoid, sigmoid_with


def negative(ctx, grad_output):
    return -Sigmoid.backward(ctx, grad_output)


def test_the_others_are_asked(monkeypatch):
    said = list[str]()

    def stops(ev, finding):
        raise IndexError("an answer that nobody thought of")

    monkeypatch.setattr(explanation, "TABLES", ({"*": (stops,)}, *explanation.TABLES))
    logger = logging.getLogger(explanation.__name__)
    monkeypatch.setattr(logger, "debug", lambda text, name, **_: said.append(name))
    report = evaluate(sigmoid_with(negative), exercise="MySigmoid", seed=1)
    assert report.findings[0].rule == "gradient-sign"
    assert "sign" in report.headline
    assert said == ["stops"]
