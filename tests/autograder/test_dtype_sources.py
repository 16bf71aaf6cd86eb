"""What makes a tensor of another dtype is named where one thing in the code does."""

import pytest

from autograder import evaluate
from autograder.causes.dtype_sources import made_by
from autograder.source import Source
from tests.mistakes.gallery import load


@pytest.mark.parametrize(
    ("line", "dtype", "words"),
    [
        ("return x.float() * 2", "float32", ".float() makes float32"),
        ("return x.double()", "float64", ".double() makes float64"),
        ("return x.to(torch.float32)", "float32", "the code names torch.float32"),
        ("return torch.ones(x.shape) * g", "float32", "torch.ones makes float32 where no dtype"),
        ("return torch.where(x > 0, 1.0, -1.0)", "float32", "torch.where with two numbers"),
        ("return torch.ones(3, dtype=x.dtype)", "float32", ""),
        ("return float(x) * 2", "float32", ""),
        (
            "a = x.float()\n    return a + torch.ones(3)",
            "float32",
            ".float() makes float32 of everything (line 2), and torch.ones makes float32 where no",
        ),
        ("return torch.FloatTensor(x.float() + torch.ones(3))", "float32", ""),
    ],
)
def test_one_source_or_two_are_named(line, dtype, words):
    found = made_by(Source.parse(f"def backward(ctx, g):\n    {line}\n"), dtype, "backward")
    assert (found is None) == (not words)
    assert found is None or found.words.startswith(words)


@pytest.mark.parametrize(
    ("signature", "body", "named"),
    [
        ("ctx, values", "values.long().float()", ".to(values.dtype)"),
        ("ctx, x", "(x >= 0).float()", ".to(x.dtype)"),
        ("context, fn, x2", "fn(x2).float()", ".to(x.dtype)"),  # fn has no dtype
    ],
)
def test_the_next_step_has_the_learners_name_and_is_right_for_a_bool_too(signature, body, named):
    source = Source.parse(f"def forward({signature}):\n    return {body}\n")
    found = made_by(source, "float32", "forward")
    assert found is not None
    assert (
        found.hint == f"In place of .float() write {named}, which keeps to the dtype of the input."
    )


def test_in_backward_the_upstream_gradient_is_at_hand():
    source = Source.parse(
        "def backward(ctx, g_values, g):\n    return torch.zeros(ctx.shape), None\n"
    )
    found = made_by(source, "float32", "backward")
    assert found is not None
    assert "(dtype=g_values.dtype)" in found.hint
    assert found.hint.endswith("a tensor that is there: g_values.new_zeros(…).")


SIGN = """
class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x){forward}
    @staticmethod
    def backward(ctx, g):
        return {backward}
"""


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (".float()", "g", "The output is float32; the input asks for float64: .float() makes"),
        (
            " > 0",
            "g",
            "The output is bool; the input asks for float64: a comparison gives True and False",
        ),
        (
            "",
            "torch.zeros(g.shape).scatter(0, torch.zeros_like(g).long(), g)",
            "backward mixes float32 with the float64 of its inputs: torch.zeros makes float32 where no dtype is named "
            "(line 8)",
        ),
        ("", "g.float()", "The gradient for x is float32; its argument is float64: .float() makes"),
        (
            "",
            "torch.ones(g.shape) * g",
            "the gradient for x is float32 instead of bfloat16: torch.ones",
        ),
    ],
)
def test_reports_name_it(forward, backward, message):
    made = load(SIGN.format(forward=forward, backward=backward), "SignSTE")
    found = evaluate(made, exercise="SignSTE", seed=1).findings[0]
    assert message in found.message
