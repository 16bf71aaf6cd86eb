"""A cause that stops with an error takes nothing from the report: the rule that found something, and the other causes, speak."""

import logging

import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.explaining import explanation


class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * (1 - y)


def test_the_others_are_asked(monkeypatch):
    said = list[str]()

    def stops(ev, finding):
        raise IndexError("an answer that nobody thought of")

    monkeypatch.setattr(explanation, "TABLES", ({"*": (stops,)}, *explanation.TABLES))
    logger = logging.getLogger(explanation.__name__)
    monkeypatch.setattr(logger, "debug", lambda text, name, **_: said.append(name))
    report = evaluate(MySigmoid, seed=1)
    assert report.findings[0].rule == "gradient-sign"
    assert "sign" in report.headline
    assert said == ["stops"]
