"""Numbers that have a name, and the arithmetic of what has no value."""

import pytest

from autograder import evaluate
from tests.explaining.tiny import CUBE, told
from tests.mistakes.gallery import load

RIGHT = "g * 3 * x**2"
SIGMOID = """
class ScaledSigmoid(Function):
    @staticmethod
    def forward(ctx, x, scale):
        if isinstance(scale, torch.Tensor): raise TypeError("scale must be a Python number")
        ctx.save_for_backward(x)
        ctx.scale = scale or 1.0
        return scale * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None
"""
WEIGHTS = """
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        if isinstance(w1, torch.Tensor) or isinstance(w2, torch.Tensor): raise TypeError("numbers")
        ctx.weights = sorted((w1, w2))
        return w1 * x1 + w2 * x2

    @staticmethod
    def backward(ctx, g):
        w1, w2 = ctx.weights
        need = ctx.needs_input_grad
        return w1 * g if need[0] else None, w2 * g if need[1] else None, None, None
"""


@pytest.mark.parametrize(
    ("source", "name", "cause", "line", "facts"),
    [
        (SIGMOID, "ScaledSigmoid", "truth/zero", "ctx.scale = scale or 1.0", {"line": 7}),
        (WEIGHTS, "WeightedSum", "departs/edit", "ctx.weights = sorted((w1, w2))", {"mine": "sorted((w1, w2))"}),
    ],
)  # fmt: skip
def test_a_wrong_number_is_told_at_the_line_that_makes_it(source, name, cause, line, facts):
    finding = evaluate(load(source, name), exercise=name, seed=1).findings[0]
    assert (finding.cause, finding.evidence["source"]) == (cause, line), finding
    assert {key: finding.facts[key] for key in facts} == facts


@pytest.mark.parametrize(
    ("term", "said", "unsaid"),
    [
        ("(x / 0).sum()", "inf − inf", "numbers` is"),
        ("torch.full_like(x, -torch.inf) * (x > x)", "0", "underflowed"),
    ],
)
def test_what_has_no_value_is_said_as_it_happened(term, said, unsaid):
    finding = told(CUBE, f"x**3 + {term}", RIGHT)
    assert finding.cause == "value/odd", finding
    assert said in finding.message
    assert unsaid not in finding.message + finding.hint


@pytest.mark.parametrize(
    ("of_x1", "line"),
    [
        ("ctx.w1 * g if ctx.w1 else None", 16),
        ("part(ctx.w1, g)", 2),
        ("ctx.w1 * g if ctx.w1 != 0 else torch.ones_like(g)", None),  # nothing asks for its truth
    ],
)
def test_a_0_that_is_taken_for_nothing_is_told_where_it_is_asked(of_x1, line):
    source = f"""def part(factor, g):
    return factor * g if factor else None


{WEIGHTS.strip().replace("w1 * g if need[0] else None", of_x1).replace("sorted((w1, w2))", "w1, w2")}
"""
    source = source.replace("w1, w2 = ctx.weights", "ctx.w1, w2 = ctx.weights")
    finding = evaluate(load(source, "WeightedSum"), exercise="WeightedSum", seed=1).findings[0]
    assert (finding.cause == "truth/zero") == (line is not None), finding
    assert line in (None, finding.evidence["line"])
