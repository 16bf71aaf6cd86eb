"""At a special point a headline says what happens there, and what in the code decides it."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers, load

SAID = {
    ("MyReLU", "half a gradient"): "half of grad_output passes there, and none of it should",
    ("LinearReLU", "passes the gradient at"): "all of the gradient passes where the pre-activation is exactly 0",
    ("LinearReLU", "the slope of the ReLU"): "half of the gradient passes where the pre-activation is exactly 0",
    ("Max", "what reaches the maximum"): "every one of the equal elements gets the whole gradient",
    ("Max", "shares the gradient"): "the equal elements share the gradient",
    ("LogSumExp", "every −inf becomes 0"): "a −inf of x is taken for 0 in rows with other numbers too",
    ("LogSumExp", "one −inf is enough"): "makes the whole gradient of its row 0; that is right only where all of the row is "
    "−inf (any in line 12 is content with one)",
    ("LogSigmoid", "two pieces, of which"): "none of grad_output passes there, and half of it should",
    ("Clip", "decides from the output, strictly"): "on a bound the gradient stops, and it should pass there (the mask",
    ("Clip", "isclose counts"): "passes there, and has to stop (isclose in line 5 takes in what is near)",
    ("Clip", "a small tolerance"): "passes there, and has to stop (1e-07 in line 4 takes in what is near)",
    ("Max", "a mask of all elements"): "(`x == values.unsqueeze(dim)` in line 6 is True for each of them)",
    ("Binarize", "sign plus 1e-9"): "the output is 1 at x = -1e-12, where -1 is right.",
    ("Clip", "strict comparisons"): "on a bound the gradient stops, and it should pass there.",
}  # fmt: skip


@pytest.mark.parametrize(("exercise", "what"), SAID, ids=str)
def test_the_headline_says_what_happens_there(exercise, what):
    (answer,) = [a for a in answers() if a.exercise == exercise and a.what.startswith(what)]
    headline = evaluate(answer.load(), exercise=exercise, hidden=True, seed=1).headline
    assert SAID[exercise, what] in headline
    assert "In float32" not in headline


RELU = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.relu(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return {gradient}
"""


@pytest.mark.parametrize(
    ("gradient", "decides"),
    [
        ("g * (x >= 0)", "(`x >= 0` in line 10 is True at 0)"),
        ("torch.where(x < 0, 0, g)", "(`x < 0` in line 10 is False at 0)"),
        ("g * (1 + torch.sign(x)) / 2", "(`torch.sign(x)` in line 10 is 0 at 0)"),
        ("g * (x > -1e-30) * (x < 1e30)", ""),  # of two comparisons nobody knows which
    ],
)
def test_the_one_thing_that_decides_is_named(gradient, decides):
    made = load(RELU.format(gradient=gradient), "MyReLU")
    headline = evaluate(made, exercise="MyReLU", hidden=True, seed=1).headline
    assert "one case (x = 0, the kink)" in headline
    assert decides in headline
    assert decides or " at 0)" not in headline
