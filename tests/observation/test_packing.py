"""Questions and answers survive the trip to bytes; anything else is refused."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.contract.plan import make_plan
from autograder.observation.observation import Answer, Named, Observation, Question
from autograder.observation.packing import Unreadable, from_bytes, to_bytes
from autograder.running.probe import probe
from tests.sigmoid_and_product import SIGMOID, Sigmoid

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(plain)
def test_plain_values_come_back_as_they_were(value):
    assert repr(from_bytes(to_bytes(value))) == repr(value)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([1.5, float("nan"), float("inf")], dtype=torch.float64),
        torch.tensor([True, False]),
        torch.zeros(0, 3),
        torch.tensor(2, dtype=torch.int64),
        torch.arange(6.0).reshape(2, 3).t(),
        torch.tensor(2.0).expand(1),  # one number, with a step of 0
        torch.arange(6.0)[::4][1:],  # and of 4
        torch.arange(6.0).reshape(2, 3)[1, 2:],
        torch.empty(0, 3).t(),
        torch.arange(6.0)[::2],
        torch.ones(()).expand(3),
        torch.ones(2, dtype=torch.bfloat16),
    ],
)
def test_tensors_come_back_bit_for_bit(tensor):
    back = from_bytes(to_bytes({"t": tensor}))["t"]
    assert back.dtype == tensor.dtype
    assert back.shape == tensor.shape
    assert torch.equal(back.nan_to_num(nan=7.0) if back.is_floating_point() else back,
                       tensor.nan_to_num(nan=7.0) if tensor.is_floating_point() else tensor)  # fmt: skip


def test_a_whole_observation_comes_back():
    plan = make_plan(SIGMOID, 3, hidden=True)
    seen = probe(Sigmoid, [from_bytes(to_bytes(q)) for q in plan], {})
    back = from_bytes(to_bytes(seen))
    assert isinstance(back, Observation)
    assert back.answers.keys() == seen.answers.keys()
    for id, answer in seen.answers.items():
        assert isinstance(back.answers[id], Answer)
        assert back.answers[id].kept == answer.kept


def test_a_function_argument_travels_by_name():
    question = Question("q", "function", args=(Named("affine", (2.0, 1.0)),))
    assert from_bytes(to_bytes(question)).args == (Named("affine", (2.0, 1.0)),)


def test_what_is_not_plain_data_is_refused():
    with pytest.raises(TypeError):
        to_bytes({"f": print})


@pytest.mark.parametrize(
    "data",
    [b"", b"12345678", b"\xff" * 40, (2).to_bytes(8, "little") + b"[]" + b"junkjunkjunk"],
)
def test_forged_bytes_are_refused(data):
    with pytest.raises(Unreadable):
        from_bytes(data)


def test_every_truncation_is_refused():
    whole = to_bytes({"t": torch.ones(3), "n": [1, 2.0, "three"]})
    for size in range(len(whole)):
        with pytest.raises(Unreadable):
            from_bytes(whole[:size])


def test_bytes_above_the_limit_are_refused_before_they_are_read():
    with pytest.raises(Unreadable, match="limit"):
        from_bytes(to_bytes(torch.zeros(1000)), limit=1000)


def test_one_part_cannot_be_named_many_times():
    """A short message that unpacks to more than it holds would fill the reader's memory."""
    data = to_bytes([torch.ones(1000), torch.zeros(10)])
    size = int.from_bytes(data[:8], "little")
    text = data[8 : 8 + size].replace(b"10]", b"1000]")
    assert text != data[8 : 8 + size]
    with pytest.raises(Unreadable, match="not there"):
        from_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


def test_more_numbers_than_told_of_are_refused():
    with pytest.raises(Unreadable, match="more than"):
        from_bytes(to_bytes(torch.ones(3)) + b"12345678")
