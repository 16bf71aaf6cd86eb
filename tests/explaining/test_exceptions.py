"""Errors are told by their cause: the line, the names and the tensors that met, for any Function."""

import pytest

from autograder import evaluate
from autograder.explaining.exceptions.messages import MESSAGES, cause_in_words
from tests.mistakes.gallery import load

SQUARE = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        {forward}
        return x * x
    @staticmethod
    def backward(ctx, g):
        {backward}
"""
SAVES = "ctx.save_for_backward(x)"
RIGHT = "(x,) = ctx.saved_tensors; return 2 * x * g"


def first(source, name):
    return evaluate(load(source, name), exercise=name, seed=1).findings[0]


@pytest.mark.parametrize(
    ("forward", "backward", "cause", "facts"),
    [
        ("pass", RIGHT, "stops/nothing-saved", {"wanted": 1}),
        (SAVES, "x, y = ctx.saved_tensors; return g", "stops/unpacks-few", {"saved": True, "got": 1}),
        ("a, b, c = x.shape", RIGHT, "stops/unpacks-few", {"shape": True, "what": "x.shape", "wanted": 3}),
        (SAVES, "x = ctx.saved_tensors; return 2 * x * g", "stops/whole-tuple", {"name": "x"}),
        (SAVES, "return 2 * x * g", "stops/only-in-forward", {"name": "x"}),
        (SAVES, "return 2 * gg * g", "stops/undefined", {"name": "gg"}),
        (SAVES, "grad = g; return 2 * grda * g", "stops/misspelt", {"meant": "grad"}),
        (SAVES, "(x,) = ctx.saved_tensor; return g", "stops/misspelt", {"meant": "ctx.saved_tensors"}),
        (SAVES, "return ctx.two * g", "stops/ctx-attribute", {"attribute": "two"}),
        ("x.save_for_backward(x)", RIGHT, "stops/asks-tensor", {}),
        ("ctx.save_for_backward(x, 2)", RIGHT, "stops/saved-value", {"type": "int"}),
        ("if x > 0: pass", RIGHT, "stops/one-truth", {}),
        ("1 - (x > 0)", RIGHT, "stops/bool-minus", {}),
        (SAVES, "return g * -(g > 0)", "stops/bool-minus", {}),
        ("raise ValueError('no')", RIGHT, "stops/refuses-allowed", {"said": "no"}),
        ("x @ x", RIGHT, "stops/transposed", {"same": True}),
        ("1 / (x.dim() * 0)", RIGHT, "stops/divides", {}),
    ],
)  # fmt: skip
def test_the_cause_of_an_error(forward, backward, cause, facts):
    found = first(SQUARE.format(forward=forward, backward=backward), "Square")
    assert (found.rule, found.cause) == ("raises", cause)
    assert facts.items() <= found.facts.items()
    assert found.evidence["source"]
    assert found.evidence["original"]


def test_an_input_that_is_given_back_and_saved():
    source = """
class MyExp(Function):
    @staticmethod
    def forward(x):
        return x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y
"""
    found = first(source, "MyExp")
    assert (found.cause, found.evidence["source"]) == ("stops/as-it-is", "return x")


def test_what_is_not_written_yet():
    stub = "raise NotImplementedError()"
    report = evaluate(
        load(SQUARE.format(forward=SAVES, backward=stub), "Square"), exercise="Square"
    )
    assert (report.findings[0].cause, report.findings[0].facts["done"]) == (
        "start/nothing",
        "forward",
    )
    assert report.not_started
    left = first(SQUARE.format(forward=SAVES, backward=f"x = g\n        {stub}"), "Square")
    assert left.cause == "start/stub-left"


SOFTMAX = """
def rows(x):
    return {rows}

class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / {sum}
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return {backward}, None
"""
GOOD = {"rows": "x", "sum": "e.sum(dim, keepdim=True)", "backward": "y * g"}


@pytest.mark.parametrize(
    ("change", "cause", "facts", "line"),
    [
        ({"sum": "e.sum(dim)"}, "stops/shape", {"by": "sum", "keepdim": True}, 9),
        ({"sum": "rows(e)", "rows": "x.shape[9]"}, "stops/tuple-index", {"where": "rows, which forward calls,"}, 3),
        ({"sum": "e.sum(9)"}, "stops/dimension", {"got": 9}, 9),
        ({"backward": "y @ g"}, "stops/transposed", {}, 16),
        ({"backward": "g.reshape(7, 7)"}, "stops/reshape", {"target": "(7, 7)"}, 16),
    ],
)  # fmt: skip
def test_the_tensors_that_met(change, cause, facts, line):
    found = first(SOFTMAX.format(**{**GOOD, **change}), "Softmax")
    assert found.cause == cause
    assert facts.items() <= found.facts.items()
    assert found.evidence["line"] == line


def test_a_shape_that_was_made_in_an_earlier_line_is_told_there():
    source = SOFTMAX.format(**{**GOOD, "backward": "y * other"}).replace(
        "(y,) = ctx.saved_tensors", "(y,) = ctx.saved_tensors\n        other = g.repeat(2, 2, 2)"
    )
    found = first(source, "Softmax")
    assert found.cause == "stops/two-shapes"
    assert found.facts["second"].endswith("of line 16")


HVP = """
def hvp(f, x, v):
    x = x.detach(){leaf}
    (slope,) = torch.autograd.grad(f(x), x{first})
    (product,) = torch.autograd.grad(
        (slope * v).sum(), x)
    return product
"""


@pytest.mark.parametrize(
    ("leaf", "keyword", "cause"),
    [
        (".requires_grad_(True)", "", "stops/no-create-graph"),
        (".requires_grad_(True)", ", create_graph=False", "stops/no-create-graph"),
        ("", ", create_graph=True", "stops/nothing-requires-grad"),
    ],
)
def test_a_plain_function_that_differentiates_what_has_no_graph(leaf, keyword, cause):
    found = first(HVP.format(leaf=leaf, first=keyword), "hvp")
    assert found.cause == cause
    assert found.evidence["line"] == 4


def test_the_words_of_torch_have_one_cause_each():
    codes = [code for code, _ in MESSAGES]
    assert len(codes) == len(set(codes))
    assert cause_in_words("RuntimeError", "nobody has ever seen this") is None
    told = cause_in_words("RuntimeError", "shape '[3, 4]' is invalid for input of size 5")
    assert (told.code, told.facts) == ("stops/reshape", {"target": "(3, 4)", "count": 5})
