"""The watcher of the engine tells the order of nodes and what each gets, and changes nothing."""

import gc
import weakref

import pytest
import torch
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

from tests.sigmoid_and_product import ModernSigmoid, Product, Sigmoid
from widgets.trace import record


class Unsummed(Function):
    """Broadcasts in forward and leaves the summing to torch."""

    @staticmethod
    def forward(ctx, x):
        return x.expand(4, 3) * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def kinds(trace):
    return [
        (event.kind, None if event.node is None else trace.nodes[event.node].name)
        for event in trace.events
    ]


def test_nodes_come_in_the_order_in_which_the_engine_takes_them():
    x = torch.randn(3, requires_grad=True)
    with record(engine=True) as trace:
        (2 * Sigmoid.apply(x)).sum().backward()
    assert kinds(trace) == [
        ("starts", None),
        ("receives", "SumBackward0"), ("sends", "SumBackward0"),
        ("receives", "MulBackward0"), ("sends", "MulBackward0"),
        ("receives", "SigmoidBackward"), ("sends", "SigmoidBackward"),
        ("accumulates", "torch::autograd::AccumulateGrad"),
        ("ends", None),
    ]  # fmt: skip
    own = [node for node in trace.nodes if node.application is not None]
    assert [trace.applications[node.application].name for node in own] == ["Sigmoid"]
    assert [event.order for event in trace.events] == sorted(e.order for e in trace.events)
    (call,) = trace.applications[0].backwards
    before, after = (e.order for e in trace.events if e.node == own[0].number)
    assert before < call.order < after


def test_what_a_node_sends_is_what_torch_repaired():
    x = torch.randn(3, requires_grad=True)
    with record(engine=True) as trace:
        Unsummed.apply(x).sum().backward()
    [sent] = [e for e in trace.events if e.kind == "sends" and trace.nodes[e.node].application == 0]
    assert trace.applications[0].backwards[0].returned[0].shape == (4, 3)
    assert sent.gradients[0].shape == (3,)
    assert sent.gradients[0].values.tolist() == [8, 8, 8] == x.grad.tolist()


def test_accumulation_tells_before_what_was_added_and_after():
    x = torch.ones(2, requires_grad=True)
    with record(engine=True) as trace:
        (3 * x).sum().backward()
        (4 * x).sum().backward()
    steps = [e.gradients for e in trace.events if e.kind == "accumulates"]
    assert steps[0][0] is None
    assert [[shot.values.tolist()[0] for shot in step if shot] for step in steps] == [
        [3, 3],
        [3, 4, 7],
    ]
    leaves = [node for node in trace.nodes if node.leaf is not None]
    assert all(node.leaf() is x for node in leaves)


def test_grad_returns_without_accumulating():
    x = torch.ones(2, requires_grad=True)
    with record(engine=True) as trace:
        (gradient,) = torch.autograd.grad(Sigmoid.apply(x).sum(), x)
    assert kinds(trace)[-1] == ("ends", None)
    assert torch.equal(trace.events[-1].gradients[0].values, gradient)
    assert "accumulates" not in [event.kind for event in trace.events]


def run_all_sorts():
    """Gradients of several kinds of graphs, from one seed."""
    torch.manual_seed(0)
    a, b = (torch.randn(2, 3, requires_grad=True) for _ in range(2))
    found = []
    Product.apply(Product.apply(a, b), b).sin().sum().backward()
    found += [a.grad, b.grad]
    (first,) = torch.autograd.grad(ModernSigmoid.apply(a).sum(), a, create_graph=True)
    found += [first.detach(), *torch.autograd.grad((first * first).sum(), a)]
    checkpoint(lambda t: Sigmoid.apply(t).cos(), b, use_reentrant=False).sum().backward()
    checkpoint(lambda t: Sigmoid.apply(t).cos(), b, use_reentrant=True).sum().backward()
    return [*found, b.grad]


def test_gradients_are_bit_identical_and_torch_is_restored():
    run_backward = torch.autograd._engine_run_backward
    plain = run_all_sorts()
    with record(engine=True) as trace:
        watched = run_all_sorts()
    assert all(torch.equal(p, w) for p, w in zip(plain, watched, strict=True))
    assert trace.notes == []
    assert torch.autograd._engine_run_backward is run_backward


def test_hooks_are_gone_and_no_tensor_is_kept_alive():
    x = torch.randn(5, requires_grad=True)
    gc.disable()
    try:
        with record(engine=True) as trace:
            y = Sigmoid.apply(x)
            y.sum().backward(retain_graph=True)
            gone = weakref.ref(y)
            node = weakref.ref(y.grad_fn)
            del y
            assert gone() is None
            assert node() is None
        events = len(trace.events)
        x.sum().backward()
        assert len(trace.events) == events
        leaf = weakref.ref(x)
        del x
        assert leaf() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("returned", [(1, 2), "text", ()])
def test_an_error_of_the_engine_is_told_and_passes_through(returned):
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return returned

    run_backward = torch.autograd._engine_run_backward
    x = torch.ones(2, requires_grad=True)
    with record(engine=True) as trace, pytest.raises((RuntimeError, TypeError)) as raised:
        Odd.apply(x).sum().backward()
    assert trace.events[-1].kind == "error"
    assert str(raised.value)[:40] in trace.events[-1].text
    assert torch.autograd._engine_run_backward is run_backward


def test_the_watchers_own_trouble_becomes_a_note(monkeypatch):
    def trouble(*_):
        raise ZeroDivisionError("of the watcher")

    monkeypatch.setattr("widgets.engine.Engine._walk", trouble)
    x = torch.ones(2, requires_grad=True)
    with record(engine=True) as trace:
        x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert "of the watcher" in trace.notes[0]


def test_under_torch_func_it_says_what_it_does_not_see():
    with record(engine=True) as trace:
        grad = torch.func.grad(lambda x: ModernSigmoid.apply(x).sum())(torch.zeros(2))
    assert torch.allclose(grad, torch.full((2,), 0.25))
    assert any("torch.func" in note for note in trace.notes)


def test_a_graph_too_large_is_watched_in_part():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(500):
        y = y + 1
    with record(engine=True) as trace:
        y.backward()
    assert x.grad == 1
    assert len(trace.nodes) == 400
    assert "400" in trace.notes[0]
