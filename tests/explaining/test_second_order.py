"""Why a second derivative is missing, wrong or not refused."""

from dataclasses import replace

import pytest

from autograder import evaluate
from autograder.exercises import find
from tests.mistakes.gallery import load

EXP = """
class MyExp(Function):
    @staticmethod
    def forward(ctx, x):
        {forward}

    @staticmethod
    {decorator}
    def backward(ctx, grad_output):
        {guard}
        (kept,) = ctx.saved_tensors
        return grad_output * {slope}
"""
ONCE = "@torch.autograd.function.once_differentiable"
GUARD = "if torch.is_grad_enabled(): raise RuntimeError('once only')"
SAVED = "y = x.exp(); ctx.save_for_backward(y); return y"


def first(forward=SAVED, decorator="", guard="", slope="kept", name="MyExp", exercise="MyExp"):
    text = EXP.format(forward=forward, decorator=decorator, guard=guard, slope=slope)
    made = load("import scipy.special\n" + text.replace("MyExp", name), name)
    return evaluate(made, exercise=exercise, seed=1).findings[0]


@pytest.mark.parametrize(
    ("change", "cause", "facts"),
    [
        ({"forward": "y = x.exp(); ctx.save_for_backward(y); return y.clone()"}, "second/copy-of-output", {"names": ["y"]}),
        ({"forward": "ctx.save_for_backward(torch.exp(x / 2)); return x.exp()", "slope": "kept * kept"}, "second/constant", {"names": ["torch.exp(x / 2)"]}),
        ({"forward": "ctx.save_for_backward(x.clone()); return x.exp()", "slope": "kept.exp()"}, "second/copy-of-input", {"own": "x"}),
        ({"forward": "y = x.exp(); ctx.save_for_backward(y)\n        return y.view(x.shape)"}, "second/view-of-output", {"names": ["y"]}),
        ({"slope": "kept.detach()"}, "second/cut", {"what": "detach()"}),
        ({"guard": GUARD}, "second/own-refusal", {}),
        ({"decorator": ONCE}, "second/once", {"right": True}),
        ({"decorator": ONCE, "forward": "ctx.save_for_backward(2 * x.exp()); return x.exp()", "slope": "kept / 2"}, "second/once", {"right": False}),
        ({"slope": "torch.from_numpy(kept.numpy())"}, "stops/numpy-grad", {}),
    ],
)  # fmt: skip
def test_what_is_a_constant_to_the_second_derivative(change, cause, facts):
    found = first(**change)
    assert found.cause == cause
    assert facts.items() <= found.facts.items()
    assert found.evidence["line"]


ERF = "ctx.save_for_backward(x); return torch.as_tensor(scipy.special.erf(x.detach().numpy()), dtype=x.dtype)"
REFUSED = replace(find("FirstOrderOnly"), second_order="refused", scenarios=())
SLOPE = "torch.exp(-kept * kept) * 2 / torch.pi**0.5"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({}, "second/not-refused"),
        ({"decorator": ONCE}, "second/not-refused"),
        ({"guard": "if ctx.needs_input_grad == (): raise RuntimeError('no')"}, "second/not-refused"),
    ],
)  # fmt: skip
def test_why_nothing_is_refused(change, cause):
    found = first(
        **{"forward": ERF, "slope": SLOPE, "name": "First", "exercise": REFUSED, **change}
    )
    assert (found.rule, found.cause) == ("double-backward-value", cause)
