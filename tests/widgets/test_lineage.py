"""A cut is found where a second derivative loses sight of an input, and nowhere else."""

import numpy as np
import pytest
import torch
from torch.autograd import Function

from widgets.trace import record


def cubed(slope, save=lambda x: (x,)):
    """A Function for x³ that saves save(x) and multiplies grad_output by slope(*saved)."""

    class Cubed(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(*save(x))
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * slope(*ctx.saved_tensors)

    return Cubed


def under_no_grad(x):
    with torch.no_grad():
        return 3 * x**2


def by_numpy(x):
    return torch.as_tensor(3 * np.square(x.detach().numpy()))


def cuts_of(cls, create_graph=True):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    upstream = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with record(cls, engine=True) as trace:
        (first,) = torch.autograd.grad(cls.apply(x), x, upstream, create_graph=create_graph)
    assert trace.notes == []
    assert first.tolist() == [3.0, 12.0]
    return {cut.origin for call in trace.applications[0].backwards for cut in call.cuts}


@pytest.mark.parametrize(
    ("origin", "slope", "save"),
    [
        ("saved[0]", lambda slope: slope, lambda x: (3 * x**2,)),
        ("saved[1]", lambda x, square: square + 2 * x**2, lambda x: (x, x**2)),
        ("detach", lambda x: 3 * x.detach() ** 2, lambda x: (x,)),
        ("data", lambda x: 3 * x * x.data, lambda x: (x,)),
        ("no_grad", under_no_grad, lambda x: (x,)),
        ("outside torch", by_numpy, lambda x: (x,)),
    ],
)
def test_each_way_to_lose_a_history_is_named(origin, slope, save):
    assert cuts_of(cubed(slope, save)) == {origin}


@pytest.mark.parametrize(
    "slope",
    [
        lambda x: 3 * x**2,
        lambda x: torch.tensor(3.0, dtype=torch.float64) * x * x * torch.ones_like(x),
        lambda x: torch.where(x > 0, 3 * x**2, torch.zeros_like(x)),
        lambda x: (x.clone() ** 2).mul_(3),
    ],
)
def test_constants_masks_and_writing_in_place_cut_nothing(slope):
    assert cuts_of(cubed(slope)) == set()


def test_a_backward_that_is_not_recorded_has_no_cuts():
    assert cuts_of(cubed(lambda slope: slope, lambda x: (3 * x**2,)), create_graph=False) == set()


def test_a_saved_output_is_no_cut():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    with record(Exp, engine=True) as trace:
        torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    assert trace.applications[0].backwards[0].cuts == []


def test_what_another_function_gives_has_a_history():
    class Slope(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.as_tensor(3 * np.square(x.numpy()))

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 6 * ctx.saved_tensors[0]

    assert cuts_of(cubed(Slope.apply)) == set()


def test_the_cut_names_the_node_where_they_meet():
    cls = cubed(lambda x, square: square + 2 * x**2, lambda x: (x, x**2))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record(cls, engine=True) as trace:
        (first,) = torch.autograd.grad(cls.apply(x).sum(), x, create_graph=True)
        torch.autograd.grad(first.sum(), x)
    [cut] = trace.applications[0].backwards[0].cuts
    assert cut.node in {(node.name, node.sequence) for node in trace.nodes}
    assert cut.node[0] == "AddBackward0"


def test_following_keeps_values_bit_identical_and_nothing_alive():
    cls = cubed(lambda x: 3 * x.detach() * x)
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    (plain,) = torch.autograd.grad(cls.apply(x).sin().sum(), x, create_graph=True)
    with record(cls, engine=True):
        (traced,) = torch.autograd.grad(cls.apply(x).sin().sum(), x, create_graph=True)
    assert torch.equal(plain, traced)
    (second,) = torch.autograd.grad(plain.sum(), x)
    assert torch.equal(second, torch.autograd.grad(traced.sum(), x)[0])
