"""The tracer where Functions run in other ways: compiled, transformed, recomputed, on another device.

It sees what can be seen, says what cannot, changes no number, and never raises.
"""

import warnings

import pytest
import torch
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

from tests.sigmoid_and_product import ModernSigmoid, Sigmoid
from widgets.engine import COMPILED
from widgets.trace import record

NO_COMPILER = "torch.compile makes no machine code here, so tracing beside it was NOT tested."
NO_CUDA = "No CUDA device was found, so tracing on a GPU was NOT tested."


class Vmapped(Function):
    """In the form that every transform of torch.func takes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.power * x ** (ctx.power - 1), None


class InPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


class TwoOutputs(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x * 2, x**2

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        parts = (None if g is None else 2 * g, None if h is None else 2 * x * h)
        return sum(part for part in parts if part is not None)


# ---- torch.compile -------------------------------------------------------------------------
@pytest.fixture
def fresh_compiler():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Dynamo warns where it meets what it cannot take in
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield
    torch._dynamo.reset()


@pytest.fixture
def compiler(fresh_compiler, tmp_path, monkeypatch):
    """What torch.compile needs for machine code; without it a test is skipped, loudly."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setattr(
        "torch._inductor.config.compile_threads", 1
    )  # no pool of processes for two kernels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own
        try:
            torch.compile(torch.sin, fullgraph=True)(torch.ones(2))
        except Exception as error:
            why = f"{NO_COMPILER} ({type(error).__name__})"
        else:
            yield
            return
        warnings.simplefilter("default")
        warnings.warn(why, stacklevel=1)
    pytest.skip(why)


def test_machine_code_runs_as_without_the_tracer(compiler):
    compiled = torch.compile(lambda x: Sigmoid.apply(x).sum(), fullgraph=True)
    x = torch.linspace(-2, 2, 5, requires_grad=True)
    with record(engine=True) as trace:
        (traced,) = torch.autograd.grad(compiled(x), x)
    (after,) = torch.autograd.grad(compiled(x), x)
    assert torch.equal(traced, after)
    assert torch.allclose(traced, torch.sigmoid(x) * (1 - torch.sigmoid(x)))
    assert trace.notes == [COMPILED]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("cls", [Sigmoid, ModernSigmoid])
def test_compiled_code_runs_as_without_the_tracer_and_is_said_not_to_be_recorded(
    cls, backend, fresh_compiler
):
    compiled = torch.compile(lambda x: cls.apply(x).sum(), backend=backend, fullgraph=True)
    x = torch.randn(4, requires_grad=True)
    (plain,) = torch.autograd.grad(compiled(x), x)
    with record(engine=True) as trace:
        (traced,) = torch.autograd.grad(compiled(x), x)
    (after,) = torch.autograd.grad(compiled(x), x)
    assert torch.equal(plain, traced)
    assert torch.equal(plain, after)
    assert trace.applications == []
    assert trace.notes == [COMPILED]


def test_compiled_code_without_a_backward_is_said_so_too(fresh_compiler):
    compiled = torch.compile(Sigmoid.apply, backend="eager", fullgraph=True)
    with record() as trace:
        compiled(torch.zeros(2, requires_grad=True))
    assert trace.notes == [COMPILED]


def test_xray_of_compiled_code_says_what_to_do(fresh_compiler):
    from widgets.xray import xray

    view = xray(torch.compile(lambda x: Sigmoid.apply(x), backend="eager"), torch.zeros(2))
    assert view.walk.steps[-1].phase == "Note"
    assert "without torch.compile" in view.walk.steps[-1].text


# ---- torch.func ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("transform", "right"),
    [
        (lambda f: torch.func.grad(lambda x: f(x).sum()), lambda x: 3 * x**2),
        (lambda f: torch.func.jacrev(f), lambda x: torch.diag(3 * x**2)),
        (lambda f: torch.func.vmap(torch.func.grad(f)), lambda x: 3 * x**2),
        (lambda f: torch.func.grad(lambda x: torch.func.grad(lambda z: f(z).sum())(x).sum()), lambda x: 6 * x),
    ],
    ids=["grad", "jacrev", "vmap of grad", "grad of grad"],
)  # fmt: skip
def test_transforms_give_the_same_numbers_and_a_note(transform, right):
    x = torch.tensor([1.0, 2.0, -0.5])

    def cube(x):
        return Vmapped.apply(x, 3)

    with record(engine=True) as trace:
        found = transform(cube)(x)
    assert torch.allclose(found, right(x))
    assert trace.applications[0].name == "Vmapped"
    assert any("torch.func" in note for note in trace.notes)
    assert not any("not recorded (" in note for note in trace.notes)


# ---- in place, several outputs, errors, Functions in Functions -------------------------------
def test_writing_in_place_is_seen_where_it_was_said():
    x = torch.ones(3, requires_grad=True)
    with record(InPlace) as trace:
        InPlace.apply(x * 1).sum().backward()
    (app,) = trace.applications
    assert (app.marked_dirty, app.inputs_changed) == (1, [])
    assert x.grad.tolist() == [3, 3, 3]


def test_outputs_without_an_upstream_gradient_are_none():
    x = torch.ones(3, requires_grad=True)
    with record(TwoOutputs) as trace:
        TwoOutputs.apply(x)[1].sum().backward()
    (app,) = trace.applications
    assert (app.single, len(app.outputs)) == (False, 2)
    assert [g is None for g in app.backwards[0].received] == [True, False]
    assert x.grad.tolist() == [2, 2, 2]


def test_an_error_in_forward_is_recorded_and_passes_through():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("broken on purpose")

    with record(Broken) as trace, pytest.raises(ValueError, match="broken on purpose"):
        Broken.apply(torch.ones(2, requires_grad=True))
    assert trace.applications[0].error == "ValueError: broken on purpose"
    assert trace.applications[0].backwards == []


def test_a_function_inside_another_is_recorded_within_it():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Sigmoid.apply(x) * 2

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                leaf = x.detach().requires_grad_()
                y = Sigmoid.apply(leaf) * 2
            return torch.autograd.grad(y, leaf, grad_output)[0]

    x = torch.zeros(2, requires_grad=True)
    with record(engine=True) as trace:
        Outer.apply(x).sum().backward()
    names = [app.name for app in trace.applications]
    assert names == ["Outer", "Sigmoid", "Sigmoid"]
    outer, inner = trace.applications[0].backwards[0], trace.applications[2].backwards[0]
    assert outer.order < inner.order < inner.ended < outer.ended
    assert x.grad.tolist() == [0.5, 0.5]


# ---- checkpoint ----------------------------------------------------------------------------
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_recomputed_function_is_two_applications_with_one_backward(use_reentrant):
    x = torch.zeros(3, requires_grad=True)
    (plain,) = torch.autograd.grad(Sigmoid.apply(x).sum(), x)
    with record(Sigmoid, engine=True) as trace:
        checkpoint(Sigmoid.apply, x, use_reentrant=use_reentrant).sum().backward()
    assert torch.equal(x.grad, plain)
    assert len(trace.applications) == 2
    assert [len(app.backwards) for app in trace.applications].count(1) == 1
    assert trace.notes == []


# ---- a GPU ---------------------------------------------------------------------------------
@pytest.fixture
def cuda():
    """A CUDA device; without one a test is skipped, loudly."""
    if not torch.cuda.is_available():
        warnings.warn(NO_CUDA, stacklevel=1)
        pytest.skip(NO_CUDA)
    return torch.device("cuda")


@pytest.mark.parametrize("cls", [Sigmoid, ModernSigmoid])
def test_on_a_gpu_the_same_is_recorded_and_gradients_are_bit_identical(cls, cuda):
    x = torch.linspace(-2, 2, 5, device=cuda, requires_grad=True)
    (plain,) = torch.autograd.grad(cls.apply(x).sum(), x)
    with record(cls, engine=True) as trace:
        cls.apply(x).sum().backward()
    assert torch.equal(x.grad, plain)
    (app,) = trace.applications
    assert app.inputs[0].device.startswith("cuda")
    assert [s.who for s in app.saved] == ["output[0]"]
    assert torch.equal(app.backwards[0].returned[0].values, plain)
    assert trace.events[-1].kind == "ends"
    assert trace.notes == []


def test_on_a_gpu_a_second_backward_is_followed_in_the_engines_own_thread(cuda):
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x**2)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            x, square = ctx.saved_tensors
            return grad_output * (square + 2 * x**2)

    x = torch.ones(2, device=cuda, requires_grad=True)
    with record(Cube, engine=True) as trace:
        (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
        torch.autograd.grad(first.sum(), x)
    assert [cut.origin for cut in trace.applications[0].backwards[0].cuts] == ["saved[1]"]


def test_on_a_gpu_memory_is_given_back(cuda):
    x = torch.randn(1 << 20, device=cuda, requires_grad=True)
    Sigmoid.apply(x).sum().backward()
    x.grad = None
    before = torch.cuda.memory_allocated()
    with record(Sigmoid, engine=True) as trace:
        Sigmoid.apply(x).sum().backward()
    x.grad = None
    assert trace.applications
    assert torch.cuda.memory_allocated() - before < 1 << 16  # the few values that are shown
