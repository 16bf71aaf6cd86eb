"""Errors that the learner's line explains: the sentence names the cause, not torch's words."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers, load

HVP = """
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(f(x), x{first})
    (product,) = torch.autograd.grad(
        (slope * v).sum(), x)
    return product
"""
LINEAR = """
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        y = x @ weight.T
        {add}
        return y
    @staticmethod
    def backward(ctx, g):
        return None
"""


def headline(source, name):
    report = evaluate(load(source, name), exercise=name, seed=1)
    return report.findings[0]


@pytest.mark.parametrize("first", ["", ", create_graph=False"])
def test_a_first_pass_without_create_graph(first):
    found = headline(HVP.format(first=first), "hvp")
    assert "create_graph=True is missing in the first pass, line 4." in found.message


def test_with_create_graph_that_is_not_the_cause():
    assert "is missing" not in headline(HVP.format(first=", create_graph=True"), "hvp").message


@pytest.mark.parametrize(
    "add",
    ["y = y + bias if bias else y", "if not bias: return y", "y = y + (bias or 0)"],
)
def test_an_optional_tensor_is_asked_whether_it_is_true(add):
    found = headline(LINEAR.format(add=add), "MyLinear")
    assert (
        "whether all of bias is true, where the question is whether there is one" in found.message
    )
    assert "bias is not None" in found.hint


def test_values_are_asked_one_by_one():
    found = headline(LINEAR.format(add="if y > 0: y = y + bias"), "MyLinear")
    assert "one yes or no" in found.message


def test_an_input_that_is_written_to_is_named_with_its_line():
    source = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.relu_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(y > 0)
        return y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
"""
    found = headline(source, "MyReLU")
    assert found.message == "forward writes in place to its input."
    assert found.evidence["source"] == "y = x.relu_()"


def test_a_python_number_has_no_item():
    source = """
def numerical_gradient(f, x, eps=1e-6):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x).reshape(-1)
        e[i] = eps
        e = e.reshape(x.shape)
        grad.view(-1)[i] = (f(x + e).item() - f(x - e).item()) / (2 * eps)
    return grad
"""
    found = headline(source, "numerical_gradient")
    assert "asks a plain float for .item, which only tensors have" in found.message


def gallery(what):
    answer = next(a for a in answers() if a.what == what)
    return evaluate(answer.load(), exercise=answer.exercise, seed=1).findings[0].message


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("one name for all saved tensors", "saved_x is the whole tuple ctx.saved_tensors"),
        ("a place in each row, wherever dim is", "dim plays no part in the index [rows, where]"),
        ("NumPy squares, and makes a plain number of a single one", "forward leaves torch for NumPy"),
        (
            "a negative dim is made positive with the dimensions of grad_output",
            "dim = -2 is counted in the output's shape, which is one shorter than x's",
        ),
        ("picks what passes out of grad_output", "The gradient for x holds the picked elements only"),
        ("divides by the size that the reduced dimension has left", "The division in line 12 has no effect"),
    ],
)  # fmt: skip
def test_the_line_that_stops_says_what_it_does(what, said):
    assert gallery(what).startswith(said)
