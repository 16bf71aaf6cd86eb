"""Properties that hold for every shape and memory layout, tried on random ones."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import evaluate
from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.contract.plan import make_plan
from autograder.contract.references import cast
from autograder.observation.compare import close, first_difference, mismatch, ratio
from autograder.running.probe import probe
from autograder.running.submission import transposed
from tests.sigmoid_and_product import HINTS, Product, Sigmoid, sigmoid_with

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
filled = st.lists(st.integers(1, 4), max_size=3).map(tuple)
seeds = st.integers(0, 2**31 - 1)
few = settings(max_examples=25, deadline=None)


def sigmoid_on(shape) -> Exercise:
    return Exercise(
        name="ExampleSigmoid", lesson="", summary="The logistic function.", signature="(x)",
        reference=torch.sigmoid, hints=HINTS,
        cases=(Case("a tensor", lambda s: (s.normal(*shape),)),),
    )  # fmt: skip


@few
@given(shapes, seeds)
def test_a_right_answer_passes_on_every_shape(shape, seed):
    report = evaluate(Sigmoid, exercise=sigmoid_on(shape), seed=seed)
    assert report.passed, str(report)


@few
@given(filled, seeds)
def test_a_wrong_answer_fails_on_every_shape_that_is_not_empty(shape, seed):
    wrong = sigmoid_with(lambda ctx, g: 2 * Sigmoid.backward(ctx, g))
    report = evaluate(wrong, exercise=sigmoid_on(shape), seed=seed)
    assert report.findings[0].rule == "gradient-scale"


@st.composite
def broadcastable(draw):
    whole = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return [
        tuple(
            draw(st.sampled_from((1, size))) for size in whole[draw(st.integers(0, len(whole))) :]
        )
        for _ in range(2)
    ]


@few
@given(broadcastable(), seeds)
def test_broadcasting_products_pass_for_every_pair_of_shapes(pair, seed):
    first, second = pair
    exercise = Exercise(
        name="ExampleProduct", lesson="", summary="a · b", signature="(a, b)",
        reference=torch.mul, hints=HINTS,
        cases=(Case("two tensors", lambda s: (s.normal(*first), s.normal(*second))),),
    )  # fmt: skip
    report = evaluate(Product, exercise=exercise, seed=seed)
    assert report.passed, str(report)


@few
@given(shapes, seeds)
def test_transposed_has_the_same_values_in_another_layout(shape, seed):
    tensor = Sampler(seed).normal(*shape)
    other = transposed(tensor)
    assert torch.equal(other, tensor)
    assert tensor.numel() == 0 or tensor.dim() == 0 or other.data_ptr() != tensor.data_ptr()
    if tensor.numel() > 1:
        assert not other.is_contiguous()


@few
@given(filled, seeds, st.floats(0.01, 100).flatmap(lambda c: st.sampled_from((c, -c))))
def test_the_factor_is_found(shape, seed, factor):
    right = Sampler(seed).normal(*shape)
    found = ratio(factor * right, right)
    assert found is not None
    assert abs(found - factor) <= 1e-9 * abs(factor)


@few
@given(filled, seeds, st.data())
def test_one_changed_element_is_found_and_named(shape, seed, data):
    right = Sampler(seed).normal(*shape)
    place = data.draw(st.integers(0, right.numel() - 1))
    wrong = right.clone()
    wrong.view(-1)[place] += 1.0
    assert not close(wrong, right)
    assert int(mismatch(wrong, right).sum()) == 1
    index, actual, expected = first_difference(wrong, right)
    assert index == tuple(int(i) for i in torch.unravel_index(torch.tensor(place), shape))
    assert actual == expected + 1.0


@few
@given(filled, seeds)
def test_nan_is_never_right(shape, seed):
    right = Sampler(seed).normal(*shape)
    assert not close(torch.full(shape, torch.nan, dtype=torch.float64), right)
    assert not close(right, torch.full(shape, torch.nan, dtype=torch.float64))


@few
@given(seeds)
def test_a_plan_and_its_answers_depend_on_the_seed_alone(seed):
    exercise = sigmoid_on((3,))
    plans = [make_plan(exercise, seed, hidden=True) for _ in range(2)]
    answers = [probe(Sigmoid, plan, {}).answers for plan in plans]
    assert answers[0].keys() == answers[1].keys()
    for id, answer in answers[0].items():
        for a, b in zip(answer.gradients or (), answers[1][id].gradients or (), strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.equal(a, b)


@few
@given(shapes, st.sampled_from((torch.float32, torch.bfloat16, torch.float64)))
def test_cast_changes_floats_only(shape, dtype):
    args = (torch.ones(shape), torch.ones(shape, dtype=torch.int64), 3, None, True)
    made = cast(args, dtype)
    assert made[0].dtype is dtype
    assert made[1].dtype is torch.int64
    assert made[2:] == args[2:]


def test_an_infinity_agrees_with_itself_alone():
    inf = float("inf")
    right = torch.tensor([-inf, 1.0], dtype=torch.float64)
    assert close(right.clone(), right)
    for other in (0.0, inf, -1e9, float("nan")):
        assert not close(torch.tensor([other, 1.0], dtype=torch.float64), right)
    assert mismatch(torch.tensor([-inf, 1.1], dtype=torch.float64), right).tolist() == [False, True]
