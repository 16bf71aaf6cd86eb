"""An error in one case alone: the sentence names what does not take that tensor, in place of torch's words."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load


def headline(source, name):
    return evaluate(load(source, name), exercise=name, hidden=True, seed=1).findings[0].message


LINEAR = """
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        return {out}
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n = ctx.needs_input_grad
        db = g.reshape(-1, w.shape[0]).sum(0) if ctx.biased and n[2] else None
        return g @ w if n[0] else None, {dw} if n[1] else None, db
"""
OUT = "torch.nn.functional.linear(x, weight, bias)"
ROWS = "g.reshape(-1, w.shape[0]).T @ x.reshape(-1, w.shape[1])"
ADDMM = "x.mm(weight.T) if bias is None else torch.addmm(bias, x, weight.T)"


@pytest.mark.parametrize(
    ("out", "dw", "words"),
    [
        (OUT, "g.t().mm(x)", "t in line 13 takes matrices only, two dimensions, and gets a tensor of shape (2, 3, 5)"),
        (ADDMM, ROWS, "addmm in line 7 takes matrices only, two dimensions, and gets a tensor of shape (2, 3, 4)"),
        (OUT, "g.T @ x", "g.T in line 13 turns round all dimensions, (2, 3, 5) becomes (5, 3, 2)"),
        (
            OUT,
            "g.flatten(0, -2).T @ x.flatten(0, -2)",
            "flatten(0, -2) in line 13 names dimension -2, and the tensor has one dimension only",
        ),
        (OUT, "g.reshape(-1, w.shape[0]).T @ x.view(-1, w.shape[1])", "view stops, since it takes a tensor only if"),
        (
            OUT,
            'torch.einsum("bo,bi->oi", g, x)',
            "the equation 'bo,bi->oi' in line 13 names exactly 2 dimensions of g, and here it has 3",
        ),
    ],
)  # fmt: skip
def test_what_takes_matrices_only_is_named(out, dw, words):
    assert words in headline(LINEAR.format(out=out, dw=dw), "MyLinear")


MEAN = """
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim)
    @staticmethod
    def backward(ctx, g):
        g = g if ctx.keepdim else g.unsqueeze(ctx.dim)
        return g.expand(ctx.shape) * {share}, None, None
"""


def test_a_division_of_plain_numbers_is_named():
    words = headline(MEAN.format(share="(1.0 / ctx.shape[ctx.dim])"), "Mean")
    assert "1.0 / ctx.shape[ctx.dim] in line 10 divides plain numbers, the divisor is 0" in words
    words = headline(MEAN.format(share="ctx.shape[ctx.dim] ** -1"), "Mean")
    assert "line 10 divides plain numbers" in words


def test_a_division_in_an_ordinary_case_is_named_as_well():
    words = headline(MEAN.format(share="(1 / ctx.dim)"), "Mean")
    assert words.startswith("backward stops: 1 / ctx.dim in line 10 divides plain numbers")


def test_numpy_has_no_bfloat16():
    source = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.as_tensor(np.square(x.detach().numpy()))
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g
"""
    assert "line 6 goes through NumPy, which has no bfloat16" in headline(
        "import numpy as np\n" + source.lstrip("\n"), "Square"
    )
