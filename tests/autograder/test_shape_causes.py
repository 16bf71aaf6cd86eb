"""What a wrong shape is due to: the sentence names the cause, and keeps silent where nothing shows it."""

import pytest
import torch

from autograder import evaluate
from autograder.causes.summed import explain
from autograder.causes.sums import Sum
from autograder.observation import Failure, Operand
from autograder.operands import look_again
from autograder.packing import from_bytes, to_bytes
from tests.mistakes.gallery import load


def found(source, name, hidden=True):
    return evaluate(load(source, name), exercise=name, hidden=hidden, seed=1).findings[0]


# ---- a tensor summed down to a shape ---------------------------------------------------------
UNBROADCAST = "def unbroadcast(grad, shape):\n    ahead = grad.dim() - len(shape)\n    {body}\n    return grad\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "while grad.dim() > len(shape): grad = grad.sum(0)",
            "over the new leading dimensions only",
        ),
        (
            "for i, n in enumerate(shape):\n        if n == 1: grad = grad.sum(i + ahead, keepdim=True)",
            "over the stretched dimensions only",
        ),
        (
            "for i, n in enumerate(shape):\n        if n == 1: grad = grad.sum(i, keepdim=True)",
            "The new leading dimensions are not summed",
        ),
        (
            "gone = [*range(ahead), *(i + ahead for i, n in enumerate(shape) if n == 1)]\n"
            "    grad = grad.sum(gone) if gone else grad",
            "a stretched one is dropped, where keepdim=True keeps it",
        ),
        (
            "if ahead: grad = grad.sum(0)\n"
            "    for i, n in enumerate(shape):\n        if n == 1: grad = grad.sum(i, keepdim=True)",
            "over the first of several new leading dimensions only",
        ),
        (
            "for i, n in enumerate(shape):\n        if n == 1: grad = grad.sum(i, keepdim=True)\n"
            "    for _ in range(ahead): grad = grad.sum(0)",
            "A 1 at place i of shape is taken for dimension i",
        ),
        ("grad = grad.sum(tuple(range(ahead)))", "empty tuple of dimensions"),
    ],
)
def test_which_dimensions_unbroadcast_sums(body, words):
    finding = found(UNBROADCAST.format(body=body), "unbroadcast")
    assert words in finding.message or words in finding.hint


def test_other_numbers_than_sums_are_no_sum():
    whole = torch.randn(2, 3, dtype=torch.float64)
    assert Sum(whole, (3,), whole.amax(0)).summed is None
    assert explain([Sum(whole, (3,), whole.amax(0))], "grad", "shape") is None


def test_a_right_sum_needs_no_explanation():
    whole = torch.randn(2, 3, 4, dtype=torch.float64)
    right = whole.sum((0, 2), keepdim=True).squeeze(0)
    assert explain([Sum(whole, (3, 1), right)], "grad", "shape") is None


SWISH = """
class Swish(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)
    @staticmethod
    def backward(ctx, g):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        each = g * x * x * s * (1 - s)
        grad_x = g * (s + beta * x * s * (1 - s)) if ctx.needs_input_grad[0] else None
        return grad_x, ({summed}) if ctx.needs_input_grad[1] else None
"""


@pytest.mark.parametrize(
    ("summed", "words"),
    [
        ("each.sum(0)", "summed over dimension 0 in every case"),
        ("each.sum()", "summed over everything"),
        ("each.sum().expand(beta.shape)", "summed over everything"),
        ("each", "not summed down to its shape"),
    ],
)
def test_a_gradient_of_what_was_broadcast(summed, words):
    assert words in found(SWISH.format(summed=summed), "Swish").message


def test_a_bias_summed_over_one_of_two_batch_dimensions():
    source = """
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.bias = bias is not None
        return x @ weight.mT + (bias if ctx.bias else 0)
    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        need = (*ctx.needs_input_grad, False)
        grad_weight = g.flatten(0, -2).mT @ x.flatten(0, -2) if need[1] else None
        grad_x = g @ weight if need[0] else None
        grads = grad_x, grad_weight, g.sum(0) if need[2] else None
        return grads[: len(ctx.needs_input_grad)]
"""
    message = found(source, "MyLinear").message
    assert (
        "the gradient for bias is summed over the first of several batch dimensions only" in message
    )


# ---- outputs that are right for another call -------------------------------------------------
SUM = """
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim={default}):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return {output}
    @staticmethod
    def backward(ctx, g):
        return {gradient}, None, None
"""
WIDE = "(g if ctx.keepdim else g.unsqueeze(ctx.dim)).expand(ctx.shape)"


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    ("output", "default", "words"),
    [
        ("x.sum(dim)", False, "keepdim is ignored: the output is always the one for keepdim=False"),
        ("x.sum(dim, True)", False, "keepdim"),
        ("x.sum(dim, keepdim)", True, "Where keepdim is not passed, the output is the one for keepdim=True"),
        ("x.sum(dim, not keepdim)", False, "keepdim is turned round"),
        ("x.sum(dim or None, keepdim)", False, "dim=0 is taken for no dim at all"),
        ("x.sum(-1, keepdim)", False, "dim is ignored: the output is always the one for dim=-1"),
        ("x.sum()", False, "whatever dim is"),
    ],
)  # fmt: skip
def test_an_argument_that_is_ignored_or_taken_for_another(output, default, words, hidden):
    source = SUM.format(output=output, default=default, gradient=WIDE)
    assert words in found(source, "Sum", hidden).message


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (
            "g if ctx.keepdim else g.unsqueeze(ctx.dim)",
            "they are not expanded to its shape: (2, 1) instead of (2, 5)",
        ),
        ("g.expand(ctx.shape)", "The reduced dimension is not given back"),
        (
            "(lambda s: g.reshape(s if ctx.keepdim else s.insert(ctx.dim, 1) or s))(list(g.shape)).expand(ctx.shape)",
            "comes back in the wrong place",
        ),
    ],
)
def test_a_dimension_that_is_not_given_back(gradient, words):
    source = SUM.format(output="x.sum(dim, keepdim)", default=False, gradient=gradient)
    assert words in found(source, "Sum").message


def test_outputs_in_another_order_and_a_dimension_that_is_kept():
    source = """
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim{keep})
        ctx.mark_non_differentiable(indices)
        return {returned}
    @staticmethod
    def backward(ctx, *g):
        return None, None
"""
    swapped = found(source.format(keep="", returned="indices, values"), "Max")
    assert swapped.rule == "output-count"
    assert "in the wrong order" in swapped.message
    kept = found(source.format(keep=", keepdim=True", returned="values, indices"), "Max")
    assert "the reduced dimension is kept: (3, 1) instead of (3,)" in kept.message


def test_a_second_output_of_the_wrong_shape():
    source = """
class Max(Function):
    @staticmethod
    def forward(ctx, x, dim):
        values, indices = torch.max(x, dim)
        return values, indices.unsqueeze(dim)
    @staticmethod
    def backward(ctx, *g):
        return None, None
"""
    assert "The output has shape (3, 1); it should have (3,)" in found(source, "Max").message


# ---- operands of an operation that failed ----------------------------------------------------
SOFTMAX = """
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        inner = (g * y).{reduced}
        scaled = inner * 1.0
        return y * (g - scaled), None
"""


@pytest.mark.parametrize("name", ["sum", "mean", "amax"])
def test_a_reduction_without_keepdim_is_named_with_its_line(name):
    message = found(SOFTMAX.format(reduced=f"{name}(ctx.dim)"), "Softmax").message
    assert f"keepdim=True is missing in the {name} of line 12: it drops dimension 1" in message


def test_shapes_that_no_reduction_explains_are_both_shown():
    message = found(SOFTMAX.format(reduced="mT"), "Softmax").message
    assert "(3, 4) and (4, 3)" in message
    assert "keepdim" not in message


def test_looking_again_prints_nothing_and_lets_nothing_out(capsys):
    def fails():
        print("once more")
        raise RuntimeError("size")

    look_again(Failure("forward", "RuntimeError", "size"), fails, frozenset())
    assert capsys.readouterr().out == ""


def test_operands_travel_with_the_failure():
    operand = Operand((3,), "sum", (1,), (3, 4), 7, "backward")
    failure = Failure("backward", "RuntimeError", "size", operation="sub", operands=(operand,))
    assert from_bytes(to_bytes(failure), expect=Failure) == failure


def test_matrix_products_where_elements_are_meant():
    source = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x @ x
    @staticmethod
    def backward(ctx, g):
        return g
"""
    report = evaluate(load(source, "Square"), exercise="Square", seed=1)
    assert "*, not @" in report.findings[0].message


# ---- what right and wrong cases have in common -----------------------------------------------
def test_a_gradient_that_is_right_along_the_last_dimension_only():
    source = """
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.logsumexp(x, dim)
        ctx.save_for_backward(x)
        ctx.dim = dim
        return y
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(ctx.dim) * x.softmax(-1), None
"""
    message = found(source, "LogSumExp").message
    assert (
        "right in every case in which dim is the last dimension, and wrong in the others" in message
    )


def test_writes_into_a_copy():
    source = """
def numerical_gradient(f, x, eps=1e-6):
    x = x.detach()
    flat = x.flatten()
    out = torch.zeros_like(flat)
    for i in range(len(flat)):
        old = flat[i].item()
        flat[i] = old + eps
        above = float(f(x))
        flat[i] = old - eps
        out[i] = (above - float(f(x))) / (2 * eps)
        flat[i] = old
    return out.reshape(x.shape)
"""
    finding = found(source, "numerical_gradient")
    assert (
        "There x.flatten() is a copy, and what is written into flat does not reach x"
        in finding.message
    )


# ---- sums that end in an error, and what they are told by ------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "gone = list(range(ahead)) + [i + ahead for i, n in enumerate(shape) if n < grad.shape[i + ahead]]\n"
            "    return grad.sum(gone, keepdim=True).reshape(tuple(shape))",
            "In line 4 a sum over an empty tuple of dimensions adds up everything",
        ),
        (
            "for d in range(ahead): grad = grad.sum(d)",
            "The sum in line 3 takes dimension 0 away, and those behind it move up: (3, 4) becomes (4,)",
        ),
        (
            "shape = tuple(shape)\n"
            "    for i, n in enumerate(shape + ahead * (1,)):\n"
            "        if n != grad.shape[i]: grad = grad.sum(i, keepdim=True)\n"
            "    return grad.reshape(shape)",
            "lined up from the left, where broadcasting lines them up from the right",
        ),
        (
            "size = torch.Size(shape).numel()\n"
            "    return grad.reshape(grad.numel() // size, *shape).sum(0)",
            "reshaped to (copies, *shape) and summed over the copies",
        ),
        ("shape = ahead * (1,) + shape", "here shape is a list, and it is joined to a tuple"),
    ],
)
def test_a_sum_that_stops_names_what_was_summed(body, words):
    assert words in found(UNBROADCAST.format(body=body), "unbroadcast").message


def test_a_number_that_is_left_is_no_sum_of_its_own():
    """A product takes everything away as well: the sentence names no sum."""
    message = found(UNBROADCAST.format(body="return grad.prod().reshape(shape)"), "unbroadcast")
    assert "A single number is left" in message.message


GIVEN_BACK = """
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        {before}
        ctx.shape, ctx.dim = x.shape, dim
        return x.sum(dim, keepdim)
    @staticmethod
    def backward(ctx, g):
        return g{back}.expand(ctx.shape), None, None
"""


@pytest.mark.parametrize(
    ("before", "back", "words"),
    [
        ("pass", ".unsqueeze(ctx.dim)", "gives it back once more: (4, 1) becomes (4, 1, 1)"),
        (
            "ctx.column = (*x.shape[:dim], 1, *x.shape[dim + 1:])",
            ".reshape(ctx.column)",
            "With dim = -1, dim + 1 is 0: what is taken from there on in forward",
        ),
    ],
)
def test_a_dimension_given_back_wrongly_is_named(before, back, words):
    assert words in found(GIVEN_BACK.format(before=before, back=back), "Sum").message


def test_dim_that_is_counted_from_the_front_is_not_blamed():
    counted = "n = dim; dim = dim % x.dim(); ctx.column = (*x.shape[:dim], 2, *x.shape[dim + 1:])"
    message = found(GIVEN_BACK.format(before=counted, back=".reshape(ctx.column)"), "Sum").message
    assert "dim + 1" not in message


@pytest.mark.parametrize("name", ["Multiply", "Swish"])
def test_what_is_summed_before_it_is_multiplied_is_named(name):
    product = "(g.sum_to_size(b.shape) * {other}).sum_to_size(b.shape)"
    source = (MULTIPLY if name == "Multiply" else SWISH_OF).replace("PRODUCT", product)
    source = source.replace("{other}", "a" if name == "Multiply" else "(a * a * s * (1 - s))")
    assert "grad_output is summed before it is multiplied" in found(source, name).message


MULTIPLY = """
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        wants_a, wants_b = ctx.needs_input_grad
        return (g * b).sum_to_size(a.shape) if wants_a else None, PRODUCT if wants_b else None
"""
SWISH_OF = """
class Swish(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * torch.sigmoid(a * b)
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a * b)
        wants_a, wants_b = ctx.needs_input_grad
        return g * s * (1 + a * b * (1 - s)) if wants_a else None, PRODUCT if wants_b else None
"""
