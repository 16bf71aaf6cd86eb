"""What two calls share, what hides from torch, which condition keeps a gradient away, what is written to."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

MULTIPLY = """
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        {forward}
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        left, right = lambda: (g * b).sum_to_size(a.shape), lambda: (g * a).sum_to_size(b.shape)
        needs, ga, gb = ctx.needs_input_grad, None, None
        {body}
"""
SAVES = "ctx.save_for_backward(a, b)"


def first(source, name):
    return evaluate(load(source, name), exercise=name, seed=1).findings[0]


@pytest.mark.parametrize(
    ("body", "cause", "argument"),
    [
        ("if needs[0]: ga = left()\n        elif needs[1]: gb = right()\n        return ga, gb", "only-without", "b"),
        ("if needs[0]: return left(), None\n        return None, right()", "only-without", "b"),
        ("return left() if needs[1] else None, right() if needs[0] else None", "exchanged", "a"),
        ("return left() if all(needs) else None, right() if needs[1] else None", "only-with", "a"),
        ("return left(), right()", "computed", "b"),
        ("return tuple(f() for f, n in zip((left, right), needs) if n)", "none-left-out", None),
        ("ga, gb = left(), right()\n        return ga if needs[0] else None, gb if needs[1] else None", "thrown-away", None),
        ("gb = torch.zeros_like(b)\n        if needs[1]: gb = right()\n        return left() if needs[0] else None, gb", "computed", "b"),
    ],
)  # fmt: skip
def test_how_needs_input_grad_is_asked(body, cause, argument):
    found = first(MULTIPLY.format(forward=SAVES, body=body), "Multiply")
    if found.cause.startswith("needs/"):
        assert found.cause == f"needs/{cause}"
        assert found.facts.get("argument") == argument
        assert "line" in found.evidence


TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        {forward}
        y = torch.tanh(x)
        {keep}
        return y
    @staticmethod
    def backward(ctx, g):
        {get}
        return g * (1 - y * y)
"""
KEEP, GET = "ctx.save_for_backward(y)", "(y,) = ctx.saved_tensors"


@pytest.mark.parametrize(
    ("change", "rule", "cause", "facts"),
    [
        ({"keep": "MyTanh.y = y", "get": "y = MyTanh.y"}, "shared-state", "context/shared", {"names": ["MyTanh.y"]}),
        ({"keep": "ctx.y = y", "get": "y = ctx.y"}, "saves-on-ctx", "context/on-ctx", {"cycle": True, "silent": True}),
        ({"keep": f"{KEEP}; ctx.x = x"}, "saves-on-ctx", "context/on-ctx", {"unread": True, "silent": False}),
        ({"keep": "ctx.save_for_backward(y.data)"}, "saves-on-ctx", "context/unwatched", {"by": ".data"}),
        ({"forward": "x.add_(1)"}, "mutates-input", "writes/input", {"argument": "x"}),
        ({"forward": "z = x.detach(); z += 1"}, "mutates-input", "writes/input", {"argument": "x"}),
        ({"get": f"{GET}; g *= 2"}, "mutates-upstream", "writes/upstream", {}),
        ({"get": f"{GET}; y *= 2"}, "mutates-saved", "writes/output", {}),
    ],
)  # fmt: skip
def test_where_it_is_kept_and_what_is_written_to(change, rule, cause, facts):
    found = first(TANH.format(**{"forward": "pass", "keep": KEEP, "get": GET, **change}), "MyTanh")
    assert (found.rule, found.cause) == (rule, cause)
    assert facts.items() <= found.facts.items()
    assert found.evidence["line"]


@pytest.mark.parametrize(
    ("returned", "cause"),
    [
        ("[g]", "returns/list"),
        ("None, g", "returns/wrong"),
        ("2.0", "returns/no-tensor"),
    ],
)
def test_what_backward_returns(returned, cause):
    text = TANH.replace("return g * (1 - y * y)", f"return {returned}")
    found = first(text.format(forward="pass", keep=KEEP, get=GET), "MyTanh")
    assert found.cause == cause
    assert found.evidence["source"] == f"return {returned}"


def test_an_output_that_is_marked_as_constant():
    text = TANH.format(forward="pass", keep=f"{KEEP}; ctx.mark_non_differentiable(y)", get=GET)
    found = first(text, "MyTanh")
    assert (found.rule, found.cause, found.facts["name"]) == (
        "not-a-function",
        "graph/constant",
        "y",
    )


WEIGHTED = """
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        {check}
            raise TypeError("w1 and w2 have to be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2
    @staticmethod
    def backward(ctx, g):
        needed = ctx.needs_input_grad
        return ctx.w1 * g if needed[0] else None, ctx.w2 * g if needed[1] else None, None, None
"""


@pytest.mark.parametrize(
    ("check", "cause"),
    [
        ("if torch.is_tensor(w1) and torch.is_tensor(w2):", "refuses/accepted"),
        ("for w in ():", "refuses/accepted"),
    ],
)
def test_something_that_is_let_through(check, cause):
    found = first(WEIGHTED.format(check=check), "WeightedSum")
    assert (found.rule, found.cause) == ("refuses", cause)


def test_the_condition_is_shown_that_leaves_a_gradient_out_and_none_is_named_that_was_not_asked():
    body = (
        "grad_x = g @ w if ctx.needs_input_grad[0] else None\n        grad_w = grad_b = None\n"
        "        if ctx.needs_input_grad[1]:\n            grad_w = g.reshape(-1, g.shape[-1]).t() @ x.reshape(-1, x.shape[-1])\n"
        "            grad_b = g.reshape(-1, g.shape[-1]).sum(0) if ctx.needs_input_grad[2] else None\n"
        "        return grad_x, grad_w, grad_b"
    )
    found = first(LINEAR.format(body=body), "LinearReLU")
    assert found.message == "When only bias needs a gradient, it gets none."
    assert found.evidence["line"] == 14  # if ctx.needs_input_grad[1]:


LINEAR = """
class LinearReLU(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        y = torch.relu(x @ w.t() + b)
        ctx.save_for_backward(x, w, y > 0)
        return y
    @staticmethod
    def backward(ctx, g):
        x, w, active = ctx.saved_tensors
        g = torch.where(active, g, 0)
        {body}
"""
