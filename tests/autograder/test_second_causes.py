"""Why a second derivative is missing: the sentence names what was kept, decorated or refused."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers, load

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


def first(name, forward=SAVED, decorator="", guard="", slope="kept", exercise="MyExp", hidden=True):
    text = EXP.format(forward=forward, decorator=decorator, guard=guard, slope=slope)
    made = load(text.replace("MyExp", name), name)
    report = evaluate(made, exercise=exercise, hidden=hidden, seed=1)
    return report.findings[0]


@pytest.mark.parametrize("hidden", [True, False])
def test_a_copy_of_the_output_is_told_from_an_intermediate(hidden):
    copy = first("E", "y = x.exp(); ctx.save_for_backward(y); return y.clone()", hidden=hidden)
    assert (
        "y has the numbers of the output, but is not the tensor that forward returns"
        in copy.message
    )
    assert copy.hint.startswith("Save the very tensor that forward returns")
    root = "ctx.save_for_backward(torch.exp(x / 2)); return x.exp()"
    half = first("E", root, slope="kept * kept", hidden=hidden)
    assert "torch.exp(x / 2), a tensor that forward made, is a constant" in half.message
    assert "in place of torch.exp(x / 2)" in half.hint


def test_several_intermediates_are_named_and_masks_are_not():
    many = "a, b = torch.exp(x / 2), torch.exp(x / 2) + 1; m = (x > 0).to(x.dtype); "
    many += "ctx.save_for_backward(m, a, b); return x.exp()"
    text = EXP.format(forward=many, decorator="", guard="", slope="a * (b - 1) + 0 * m")
    made = load(text.replace("(kept,)", "m, a, b"), "MyExp")
    found = evaluate(made, exercise="MyExp", seed=1).findings[0]
    assert "a and b, tensors that forward made, are constants" in found.message


def test_a_refusal_of_ones_own_is_named():
    found = first("E", guard=GUARD)
    assert found.rule == "double-backward-missing"
    assert "refuses it by a raise of its own (RuntimeError)" in found.message
    assert found.hint == "Here a second derivative is asked for: take that refusal away."
    kept = first(
        "E", "ctx.save_for_backward(2 * x.exp()); return x.exp()", guard=GUARD, slope="kept / 2"
    )
    assert "Then 2 * x.exp(), a tensor that forward made, is a constant" in kept.hint


def test_once_differentiable_is_tried_without():
    right = first("E", decorator=ONCE)
    assert "once_differentiable cuts backward off" in right.message
    assert "(Tried: without it the second derivative is right.)" in right.hint
    wrong = first(
        "E", "ctx.save_for_backward(2 * x.exp()); return x.exp()", decorator=ONCE, slope="kept / 2"
    )
    assert "but not that alone" in wrong.hint
    assert "2 * x.exp(), a tensor that forward made" in wrong.hint


ERF = "ctx.save_for_backward(x); return torch.as_tensor(scipy.special.erf(x.detach().numpy()), dtype=x.dtype)"
SLOPE = "torch.exp(-kept * kept) * 2 / torch.pi**0.5"


@pytest.mark.parametrize(
    ("change", "why", "hint"),
    [
        ({}, "nothing in backward refuses it", "Make backward refuse"),
        (
            {"decorator": ONCE},
            "once_differentiable alone does not refuse it",
            "Leave once_differentiable out",
        ),
        (
            {"decorator": ONCE, "guard": GUARD},
            "once_differentiable turns grad mode off, so that your own refusal never comes about",
            "Tried: without it an error is raised",
        ),
        (
            {"forward": f"{GUARD}\n        {ERF}"},
            "torch.is_grad_enabled() is asked in forward, where it is always False",
            "ask there",
        ),
        (
            {"guard": "if ctx.needs_input_grad == (): raise RuntimeError('no')"},
            "backward never comes to its raise",
            "Ask torch.is_grad_enabled()",
        ),
    ],
)
def test_why_nothing_is_refused(change, why, hint):
    text = {"forward": ERF, "decorator": "", "guard": "", "slope": SLOPE} | change
    made = load("import scipy.special\n" + EXP.format(**text).replace("MyExp", "First"), "First")
    found = evaluate(made, exercise="FirstOrderOnly", seed=1).findings[0]
    assert found.rule == "double-backward-value"
    assert why in found.message
    assert hint in found.hint


def test_a_decorated_class_elsewhere_does_not_count():
    other = load(EXP.format(forward=SAVED, decorator=ONCE, guard="", slope="kept"), "MyExp")
    found = first("E", "y = x.exp(); ctx.save_for_backward(y); return y.clone()")
    assert other is not None
    assert "once_differentiable" not in found.message + found.hint


def test_a_refusal_that_the_decorator_hides_is_told_in_checkpoint_too():
    hidden = next(a for a in answers() if "a refusal under once_differentiable" in a.what)
    found = evaluate(hidden.load(), exercise="Checkpoint", seed=1).findings[0]
    assert "turns grad mode off before your own refusal is asked" in found.message
    assert "Tried: without it an error is raised" in found.hint
