"""What somebody without part in the checker found it to get wrong, on Functions that it had never seen."""

from __future__ import annotations

import math

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import keep, normal, op

AT_JUMPS = (torch.tensor([0.0, 4.0, 5.0]),)


def fill(value):
    """x with ``value(x, mask)`` in the place of zeros, and a backward that forgets how that follows x."""
    return op(
        "Fill",
        lambda ctx, x: keep(ctx, torch.where(x == 0, value(x, x == 0), x), x == 0),
        lambda ctx, g: g * ~ctx.saved_tensors[0],
    )


def test_beside_an_element_that_jumps_the_others_are_judged():
    mean = fill(lambda x, mask: x.sum() / (~mask).sum())
    report = evaluate(mean, inputs=AT_JUMPS, seed=1)
    assert (report.outcome, report.findings[0].rule) == ("failed", "gradient-value"), str(report)
    right = evaluate(fill(lambda x, mask: 1.0), inputs=AT_JUMPS, seed=1)
    assert (right.passed, right.undecided) == (
        True,
        ["The gradient for x at x[0]: nobody can tell."],
    )


@pytest.mark.parametrize("shape", [(30, 40), (300, 400)])
def test_one_wrong_number_in_a_large_gradient_is_found_and_named(shape):
    """Of so many numbers none is moved by itself before a line through all of them says that something is wrong."""
    calls, at = list[int](), (17, 3)

    def forward(ctx, x):
        calls.append(1)
        return keep(ctx, x.softmax(-1), x.softmax(-1), x)

    def backward(ctx, g, wrong):
        p = ctx.saved_tensors[1].softmax(-1)
        grad = p * (g - (p * g).sum(-1, keepdim=True))
        return grad.index_put((torch.tensor(at[0]), torch.tensor(at[1])), wrong * grad[at])

    for wrong in (1.0, 1.01):
        calls.clear()
        made = op("Softmax", forward, lambda ctx, g, wrong=wrong: backward(ctx, g, wrong))
        report = evaluate(made, inputs=(normal(*shape),), seed=1, seconds=None)
        assert (report.passed, report.undecided) == (wrong == 1.0, []), str(report)
        assert wrong == 1.0 or f"at [{at[0]}, {at[1]}]" in str(report), str(report)
        assert wrong > 1.0 or len(calls) < 250


def test_of_a_large_argument_it_is_said_how_much_was_not_looked_at():
    """On a kink no line tells, and there are too many numbers to move each."""
    relu = op("Relu", lambda ctx, x: keep(ctx, x.relu(), x), lambda ctx, g: g * (ctx.saved_tensors[0] > 0))  # fmt: skip
    x = normal(30, 40)
    report = evaluate(relu, inputs=(torch.where(x.abs() < 1, 0.0, x),), seed=1, seconds=None)
    assert report.passed, str(report)
    assert "of 1,200 elements" in str(report.undecided)


def test_what_nobody_can_tell_has_not_passed_and_nothing_behind_it_is_praised():
    report = evaluate(fill(lambda x, mask: 1.0), inputs=(torch.zeros(2),), seed=1)
    states = {line.key: line.state for line in report.promises}
    assert (report.outcome, report.passed) == ("incomplete", False)
    assert (states["values"], states["gradients"]) == ("kept", "undecided")
    assert states["second"] == "not reached"
    assert "every promise is kept" not in str(report)
    assert "? gradients" in str(report)


def test_a_nan_in_the_inputs_leaves_open_what_only_a_reference_can_tell():
    exp = op("Exp", lambda ctx, x: keep(ctx, x.exp(), x), lambda ctx, g: g * ctx.saved_tensors[0].exp())  # fmt: skip
    inputs = (torch.tensor([0.5, math.nan, 1.0]),)
    alone = evaluate(exp, inputs=inputs, seed=1, seconds=None)
    assert (alone.passed, alone.undecided) == (
        True,
        ["The gradient for x at x[1]: nobody can tell."],
    )
    assert not evaluate(exp, inputs=inputs, reference=torch.exp, seed=1, seconds=None).undecided


# ---- tensors that nobody can look into element by element -----------------------------------------

WEIGHT = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, -3.0]])
KINDS = {
    "sparse": (torch.Tensor.to_sparse, lambda s: s.to_dense()),
    "quantised": (
        lambda s: torch.quantize_per_tensor(s, 0.1, 0, torch.qint8), lambda s: s.dequantize().double()
    ),
    "mkldnn": (torch.Tensor.to_mkldnn, lambda s: s.to_dense()),
    "nested": (
        lambda s: torch.nested.nested_tensor(list(s), layout=torch.jagged), lambda s: s.to_padded_tensor(0.0)
    ),
}  # fmt: skip


def product(opened, factor=1.0):
    """opened(s) @ d, with ``factor`` times the right gradient for d and none for s."""
    return op(
        "Product",
        lambda ctx, s, d: keep(ctx, opened(s).to(d.dtype) @ d, opened(s).to(d.dtype)),
        lambda ctx, g: (None, factor * (ctx.saved_tensors[0].t() @ g)),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_an_argument_that_cannot_be_looked_into_is_handed_on(kind):
    made, opened = KINDS[kind]
    inputs = made(WEIGHT), normal(3, 2).requires_grad_()
    report = evaluate(product(opened), inputs=inputs, seed=1, seconds=None)
    assert report.passed, str(report)
    wrong = evaluate(product(opened, 1.5), inputs=inputs, seed=1, seconds=None)
    assert wrong.findings[0].rule == "gradient-scale", str(wrong)


def test_a_sparse_argument_goes_to_a_reference_too_and_its_own_gradient_stays_open():
    sparse, d = WEIGHT.to_sparse(), normal(3, 2).requires_grad_()
    right = product(lambda s: s.to_dense())
    terms = {"reference": lambda s, d: s @ d, "seed": 1, "seconds": None}
    report = evaluate(right, inputs=(sparse, d), **terms)
    assert report.passed, str(report)
    open_ = evaluate(right, inputs=(WEIGHT.to_sparse().requires_grad_(), d), **terms)
    assert (open_.outcome, open_.passed) == ("incomplete", False)
    assert "The gradient for s: a sparse_coo tensor" in str(open_)


@pytest.mark.parametrize("grad", [False, True])
def test_where_no_argument_can_be_looked_into_the_gradients_stay_open_and_values_are_judged(grad):
    twice = op("Twice", lambda ctx, a: 2 * a, lambda ctx, g: 2 * g)
    inputs = (WEIGHT.to_sparse().requires_grad_(grad),)
    for reference in (None, lambda a: 2 * a):
        report = evaluate(twice, inputs=inputs, reference=reference, seed=1, seconds=None)
        assert (report.outcome, report.passed) == ("incomplete", False)
        assert {line.key: line.state for line in report.promises}["gradients"] == "undecided"
        assert "The gradient for a: a sparse_coo tensor" in str(report)
    wrong = evaluate(twice, inputs=inputs, reference=lambda a: 3 * a, seed=1, seconds=None)
    assert wrong.findings[0].rule == "forward-value", str(wrong)


@pytest.mark.parametrize("factor", [2, 3])
def test_sparse_outputs_and_gradients_are_compared_as_dense_ones(factor):
    output = op("Output", lambda ctx, x: (2 * x).to_sparse(), lambda ctx, g: factor * g.to_dense())
    gradient = op("Gradient", lambda ctx, x: 2 * x, lambda ctx, g: (factor * g).to_sparse())
    for made in (output, gradient):
        report = evaluate(made, inputs=(normal(3, 2),), seed=1, seconds=None)
        assert report.passed == (factor == 2), str(report)


def test_what_ends_every_backward_comes_before_a_dtype():
    made = op("Spike", lambda ctx, x, s: keep(ctx, (x > 0).float(), x), lambda ctx, g: g)
    report = evaluate(
        made, inputs=(normal(4), 0.5), reference=lambda x, s: (x > 0).to(x.dtype) + 0 * x, seed=1
    )
    assert [f.rule for f in report.findings][:2] == ["gradient-count", "forward-dtype"], str(report)


# ---- what goes wrong in float64 alone -------------------------------------------------------------


def overflows(factor, dtype=torch.float32):
    """x², with a bound that float32 holds for float32 inputs and does not hold for float64 ones."""

    def forward(ctx, x):
        bound = torch.full((2,), torch.finfo(x.dtype).max, dtype=torch.float32)
        return keep(ctx, (x * x).clamp(max=float(bound[0])), x)

    return op("Bounded", forward, lambda ctx, g: factor * g * ctx.saved_tensors[0])


def test_what_goes_wrong_in_float64_alone_is_no_error_for_inputs_in_float32():
    inputs = (torch.tensor([0.5, -2.0, 3.0]),)
    report = evaluate(overflows(2), inputs=inputs, seed=1)
    assert report.passed, str(report)
    assert "Judged in float32, as your inputs are. In float64: Forward stops" in " ".join(
        str(report).split()
    )
    assert evaluate(overflows(2), inputs=(inputs[0].double(),), seed=1).findings[0].rule == "raises"
    assert evaluate(overflows(2), inputs=inputs, strict=True, seed=1).findings[0].rule == "raises"
    wrong = evaluate(overflows(3), inputs=inputs, seed=1)
    assert wrong.outcome == "failed"


def test_rounding_in_float32_is_no_term_without_grad_output():
    cube = op("Cube", lambda ctx, x: keep(ctx, x.float() ** 3, x), lambda ctx, g: 2 * g * ctx.saved_tensors[0] ** 2)  # fmt: skip
    report = evaluate(cube, inputs=(normal(5),), seed=1)
    assert report.outcome == "failed"
    assert "grad_output is 0" not in str(report)


def rms(factor, dtype=torch.float32):
    """x over its root mean square, computed in ``dtype`` inside and scaled in the input's own."""

    def normed(x):
        low = x.to(dtype).float()
        return (low * torch.rsqrt(low.pow(2).mean(-1, keepdim=True))).to(dtype).to(x.dtype)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n, r = normed(x), torch.rsqrt(x.pow(2).mean(-1, keepdim=True))
        gx = r * (g * w - n * (g * w * n).mean(-1, keepdim=True))
        return factor * gx, (g * n).sum(0)

    return op("Rms", lambda ctx, x, w: keep(ctx, normed(x) * w, x, w), backward)


@pytest.mark.parametrize(("dtype", "off"), [(torch.float32, 1.01), (torch.float16, 1.5)])
def test_what_is_rounded_inside_and_scaled_exactly_is_no_surrogate_and_hides_no_error(dtype, off):
    inputs = (normal(3, 4), normal(4, seed=3))
    right = evaluate(rms(1.0, dtype), inputs=inputs, seed=1, seconds=None)
    assert right.passed, str(right)
    wrong = evaluate(rms(off, dtype), inputs=inputs, seed=1, seconds=None)
    assert wrong.outcome == "failed", str(wrong)
    assert not [f for r in (right, wrong) for f in r.findings if f.rule == "surrogate"]


# ---- who requires grad ----------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1.5])
@pytest.mark.parametrize(
    "asks", [lambda ctx, x: x.requires_grad, lambda ctx, x: ctx.needs_input_grad[0]]
)
def test_a_forward_may_depend_on_who_requires_grad(asks, factor):
    def forward(ctx, x, w):
        ctx.scale = 2.0 if asks(ctx, x) else 1.0
        return keep(ctx, ctx.scale * x * w, x, w)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return ctx.scale * g * w, factor * ctx.scale * g * x

    inputs = (normal(3), normal(3, seed=1))
    report = evaluate(op("Asks", forward, backward), inputs=inputs, seed=1, seconds=None)
    assert report.passed == (factor == 1.0), str(report)


def test_differentiating_inside_backward_what_needs_no_gradient_is_told_as_that():
    def backward(ctx, g):
        with torch.enable_grad():
            x, w = ctx.saved_tensors
            return torch.autograd.grad((x * w).tanh(), (x, w), g)

    made = op("Inside", lambda ctx, x, w: keep(ctx, (x * w).tanh(), x, w), backward)
    report = evaluate(made, inputs=(normal(3), normal(3, seed=1)), seed=1, seconds=None)
    assert report.findings[0].cause == "stops/needs-none", str(report)
    assert "no tensor there requires grad" not in " ".join(str(report).split())


# ---- what only its author knows -------------------------------------------------------------------

CLAMP = op("Clamp", lambda ctx, x: x.clamp(-1, 1), lambda ctx, g: g)
HALVED = op("Halved", lambda ctx, x, w: keep(ctx, x @ w, x, w), lambda ctx, g: (0.5 * g @ ctx.saved_tensors[1].T, ctx.saved_tensors[0].T @ g))  # fmt: skip


@pytest.mark.parametrize(
    ("made", "inputs", "meant"),
    [
        (CLAMP, (3 * normal(6),), lambda x: x),
        (HALVED, (normal(3, 4), normal(4, 2)), lambda x, w: (0.5 * x + 0.5 * x.detach()) @ w),
    ],
)
def test_a_gradient_that_may_be_meant_says_how_to_say_so(made, inputs, meant):
    wrong = evaluate(made, inputs=inputs, seed=1)
    assert "surrogate=fn" in wrong.findings[0].hint, str(wrong)
    assert evaluate(made, inputs=inputs, surrogate=meant, seed=1).passed
    compared = evaluate(made, inputs=inputs, reference=made.forward.__get__(Context()), seed=1)
    assert "surrogate=fn" not in compared.findings[0].hint


class Context:
    def save_for_backward(self, *tensors):
        pass


def test_a_nested_tensor_in_the_old_layout_is_told_as_what_torch_refuses():
    nested = torch.nested.nested_tensor(list(WEIGHT))
    inputs = nested, normal(3, 2).requires_grad_()
    report = evaluate(product(lambda s: s.to_padded_tensor(0.0)), inputs=inputs, seed=1)
    assert report.findings[0].cause == "stops/nested", str(report)


# ---- where nobody knows a right answer ------------------------------------------------------------


def test_a_first_wrong_step_is_none_of_the_zeros_that_are_written_to_and_says_what_it_is_compared_with():
    def backward(ctx, g):
        cols, n = ctx.saved_tensors[0], g.shape[0]
        room = g.new_zeros(n + 2)
        for k in range(3):
            room[k : k + n] = (g * cols[k]).sin()
        return room, None

    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return sum(x[k : k + len(x) - 2] * weight[k] for k in range(3)).sinh()

    inputs = (normal(7).requires_grad_(), normal(3, seed=1))
    report = evaluate(op("Pool", forward, backward), inputs=inputs, seed=1)
    assert report.outcome == "failed"
    assert "zeros" not in report.headline, str(report)
    assert "known right answer" not in str(report)


@pytest.mark.parametrize("factor", [1.0, 1.01])
@pytest.mark.parametrize("unit", [1e-12, 1e-20])
def test_tiny_outputs_are_judged_in_their_own_unit(unit, factor):
    made = op("Tiny", lambda ctx, x: keep(ctx, unit * x.sin(), x), lambda ctx, g: factor * unit * g * ctx.saved_tensors[0].cos())  # fmt: skip
    report = evaluate(made, inputs=(normal(4),), seed=1, seconds=None)
    assert report.passed == (factor == 1.0), str(report)


def test_a_table_of_complex_numbers_is_as_wide_as_all_else():
    product = op("Product", lambda ctx, a, b: keep(ctx, a * b, a, b), lambda ctx, g: (g * ctx.saved_tensors[1].conj(), g * ctx.saved_tensors[0]))  # fmt: skip
    a, b = (torch.complex(normal(12, seed=k), normal(12, seed=k + 1)) for k in (0, 2))
    report = evaluate(product, inputs=(a, b), seed=1)
    assert not report.passed
    assert max(map(len, str(report).splitlines())) <= 97, str(report)


@pytest.mark.parametrize(
    ("backward", "cause"),
    [
        (lambda ctx, g: 2 * g * ctx.saved_tensors[0].conj(), "value/conjugated"),
        (lambda ctx, g: -2 * g * ctx.saved_tensors[0], "value/sign"),
        (lambda ctx, g: 3 * g * ctx.saved_tensors[0], "value/scale"),
    ],
)
def test_of_complex_numbers_both_parts_are_compared(backward, cause):
    squared = op("Squared", lambda ctx, z: keep(ctx, z.real**2 + z.imag**2, z), backward)
    report = evaluate(squared, inputs=(torch.complex(normal(4), normal(4, seed=1)),), seed=1)
    assert report.findings[0].cause == cause, str(report)
