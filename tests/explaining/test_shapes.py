"""What a wrong shape, sum or dtype is due to; and the causes far out, in other layouts and dtypes."""

import pytest
import torch

from autograder import evaluate
from tests.explaining.tiny import CUBE, MATRICES, PRODUCT, RELU, ROWS, told
from tests.mistakes.gallery import load


@pytest.mark.parametrize(
    ("exercise", "forward", "backward", "rule", "cause"),
    [
        (PRODUCT, "a * b", "g * b, g * a", "gradient-unsummed", "value/unsummed"),
        (PRODUCT, "a * b", "g * b, (g * a).sum()", "gradient-shape", "departs/sum"),
        (PRODUCT, "(a * b).sum(-1)", "g, g", "forward-shape", "departs/edit"),
        (PRODUCT, "(a * b).unsqueeze(0)", "g, g", "forward-shape", "departs/shape"),
        (MATRICES, "(x @ w).T", "g, g", "forward-shape", "departs/places"),
        (CUBE, "x**3", "(g * 3 * x**2).reshape(-1)", "gradient-shape", "departs/shape"),
        (CUBE, "x**3", "(g * 3 * x**2).mean()", "gradient-shape", "departs/edit"),
        (RELU, "x.clamp(min=0)", "g[x > 0]", "gradient-shape", "departs/shape"),
        (ROWS, "torch.logsumexp(x, -1, keepdim=True)", "g", "forward-shape", "departs/edit"),
        (RELU, "x.clamp(min=0) > 0", "g", "forward-dtype", "forward/dtype"),
        (CUBE, "(x**3).float()", "g", "forward-dtype", "forward/dtype"),
    ],
)
def test_shapes(exercise, forward, backward, rule, cause):
    finding = told(exercise, forward, backward)
    assert (finding.rule, finding.cause) == (rule, cause), finding


@pytest.mark.parametrize(
    ("forward", "step", "next_"),
    [
        ("torch.log(torch.exp(x).sum(-1))", "step/operation", "next/own-maximum"),
        ("x.max() + torch.log(torch.exp(x - x.max()).sum(-1))", "step/operation", "next/own-maximum"),
        ("torch.logsumexp(x.clamp(-50, 50), -1)", "step/limit", "next/limit"),
    ],
)  # fmt: skip
def test_the_operation_that_lost_a_number(forward, step, next_):
    finding = told(ROWS, forward, "g.unsqueeze(-1) * torch.softmax(x, -1)")
    assert finding.rule == "forward-unstable"
    assert finding.facts["steps"][0].cause == step
    assert (finding.facts["next"].cause, finding.evidence["line"]) == (next_, 5)


SLOPE = "x.clamp(min=0)", "g * (x > 0)"


@pytest.mark.parametrize(
    ("forward", "backward", "rule", "cause"),
    [
        (SLOPE[0], "g.as_strided(x.shape, x.stride()) * (x > 0)", "fails-noncontiguous", "strides/wrong"),
        (SLOPE[0], "g * (x > 0).double()", "fails-float32", "float32/wrong"),
    ],
)  # fmt: skip
def test_right_in_the_ordinary_cases_only(forward, backward, rule, cause):
    finding = told(RELU, forward, backward)
    assert (finding.rule, finding.cause) == (rule, cause), finding
    assert finding.evidence["line"]


def test_infinity_is_asked_for_where_the_right_answer_is_finite():
    finding = told(RELU, "x * (x > 0)", SLOPE[1])  # −inf · 0
    assert (finding.rule, finding.cause) == ("fails-special-point", "special/wrong"), finding
    assert finding.evidence["line"]


def test_where_no_gradient_arrives_none_goes_on():
    from dataclasses import replace

    asked = replace(RELU, gradcheck=False)  # which asks it in ordinary cases
    finding = told(asked, SLOPE[0], f"({SLOPE[1]}) * g / g")
    assert (finding.rule, finding.cause) == ("fails-special-point", "special/wrong"), finding


def test_tiny_gradients_keep_their_digits_where_that_is_asked():
    from dataclasses import replace

    from autograder.contract.exercise import Case
    from tests.explaining.tiny import exercise

    asked = exercise(
        torch.nn.functional.logsigmoid, "(x)", Case("a vector", lambda s: (s.normal(5),)),
        Case("large", lambda s: (torch.tensor([20.0, 30.0]).double(),), role="extreme", digits=True),
    )  # fmt: skip
    wrong = "torch.nn.functional.logsigmoid(x)", "g * (1 - torch.sigmoid(x))"
    finding = told(asked, *wrong)
    assert (finding.rule, finding.cause) == ("gradient-unstable", "unstable/gradient")
    large = replace(asked.cases[1], digits=False)
    with pytest.raises(AssertionError):  # all checks pass
        told(replace(asked, cases=(asked.cases[0], large)), *wrong)


def test_tiny_values_do_too():
    from autograder.contract.exercise import Case
    from tests.explaining.tiny import exercise

    asked = exercise(
        torch.exp, "(x)", Case("a vector", lambda s: (s.normal(5),)),
        Case("small", lambda s: (torch.tensor([-20.0, -30.0]).double(),), role="extreme", digits=True),
    )  # fmt: skip
    finding = told(asked, "torch.expm1(x) + 1", "g * torch.exp(x)")
    assert (finding.rule, finding.cause) == ("forward-unstable", "unstable/output")


def test_a_shape_that_is_wrong_in_batches_only():
    from autograder.contract.exercise import Case
    from tests.explaining.tiny import exercise

    asked = exercise(
        lambda x, w: x @ w, "(x, w)", *MATRICES.cases,
        Case("a batch", lambda s: (s.normal(5, 2, 3), s.normal(3, 4)), role="batch"),
        second_order="not-judged",
    )  # fmt: skip
    finding = told(asked, "x @ w", "g @ w.mT, x.mT @ g")
    assert finding.rule == "fails-batch-dims"
    assert finding.facts["step"].cause.startswith(("departs/", "value/"))


def test_a_sum_over_no_dimension_is_seen_in_the_run():
    code = """
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    dims = [i for i, n in enumerate(shape) if n == 1 and grad.shape[i] > 1]
    grad = grad.sum(dims, keepdim=True)
    return grad
"""
    finding = evaluate(load(code, "unbroadcast"), exercise="unbroadcast", seed=1).findings[0]
    assert (finding.cause, finding.evidence["line"]) == ("departs/sum", 6), finding
