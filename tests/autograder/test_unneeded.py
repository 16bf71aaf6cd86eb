"""What is said of arguments that need no gradient, of what is kept for them, and of saved tensors that are written to."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

MULTIPLY = """
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        for_a, for_b = ctx.needs_input_grad
        {body}
"""


def first(source, name):
    return evaluate(load(source, name), exercise=name, hidden=True, seed=1).findings[0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "return tuple((g * o).sum_to_size(m.shape) for n, m, o in [(for_a, a, b), (for_b, b, a)] if n)",
            "None is left out where an argument needs no gradient: when only a needs one, backward returns 1 value "
            "for 2 arguments.",
        ),
        (
            "da, db = torch.zeros_like(a), torch.zeros_like(b)\n"
            "        if for_a: da = (g * b).sum_to_size(a.shape)\n"
            "        if for_b: db = (g * a).sum_to_size(b.shape)\n"
            "        return da, db",
            "When only a needs a gradient, backward returns zeros for b in place of None.",
        ),
        (
            "return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)",
            "When only a needs a gradient, backward also computes the one for b.",
        ),
        (
            "if for_a: da = (g * b).sum_to_size(a.shape)\n"
            "        if for_b: db = (g * a).sum_to_size(b.shape)\n"
            "        return da, db",
            "When only a needs a gradient, backward reads a variable before it has a value.",
        ),
    ],
)
def test_what_happens_to_the_other_argument(body, words):
    assert first(MULTIPLY.format(body=body), "Multiply").message == words


LINEAR = """
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        return torch.nn.functional.linear(x, weight, bias)
    @staticmethod
    def backward(ctx, g):
        x, w, b = ctx.saved_tensors
        n = ctx.needs_input_grad
        rows = g.reshape(-1, w.shape[0])
        db = rows.sum(0) if b is not None and n[2] else None
        return g @ w if n[0] else None, rows.T @ x.reshape(-1, w.shape[1]) if n[1] else None, db
"""


def test_a_bias_that_is_kept_for_a_question_is_named():
    finding = first(LINEAR, "MyLinear")
    assert "bias is kept only to ask whether there is one (line 12)" in finding.message
    assert "never read" not in finding.message


TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward({kept})
        return y
    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * {slope}
"""


@pytest.mark.parametrize(
    ("kept", "slope", "words"),
    [
        ("y", "(1 - t.pow_(2))", "writes to the output, which was saved: the caller's own tensor changes"),
        ("x", "(1 - t.tanh_() ** 2)", "writes to the input x: the caller's own tensor changes"),
        ("x.tanh()", "(1 - t.pow_(2))", "writes to a saved tensor: a second backward"),
    ],
)  # fmt: skip
def test_whose_tensor_backward_writes_to(kept, slope, words):
    assert words in first(TANH.format(kept=kept, slope=slope), "MyTanh").message
