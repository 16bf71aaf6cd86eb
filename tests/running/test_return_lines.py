"""Which return statement ended a call, and that a report points at that one."""

from __future__ import annotations

import sys

import torch
from torch.autograd import Function, gradcheck

from autograder import evaluate
from autograder.running.watching import last_returns, with_several_returns


def two_ways(flag):
    if flag:
        return 1
    return 2


def one_way(value):
    def inner(other):
        return other

    return inner(value)


FIRST = two_ways.__code__.co_firstlineno


def test_the_line_of_the_return_that_ran():
    codes = with_several_returns(two_ways)
    for flag, line in ((True, FIRST + 2), (False, FIRST + 3)):
        with last_returns(codes) as lines:
            two_ways(flag)
        assert lines == {"two_ways": line}


def test_where_there_is_one_return_nothing_is_traced():
    assert with_several_returns(one_way) == frozenset()
    with last_returns(frozenset()):
        assert sys.gettrace() is None


def test_what_traced_before_goes_on_afterwards():
    def mine(*_):
        return None

    sys.settrace(mine)
    try:
        with last_returns(with_several_returns(two_ways)):
            two_ways(True)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(None)


class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.count = len(ctx.needs_input_grad)
        return x @ weight.T if bias is None else x @ weight.T + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        g, rows = grad_output.flatten(0, -2), x.flatten(0, -2)
        if ctx.count == 3:
            return grad_output @ weight, -g.T @ rows, g.sum(0)
        return grad_output @ weight, g.T @ rows


def test_a_report_points_at_the_return_that_ran():
    report = evaluate(MyLinear, seed=1)
    first = report.findings[0]
    assert first.rule == "gradient-sign"
    assert first.evidence["source"] == "return grad_output @ weight, -g.T @ rows, g.sum(0)"


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x.int()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def test_what_was_never_looked_at_is_not_said_to_work():
    report = evaluate(RoundSTE, seed=1)
    assert "kept" not in {line.state for line in report.promises}


class Cut(Function):
    """Its return in an inner function is not the one that returned the gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors

        def twice(value):
            return value + value

        return -twice(x) * grad_output


def test_returns_of_inner_functions_do_not_count():
    report = evaluate(Cut, exercise="Square", seed=1)
    assert report.findings[0].evidence["source"] == "return -twice(x) * grad_output"


def test_these_functions_are_what_they_seem():
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert not gradcheck(Cut.apply, (x,), raise_exception=False)
