"""Which of the tensors that are kept for backward is one too many, and where."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        slope = 1 - y * y
        ctx.save_for_backward({saved})
        return y
    @staticmethod
    def backward(ctx, g):
        {read}
        return g * {slope}
"""
ONE, TWO = "y = ctx.saved_tensors[0]", "y, b = ctx.saved_tensors"


def kept(source, name):
    found = evaluate(load(source, name), exercise=name, seed=1).findings
    return next(f for f in found if f.rule == "saves-too-much")


@pytest.mark.parametrize(
    ("saved", "read", "slope", "cause", "names", "line"),
    [
        ("y, slope", ONE, "(1 - y * y)", "never-read", ["slope"], 7),
        ("y, x", ONE, "(1 - y * y)", "never-read", ["x"], 7),
        ("y, x", TWO, "(1 - y * y) + 0 * torch.zeros_like(b)", "for-its-shape", ["x"], 7),
    ],
)  # fmt: skip
def test_the_surplus_is_named(saved, read, slope, cause, names, line):
    found = kept(TANH.format(saved=saved, read=read, slope=slope), "MyTanh")
    assert found.cause in (f"memory/{cause}", "memory/too-much")
    if found.cause != "memory/too-much":  # explained, as the first finding
        assert found.facts["names"] == names
        assert found.evidence["line"] == line
