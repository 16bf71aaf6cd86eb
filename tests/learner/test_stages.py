"""Help comes in stages: cause and line at once, what belongs there later."""

import pytest
from torch.autograd import Function

from autograder import CheckFailed, check, evaluate, hint
from autograder.exercises import find
from autograder.reporting.report import Report


class Multiply(Function):
    """a · b, whose second gradient takes the wrong factor."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = (g * b).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
        grad_b = (g * b).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


class Right(Multiply):
    """The same with the right one."""

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = (g * b).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
        grad_b = (g * a).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


class Stub(Function):
    """Nothing is written yet."""

    @staticmethod
    def forward(ctx, a, b):
        raise NotImplementedError

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError


def told(submission=Multiply) -> Report:
    with pytest.raises(CheckFailed) as failed:
        check(submission, exercise="Multiply", seed=3)
    return failed.value.report


def says_what_belongs_there(report: Report) -> bool:
    assert report.findings[0].cause == "departs/edit"
    assert "`b`" in report.headline
    assert report.findings[0].evidence["source"].startswith("grad_b")
    return "`a`" in report.headline


def test_what_belongs_there_is_told_by_the_third_failing_check():
    assert [says_what_belongs_there(told()) for _ in range(4)] == [False, False, True, True]


def test_a_stub_is_no_try():
    for _ in range(3):
        assert told(Stub).not_started
    assert not says_what_belongs_there(told())


def test_what_belongs_there_is_told_after_the_last_hint():
    *others, _ = find("Multiply").hints
    for _ in others:
        hint("Multiply")
    assert not says_what_belongs_there(told())
    hint("Multiply")
    assert says_what_belongs_there(told())


def test_the_stages_begin_again_once_it_passed():
    told(), told()
    check(Right, exercise="Multiply")
    assert not says_what_belongs_there(told())


def test_who_keeps_no_progress_stays_at_the_first_stage(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert not any(says_what_belongs_there(told()) for _ in range(4))


def test_evaluate_says_all_that_was_found():
    assert says_what_belongs_there(evaluate(Multiply, seed=3))
