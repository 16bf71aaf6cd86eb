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
        ("y, slope", "slope is kept, and backward never reads it.", "slope in saved[1]"),
        ("y, slope, twin", ": slope and twin are kept, and backward never reads them.", "slope in"),
        ("y, x", ": x is kept, and backward never reads it.", ""),
    ],
)
def test_the_surplus_is_named(saved, words, first):
    made = load(TANH.format(saved=saved), "MyTanh")
    (found,) = evaluate(made, exercise="MyTanh", seed=1).findings
    assert found.rule == "saves-too-much"
    assert found.message.endswith(words)
    assert found.evidence["kept_tensors"].startswith(first)


@pytest.mark.parametrize(
    ("saved", "slope", "words"),
    [
        ("y, slope", "b + 0 * a", "Without slope it would be just that."),
        ("y, x", "(1 - a * torch.tanh(b))", ": the output and x are both kept, and one of them is enough."),
        ("y, x", "(1 - a * a) + 0 * torch.zeros_like(b)", ": x is kept for its shape alone."),
    ],
)  # fmt: skip
def test_what_is_read_may_still_be_too_much(saved, slope, words):
    text = TANH.format(saved=saved).replace("y = ctx.saved_tensors[0]", "a, b = ctx.saved_tensors")
    made = load(text.replace("return g * (1 - y * y)", f"return g * ({slope})"), "MyTanh")
    found = evaluate(made, exercise="MyTanh", seed=1).findings
    assert next(f for f in found if f.rule == "saves-too-much").message.endswith(words)


def test_a_mask_of_numbers_and_a_tensor_of_zeros():
    mask = (
        TANH.replace("return y", "return y")
        .replace("MyTanh", "MyReLU")
        .replace("torch.tanh(x)", "torch.relu(x)")
    )
    mask = mask.replace("y = ctx.saved_tensors[0]", "m = ctx.saved_tensors[0]").replace(
        "(1 - y * y)", "m"
    )
    found = evaluate(load(mask.format(saved="(x > 0).long()"), "MyReLU"), exercise="MyReLU", seed=1)
    assert found.findings[0].message.endswith(
        "(x > 0).long() is a mask of int64: it holds nothing but 0 and 1, for which a bool is enough."
    )


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
    assert found[-1].message.endswith("torch.tensor(alpha) is kept, and a number needs no tensor.")


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
