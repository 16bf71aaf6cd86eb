"""Verdicts on small submissions: the root cause, and nothing that escapes."""

import sys

import pytest
import torch

from autograder import evaluate
from tests.sigmoid_and_product import (
    PRODUCT,
    SIGMOID,
    ModernSigmoid,
    Product,
    Sigmoid,
    product_with,
    sigmoid_with,
)


def first_rule(submission, exercise=SIGMOID, seed=3):
    report = evaluate(submission, exercise=exercise, seed=seed)
    return report.findings[0].rule if report.findings else "passed"


@pytest.mark.parametrize(
    "submission",
    [Sigmoid, ModernSigmoid, Sigmoid.apply, lambda x: Sigmoid.apply(x)],
    ids=["ctx", "setup_context", "apply", "wrapper"],
)
def test_right_answers_pass_in_every_form(submission):
    assert evaluate(submission, exercise=SIGMOID, seed=3).passed


WRONG = {
    "gradient-sign": lambda ctx, g: -g * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0]),
    "gradient-scale": lambda ctx, g: 3 * g * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0]),
    "gradient-zero": lambda ctx, g: g * 0,
    "gradient-missing": lambda ctx, g: None,
    "gradient-dtype": lambda ctx, g: (
        g * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0])
    ).float(),
    "gradient-shape": lambda ctx, g: (g * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0])).sum(),
    "gradient-count": lambda ctx, g: (g * ctx.saved_tensors[0], g),
    "gradient-value": lambda ctx, g: g * ctx.saved_tensors[0],
    "upstream-ignored": lambda ctx, g: ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0]),
    "upstream-nonlinear": lambda ctx, g: (
        g.abs() * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0])
    ),
    "mutates-upstream": lambda ctx, g: g.mul_(ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0])),
    "mutates-saved": lambda ctx, g: g * ctx.saved_tensors[0].mul_(1 - ctx.saved_tensors[0]),
    "double-backward-missing": lambda ctx, g: (
        g * ctx.saved_tensors[0].detach() * (1 - ctx.saved_tensors[0].detach())
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_each_wrong_backward_gets_its_rule(rule):
    assert first_rule(sigmoid_with(WRONG[rule])) == rule


def test_swapped_and_transposed_and_unsummed():
    def swapped(ctx, g):
        a, b = ctx.saved_tensors
        return (g * a).sum_to_size(b.shape), g * b

    def unsummed(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    def always(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)

    assert evaluate(Product, exercise=PRODUCT, seed=3).passed
    assert first_rule(product_with(swapped), PRODUCT) == "gradient-swapped"
    assert first_rule(product_with(unsummed), PRODUCT) == "gradient-unsummed"
    assert first_rule(product_with(always), PRODUCT) == "ignores-needs-input-grad"


def raising(error):
    def backward(ctx, g):
        raise error

    return backward


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), RecursionError("deep"), MemoryError(), ValueError("odd")],
    ids=lambda e: type(e).__name__,
)
def test_whatever_is_raised_becomes_a_finding(error):
    report = evaluate(sigmoid_with(raising(error)), exercise=SIGMOID, seed=3)
    assert report.findings[0].rule == "raises"
    assert type(error).__name__ in report.findings[0].evidence["original"]


def test_an_error_that_cannot_print_itself_is_contained():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    assert first_rule(sigmoid_with(raising(Mute()))) == "raises"


def test_endless_recursion_is_contained():
    def forward(ctx, x):
        return forward(ctx, x)

    report = evaluate(sigmoid_with(Sigmoid.backward, forward), exercise=SIGMOID, seed=3)
    assert "calls itself without end" in report.headline


def test_backward_passes_that_start_one_another_without_end_are_contained():
    outputs = []

    def forward(ctx, x):
        return torch.sigmoid(x)

    def backward(ctx, g):
        torch.autograd.backward(outputs[-1], g, retain_graph=True)

    again = sigmoid_with(backward, forward)

    def remembered(x):
        outputs.append(again.apply(x))
        return outputs[-1]

    run_backward = torch.autograd._engine_run_backward
    report = evaluate(remembered, exercise=SIGMOID, seed=3)
    assert report.findings[0].cause == "stops/endless-backward"
    assert torch.autograd._engine_run_backward is run_backward


def test_memory_that_nothing_was_written_to_is_never_right_by_chance():
    def forward(ctx, x):
        ctx.y = torch.sigmoid(x)
        out = torch.empty_like(x)
        out[x > 0] = ctx.y[x > 0]
        return out

    report = evaluate(sigmoid_with(Sigmoid.backward, forward), exercise=SIGMOID, seed=3)
    assert report.findings[0].cause == "value/odd"
    assert report.findings[0].facts["steps"][0].cause == "step/room"
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_unfinished_stub_is_not_started_not_an_error():
    def forward(ctx, x):
        raise NotImplementedError()

    report = evaluate(sigmoid_with(Sigmoid.backward, forward), exercise=SIGMOID, seed=3)
    assert report.not_started
    assert "not started yet" in report.headline


def test_an_unwritten_backward_waits_until_forward_is_right_everywhere():
    def stub(ctx, g):
        raise NotImplementedError()

    def overflows(ctx, x):
        return torch.exp(x) / (1 + torch.exp(x))

    assert evaluate(sigmoid_with(stub), exercise=SIGMOID, seed=3).not_started
    report = evaluate(sigmoid_with(stub, overflows), exercise=SIGMOID, seed=3)
    assert [f.rule for f in report.findings[:2]] == ["forward-unstable", "raises"]
    assert not report.not_started


def test_the_same_seed_gives_the_same_report():
    wrong = sigmoid_with(WRONG["gradient-value"])
    assert (
        evaluate(wrong, exercise=SIGMOID, seed=5).to_json()
        == evaluate(wrong, exercise=SIGMOID, seed=5).to_json()
    )
    assert (
        evaluate(wrong, exercise=SIGMOID, seed=5).to_json()
        != evaluate(wrong, exercise=SIGMOID, seed=6).to_json()
    )


def test_state_is_put_back_and_told(capfd):
    def careless(ctx, g):
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(0)
        print("hello from backward")
        print("to stderr", file=sys.stderr)
        return Sigmoid.backward(ctx, g)

    before = torch.get_rng_state()
    report = evaluate(sigmoid_with(careless), exercise=SIGMOID, seed=3)
    assert torch.get_default_dtype() is torch.float32
    assert torch.equal(before, torch.get_rng_state())
    assert report.findings[0].rule == "shared-state"
    assert "hello from backward" in report.printed
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_a_patched_torch_is_restored_and_told(monkeypatch):
    original = torch.sigmoid

    def patching(ctx, x):
        torch.sigmoid = lambda v: v
        return Sigmoid.forward(ctx, x)

    try:
        report = evaluate(sigmoid_with(Sigmoid.backward, patching), exercise=SIGMOID, seed=3)
        assert torch.sigmoid is original
    finally:
        torch.sigmoid = original
    assert "torch.sigmoid" in report.headline


@pytest.mark.parametrize(
    ("submission", "words"),
    [(Sigmoid, None), (object, "not a torch.autograd.Function"), (3.0, "cannot be called")],
    ids=["right", "another class", "a number"],
)
def test_the_wrong_kind_of_thing_is_told_kindly(submission, words):
    report = evaluate(submission, exercise=SIGMOID, seed=3)
    assert report.passed if words is None else words in report.headline


def test_an_unknown_name_lists_the_closest():
    with pytest.raises(ValueError, match=r"Did you mean .*MySigmoid"):
        evaluate(type("MySigmoit", (Sigmoid,), {}))


def test_a_function_without_a_course_exercise_is_compared_with_its_own_forward():
    x = torch.randn(4)
    assert evaluate(Sigmoid, inputs=(x,)).passed
    wrong = sigmoid_with(WRONG["gradient-scale"])
    report = evaluate(wrong, inputs=(x,), seed=1)
    assert report.findings[0].rule == "gradient-scale"
    assert report.findings[0].facts["ratio"] == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("inputs", [3, [], [torch.ones(2)], (1, 2)])
def test_inputs_that_make_no_sense_are_refused(inputs):
    with pytest.raises((TypeError, ValueError), match="inputs"):
        evaluate(Sigmoid, inputs=inputs)


def test_a_right_answer_passes_with_warnings_and_prints():
    import warnings

    def noisy(ctx, g):
        warnings.warn("beware", stacklevel=1)
        print("x" * 100_000)
        return Sigmoid.backward(ctx, g)

    report = evaluate(sigmoid_with(noisy), exercise=SIGMOID, seed=3)
    assert report.passed
    assert len(report.printed) <= 2000
