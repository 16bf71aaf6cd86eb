"""What a third count on Functions of other people showed: an error is what somebody has to mend."""

from __future__ import annotations

import numpy
import pytest
import torch
from torch.autograd.function import once_differentiable

from autograder import evaluate
from tests.anyfn.making import keep, normal, op, positive


def said(submission, *inputs, **terms):
    """The severity of each cause that is told."""
    report = evaluate(submission, inputs=inputs, seed=1, seconds=None, **terms)
    return {f.cause: f.severity for f in report.findings}, report


def tanh(**more):
    return op("Tanh", lambda x: x.tanh(), lambda ctx, g: g * (1 - ctx.saved_tensors[0].tanh() ** 2),
              setup_context=staticmethod(lambda ctx, given, y: ctx.save_for_backward(*given)),
              **{name: staticmethod(method) for name, method in more.items()})  # fmt: skip


def refuses(*_):
    raise NotImplementedError("not for this Function")


@pytest.mark.parametrize(
    ("more", "cause", "severity"),
    [
        ({"vmap": refuses}, "stops/refused", "advice"),
        ({"jvp": refuses}, "stops/refused", "advice"),
        ({"vmap": lambda info, dims, x: (x.tanh() + 1, dims[0])}, "transforms/vmap", "error"),
        ({"vmap": lambda info, dims, x: x.no_such}, "stops/misspelled", "error"),
        ({"jvp": lambda ctx, t: 2 * t}, "transforms/jvp", "error"),
    ],
)
def test_a_transform_may_be_refused_and_not_be_wrong(more, cause, severity):
    found, report = said(tanh(**more), normal(4))
    expected = cause if cause != "stops/misspelled" else next(iter(found))
    assert found[expected] == severity, str(report)
    assert report.passed == (severity == "advice"), str(report)


@pytest.mark.parametrize("strict", [False, True])
def test_a_layout_that_nobody_gave_may_be_refused(strict):
    def forward(ctx, x):
        if not x.is_contiguous():
            raise ValueError("x has to be contiguous")
        return keep(ctx, x.sin(), x)

    made = op("Sine", forward, lambda ctx, g: g * ctx.saved_tensors[0].cos())
    found, report = said(made, normal(3, 4), strict=strict)
    assert found == {"stops/refused": "error" if strict else "advice"}, str(report)
    assert not evaluate(made, inputs=(normal(3, 4).T,), seed=1).passed  # given, and not taken


@pytest.mark.parametrize("domain", ["probabilities", "a rotation", "made of one call"])
def test_arguments_of_a_kind_are_moved_within_it_where_calls_are_told_apart(domain):
    """Where two calls are made, the other one has arguments that forward takes."""
    last = {}

    def forward(ctx, p, matrix):
        if domain == "probabilities" and not torch.allclose(
            p.sum(-1), torch.ones(3).to(p), atol=1e-3
        ):
            raise ValueError("p has to add up to one")
        if domain == "a rotation" and not torch.allclose(
            matrix @ matrix.T, torch.eye(5).to(p), atol=1e-3
        ):
            raise ValueError("no rotation")
        last["p"] = p
        return keep(ctx, p.square() @ matrix, p, matrix)

    def backward(ctx, g):
        p, matrix = ctx.saved_tensors
        used = last["p"] if domain == "made of one call" else p
        return 2 * used * (g @ matrix.T), p.square().T @ g

    given = normal(3, 5).softmax(-1), torch.linalg.qr(normal(5, 5))[0]
    found, report = said(op("Of", forward, backward), *given, second_order=False)
    assert found.get("context/shared") == (None if domain != "made of one call" else "error"), str(report)  # fmt: skip
    assert report.passed == (domain != "made of one call"), str(report)


@pytest.mark.parametrize("offset", [1e-4, 1e-5, 1e-2])
def test_what_gradcheck_accepts_is_told_and_passes(offset):
    made = op("Root", lambda ctx, x: keep(ctx, x.sqrt(), x), lambda ctx, g: g / (2 * (ctx.saved_tensors[0] + offset).sqrt()))  # fmt: skip
    found, report = said(made, positive(5))
    told = found.get("range/approximate")
    assert (report.passed, told) == ((True, "advice") if offset < 1e-3 else (False, None)), str(report)  # fmt: skip
    assert not evaluate(made, inputs=(positive(5),), strict=True, seed=1).passed
    assert not evaluate(made, inputs=(positive(5),), reference=torch.sqrt, seed=1).passed


def test_what_gradcheck_rejects_is_an_error_however_little_it_is_beside_larger_numbers():
    """Below the floor of its norm a vector is divided by a constant, which backward forgets."""

    def normalised(ctx, x):
        n = x.norm(dim=1, keepdim=True).clamp_min(0.1)
        return keep(ctx, x / n, x, n)

    def backward(ctx, g):
        x, n = ctx.saved_tensors
        return g / n - x * (g * x).sum(1, keepdim=True) / n**3

    x = normal(4, 3)
    x[1] *= 1e-3
    made = op("Normalised", normalised, once_differentiable(backward))
    assert not evaluate(made, inputs=(x,), seed=1).passed


@pytest.mark.parametrize("harm", [False, True])
def test_a_write_to_what_is_kept_is_an_error_where_a_second_pass_differs(harm):
    def backward(ctx, g):
        slope = ctx.saved_tensors[0].clone()
        ctx.saved_tensors[0].numpy()[...] = 0.0  # torch does not see it
        return g * (slope if harm else ctx.slope)

    def forward(ctx, x):
        ctx.slope = x.cos()
        return keep(ctx, x.sin(), x.cos())

    made = op("Sine", forward, backward)
    found, report = said(made, normal(4), second_order=False, ignore=["saves-on-ctx"])
    cause = "writes/saved" if harm else "writes/harmless"
    assert found[cause] == ("error" if harm else "advice"), str(report)


@pytest.mark.parametrize("strict", [False, True])
def test_a_tensor_on_the_cpu_is_advice_where_nobody_asks_for_another_device(strict):
    made = op("Shifted", lambda ctx, x: x + torch.arange(4, dtype=x.dtype), lambda ctx, g: g)
    found, report = said(made, normal(4), strict=strict)
    assert found == {"device/cpu": "error" if strict else "advice"}, str(report)


@pytest.mark.parametrize(
    ("backward", "severity"),
    [
        (lambda ctx, g: (3 * g * ctx.saved_tensors[0] ** 2).detach().requires_grad_(), "error"),  # a new leaf
        (lambda ctx, g: 3 * g * ctx.saved_tensors[1], "advice"),  # follows grad_output alone
        (lambda ctx, g: (3 * g * ctx.saved_tensors[0] ** 2).detach(), "advice"),  # torch says so
    ],
)  # fmt: skip
def test_a_gradient_outside_of_any_graph_is_an_error_where_it_looks_like_one(backward, severity):
    made = op("Cube", lambda ctx, x: keep(ctx, x**3, x, x**2), backward)
    found, report = said(made, normal(4))
    assert list(found.values()) == [severity], str(report)


def test_outputs_may_be_nested():
    made = op("Two", lambda ctx, x: (2 * x, x.clone()), lambda ctx, g, h: 2 * g + h)
    wrong = op("Two", lambda ctx, x: (2 * x, x.clone()), lambda ctx, g, h: g + h)
    for each in (made, wrong):
        report = evaluate(lambda x: {"a": each.apply(x)[0], "b": [each.apply(x)[1]]}, inputs=(normal(3),), seed=1)  # noqa: B023 # fmt: skip
        assert report.passed == (each is made), str(report)


def test_what_needs_another_device_says_so():
    def forward(ctx, x):
        if not x.is_cuda:
            raise NotImplementedError("CUDA tensors only")
        return x.clone()

    _, report = said(op("Kernel", forward, lambda ctx, g: g), normal(3))
    assert "CUDA tensors only" in report.headline, str(report)
    assert not report.not_started


def test_a_second_derivative_says_for_which_inputs_it_is_missing():
    made = op("Scaled", lambda ctx, x, y: keep(ctx, x * y, x if x.is_contiguous() else x.contiguous(), y),
              lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]))  # fmt: skip
    _, report = said(made, normal(3, 4), normal(3, 4, seed=1))
    assert "not contiguous" in str(report), str(report)


@pytest.mark.parametrize("draw", ["numpy", "a generator of its own"])
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_what_is_drawn_elsewhere_is_drawn_again_or_nobody_can_tell(draw, factor):
    own = numpy.random.default_rng(1)

    def forward(ctx, x):
        drawn = numpy.random.rand(*x.shape) if draw == "numpy" else own.random(tuple(x.shape))
        mask = torch.as_tensor(drawn > 0.5, device=x.device).to(x.dtype)
        return keep(ctx, x * mask, mask)

    dropout = op("Dropout", forward, lambda ctx, g: factor * g * ctx.saved_tensors[0])
    _, report = said(dropout, normal(4, 5))
    steady = "passed" if factor == 1.0 else "failed"
    assert report.outcome == (steady if draw == "numpy" else "incomplete"), str(report)


@pytest.mark.parametrize("forgets", [False, True])
def test_a_zero_point_moves_in_jumps_that_lead_back(forgets):
    """Between two jumps the output follows the zero point; over longer distances it does not."""

    def forward(ctx, x, zero):
        return keep(ctx, ((x / 0.1 + zero).round().clamp(-128, 127) - zero) * 0.1, x, zero)

    def backward(ctx, g):
        return g, -0.5 * g.sum(0) if forgets else torch.zeros_like(ctx.saved_tensors[1])

    found, report = said(
        op("Affine", forward, backward), normal(4, 3), torch.tensor([0.0, 1.0, -2.0])
    )
    assert report.passed != forgets, str(report)
    assert found.get("surrogate/steps") == "note", str(report)


def test_a_parameter_of_a_surrogate_is_no_constant_with_a_gradient():
    spike = op("Spike", lambda ctx, x, width: keep(ctx, (x > 0).to(x), x, width),
               lambda ctx, g: (g * (ctx.saved_tensors[0].abs() < ctx.saved_tensors[1]), (g * ctx.saved_tensors[0]).sum()))  # fmt: skip
    found, report = said(spike, normal(6), torch.tensor(0.5))
    assert found == {"surrogate/steps": "note"}, str(report)


def test_at_a_jump_of_the_first_derivative_nobody_can_tell_the_second():
    def backward(ctx, g):
        x, length = ctx.saved_tensors
        return g * torch.where(length > 0, x / length.clamp(min=1e-12), torch.zeros_like(x))

    def forward(ctx, x):
        length = x.norm(dim=-1, keepdim=True)
        return keep(ctx, length, x, length)

    _, report = said(op("Length", forward, backward), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert report.passed, str(report)
