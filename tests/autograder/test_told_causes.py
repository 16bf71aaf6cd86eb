"""Headlines of lessons 04 to 07 name the cause that was measured, not the place where it shows."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers

SAID = {
    ("Binarize", "whole numbers in torch.where"): "torch.where with two whole numbers makes int64",
    (
        "FakeQuantize",
        "an integer q",
    ): ".to(torch.int32) makes whole numbers, and with a Python float",
    ("hvp", "the Hessian, row by row"): "The Hessian is formed row by row",
    ("Checkpoint", "no refusal"): "no error: nothing in backward refuses it",
    (
        "Cube",
        "a second Function that keeps",
    ): "made by the backward of CubeSlope, which line 22 calls",
    ("Cube", "the factor 3 is missing"): "that of x²: the factor 3 is missing",
    ("FirstOrderOnly", "2/√π is forgotten"): "lacks the factor 2/√π",
    ("Checkpoint", "a parameter's gradient is over"): "has the gradient of one of them alone",
    ("Checkpoint", "grad mode is off in the"): "torch.enable_grad() is missing",
    ("save_in_bfloat16", "unpack gives the pair"): "unpack gives a tuple back",
    ("saved_bytes", "only one hook"): "one hook; it takes two",
    ("FlashAttention", "new tensors in float64"): "In float32: the code names torch.float64",
    ("hvp", "x does not require grad"): "differentiates by x, which does not require grad",
    ("gradient_penalty", "create_graph is missing"): "create_graph=True is missing in line 3",
    (
        "Checkpoint",
        "autograd.grad for the arguments",
    ): "asks only for the gradients of what it names",
    ("ClipGradient", "the number on the class"): "the two calls share ClipGradient.limit (line 4)",
    ("FakeQuantize", "the mask in a global"): "the two calls share the global _inside",
    ("FakeQuantize", "a gradient for scale"): "a gradient for scale, which is no tensor",
    ("ScaledDotProductAttention", "a maximum over no keys"): "of no numbers does not exist",
    ("Binarize", "torch.sign"): "the third value of torch.sign",
    ("Binarize", "< where"): "as with |x| < 1",
    ("SignSTE", "+1 at 0"): "0 is counted among the positive numbers",
    ("RoundSTE", "floor(x + 0.5)"): "halves all go up, as with floor(x + 0.5)",
    ("FakeQuantize", "the range in units"): "within half a step of the range",
    ("Checkpoint", "once_differentiable alone"): "once_differentiable alone refuses it only",
    ("saved_bytes", "pack keeps no tensor"): "does not stay alive",
    ("hvp", "one more gradient"): "this is a difference quotient of gradients",
    ("Checkpoint", "asks fn for its parameters"): "Only the parameters of an nn.Module get",
    ("GradientReversal", "the number in front"): "takes its arguments in the order (alpha, x)",
    ("ClipGradient", "the number in front"): "(limit, x); it is called with (x, limit)",
    ("RoundSTE", "the slope of a smooth"): "by a number that changes with x, from 0.25",
    ("RoundSTE", "whole numbers stay"): ".int() makes int32 of everything",
    ("gradient_penalty", "the spectral norm"): "its largest singular value",
    ("ScaledDotProductAttention", "bmm, which"): "made for tensors of three dimensions",
    ("Cube", "a square root of the output"): "a fractional power of a negative number",
    ("Cube", "the slope is a Function"): "what the backward of TripleSquare gives",
    (
        "Cube",
        "contiguous before",
    ): "With inputs that are not contiguous the first derivative is right",
    ("MyExp", "flat inside"): "forward returns another tensor",
    ("MyExp", "a flat view of x"): "is a view of x that forward made",
    ("FakeQuantize", "the zero point comes in after"): "plays no part in the clamp",
    ("FakeQuantize", "int8 before the clamp"): "a tensor of int8 that int8 cannot hold",
    ("gradient_penalty", "one weight a sample"): "upstream gradients (grad_outputs) of shape [5]",
    ("hvp", "torch.autograd.functional.hessian"): "forms the whole Hessian",
    ("Checkpoint", "whole numbers are made"): "requires_grad is set on whole numbers or bools",
    ("FirstOrderOnly", "refuses only when grad_output"): "only where grad_output requires grad",
    ("ScaledDotProductAttention", "the guard asks"): "only where grad_output requires grad",
    (
        "LeanAttention",
        "no guard: the log",
    ): "is a constant to autograd, and nothing in backward refuses it",
}


@pytest.mark.parametrize(("exercise", "what"), SAID, ids=str)
def test_the_headline_names_the_cause(exercise, what):
    (answer,) = [a for a in answers() if a.exercise == exercise and a.what.startswith(what)]
    report = evaluate(answer.load(), exercise=exercise, seed=1, hidden=True)
    assert not report.passed
    assert SAID[exercise, what] in report.headline


def test_the_case_that_is_shown_is_the_one_whose_shapes_are_named():
    (answer,) = [a for a in answers() if a.what == "beta is taken for one number a channel"]
    finding = evaluate(answer.load(), exercise="SwishTwice", seed=1, hidden=True).findings[0]
    assert "(4,) comes out, not (3, 1)" in finding.message
    assert "3×1" in finding.evidence["inputs"]["beta"]
