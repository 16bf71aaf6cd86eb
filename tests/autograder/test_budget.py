"""What is kept too much is named, and stands first."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        slope = 1 - y * y
        twin = y * y
        ctx.save_for_backward({saved})
        return y
    @staticmethod
    def backward(ctx, g):
        y = ctx.saved_tensors[0]
        return g * (1 - y * y)
"""


@pytest.mark.parametrize(
    ("saved", "words", "first"),
    [
        ("y, slope", "Without slope it would be just that.", "slope in saved[1]"),
        ("y, slope, twin", "Without slope and twin it would be just that.", "slope in saved[1]"),
        ("y, x", "are enough (one tensor as large as x).", ""),
    ],
)
def test_the_surplus_is_named(saved, words, first):
    made = load(TANH.format(saved=saved), "MyTanh")
    (found,) = evaluate(made, exercise="MyTanh", seed=1).findings
    assert found.rule == "saves-too-much"
    assert found.message.endswith(words)
    assert found.evidence["kept_tensors"].startswith(first)


REVERSAL = """
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        {keep}
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return -g * {read}, None
"""


def test_a_number_that_was_made_a_tensor():
    source = REVERSAL.format(
        keep="ctx.save_for_backward(torch.tensor(alpha))", read="ctx.saved_tensors[0]"
    )
    found = evaluate(load(source, "GradientReversal"), exercise="GradientReversal", seed=1).findings
    assert found[-1].message.endswith("torch.tensor(alpha) is a single number.")


@pytest.mark.parametrize(
    ("read", "hint"),
    [
        ("ctx.alpha", "backward never reads ctx.x, and needs no tensor: delete that line."),
        ("ctx.alpha * (1 if ctx.x.dim() else 1)", "at most a number or a shape of it"),
    ],
)
def test_a_tensor_on_ctx_that_backward_does_without(read, hint):
    source = REVERSAL.format(keep="ctx.alpha = alpha; ctx.x = x", read=read)
    found = evaluate(load(source, "GradientReversal"), exercise="GradientReversal", seed=1).findings
    assert found[0].rule == "saves-on-ctx"
    assert hint in found[0].hint
