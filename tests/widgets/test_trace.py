"""The tracer sees everything, changes nothing and keeps nothing."""

import gc
import weakref

import pytest
import torch
from torch.autograd import Function

from tests.sigmoid_and_product import ModernSigmoid, Product, Sigmoid
from widgets.trace import record


@pytest.mark.parametrize("cls", [Sigmoid, ModernSigmoid])
def test_it_records_inputs_saved_and_raw_gradients(cls):
    x = torch.randn(3, requires_grad=True)
    with record(cls) as trace:
        cls.apply(x).sum().backward()
    (app,) = trace.applications
    assert [s.who for s in app.saved] == ["output[0]"]
    assert app.inputs[0].shape == (3,)
    (call,) = app.backwards
    assert call.received[0].values.tolist() == [1.0, 1.0, 1.0]
    assert torch.equal(call.returned[0].values, x.grad)
    assert trace.notes == []


def test_it_sees_what_torch_repairs():
    class Unsummed(Function):
        @staticmethod
        def forward(ctx, x):
            return x.expand(4, 3) * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.randn(3, requires_grad=True)
    with record(Unsummed) as trace:
        Unsummed.apply(x).sum().backward()
    assert trace.applications[0].backwards[0].returned[0].shape == (4, 3)
    assert x.grad.shape == (3,)


def test_gradients_are_bit_identical_and_classes_are_restored():
    class Child(Product):
        pass

    before = dict(vars(Product)), dict(vars(Child))
    a, b = torch.randn(2, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    plain = torch.autograd.grad(Child.apply(a, b).sin().sum(), (a, b))
    with record() as trace:
        traced = torch.autograd.grad(Child.apply(a, b).sin().sum(), (a, b))
    assert all(torch.equal(p, t) for p, t in zip(plain, traced, strict=True))
    assert (dict(vars(Product)), dict(vars(Child))) == before
    assert [app.name for app in trace.applications] == ["Child"]


def test_classes_are_restored_after_an_error_too():
    before = dict(vars(Sigmoid))
    with pytest.raises(ZeroDivisionError), record(Sigmoid):
        raise ZeroDivisionError
    assert dict(vars(Sigmoid)) == before


def test_an_error_in_backward_is_recorded_and_passes_through():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("broken on purpose")

    x = torch.ones(2, requires_grad=True)
    with record(Broken) as trace, pytest.raises(ValueError, match="broken on purpose"):
        Broken.apply(x).sum().backward()
    assert trace.applications[0].backwards[0].error == "ValueError: broken on purpose"


def test_no_tensor_is_kept_alive():
    x = torch.randn(5, requires_grad=True)
    with record(Sigmoid) as trace:
        y = Sigmoid.apply(x)
        y.sum().backward()
        gone = weakref.ref(y)
        gc.disable()
        try:
            del y
            assert gone() is None
        finally:
            gc.enable()
    assert trace.applications


def test_tensors_on_ctx_are_found_wherever_they_hide():
    class Hider(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.bag = {"deep": [x, (x * 2,)]}
            ctx.number = 3
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    with record(Hider) as trace:
        Hider.apply(x)
    (app,) = trace.applications
    assert [(a.holder, a.who) for a in app.attributes] == [
        ("ctx.bag['deep'][0]", "input[0]"),
        ("ctx.bag['deep'][1][0]", "intermediate"),
    ]
    assert app.plain_attributes == {"number": "3"}


def test_second_backward_runs_in_grad_mode():
    x = torch.randn(3, requires_grad=True)
    with record(Sigmoid) as trace:
        (g,) = torch.autograd.grad(Sigmoid.apply(x).sum(), x, create_graph=True)
        g.sum().backward()
    assert [b.grad_mode for b in trace.applications[0].backwards] == [True, False]


def test_it_degrades_with_torch_func():
    with record(ModernSigmoid) as trace:
        grad = torch.func.grad(lambda x: ModernSigmoid.apply(x).sum())(torch.zeros(2))
    assert torch.allclose(grad, torch.full((2,), 0.25))
    assert [app.style for app in trace.applications] == ["setup_context"]


def test_arguments_by_name_stay_legal():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, scale=2.0):
            ctx.scale = scale
            return x * scale

        @staticmethod
        def backward(ctx, g):
            return g * ctx.scale, None

    x = torch.ones(2, requires_grad=True)
    with record(Scaled) as trace:
        assert Scaled.apply(x, scale=3.0).tolist() == [3.0, 3.0]
        Scaled.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert [len(app.saved) for app in trace.applications] == [0, 0]
