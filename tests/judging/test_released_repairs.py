"""Lesson 05 in the checks: how a repair exercise begins."""

from pathlib import Path

import nbformat
import torch
from torch.autograd import Function

from autograder import evaluate
from tests.mistakes.gallery import load, of

Released = of("SwishTwice")[0].load()


class SlopeSaved(Function):
    """x³ with the slope saved: no second derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


class Repaired(Released):
    """The released Swish with the sigmoid computed again."""

    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


class AlmostRepaired(Repaired):
    """Refuses the second derivative in place of computing it."""

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("no second derivative")
        return Repaired.backward(ctx, grad_output)


def test_the_released_version_of_a_repair_gets_a_kind_word():
    for hidden in (False, True):
        report = evaluate(Released, exercise="SwishTwice", hidden=hidden, seed=1)
        assert not report.passed
        assert report.not_started
        assert "Your repair of SwishTwice begins" in report.headline


def test_the_released_version_is_the_one_that_the_lesson_hands_out():
    path = Path(__file__).parents[2] / "course/05_double_backward/05_double_backward.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    (source,) = (c.source for c in cells if c.source.startswith("class SwishTwice"))
    report = evaluate(load(source, "SwishTwice"), exercise="SwishTwice", seed=1)
    assert report.not_started
    renamed = source.replace("s = torch.sigmoid", "gate = torch.sigmoid").replace(
        "x * s\n", "x * gate\n"
    )
    report = evaluate(load(renamed.replace("beta, s)", "beta, gate)"), "SwishTwice"), seed=1)
    assert report.findings[0].rule == "double-backward-value"
    assert not report.not_started


def test_what_cuts_backward_off_is_named_with_its_line():
    class Constant(Repaired):
        @staticmethod
        def forward(ctx, x, beta):
            return Repaired.forward(ctx, x, beta)

        @staticmethod
        def backward(ctx, grad_output):
            x, beta = ctx.saved_tensors
            with torch.no_grad():
                s = torch.sigmoid(beta * x)
            grad_x = grad_output * (s + beta * x * s * (1 - s))
            return grad_x, (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)

    report = evaluate(Constant, exercise="SwishTwice", seed=1)
    assert not report.not_started
    assert "torch.no_grad() is a constant" in report.headline
    assert report.findings[0].evidence["source"] == "with torch.no_grad():"


def test_a_repair_that_went_another_way_is_judged_as_any_work():
    report = evaluate(AlmostRepaired, exercise="SwishTwice", seed=1)
    assert report.findings[0].rule == "double-backward-missing"
    assert not report.not_started


def test_the_repaired_version_passes():
    assert evaluate(Repaired, exercise="SwishTwice", seed=1).passed
