"""Functions in the styles of public code: no false alarm, nothing wrong passes, surrogates are known as such."""

from __future__ import annotations

import pytest
import torch

from autograder import evaluate
from tests.anyfn.making import Entry, keep, normal, op
from tests.anyfn.right import RIGHT
from tests.anyfn.surrogates import BROKEN, SURROGATE
from tests.anyfn.wrong import WRONG
from tests.conftest import of_today

ALL = [*RIGHT, *WRONG, *SURROGATE, *BROKEN]


def test_the_bank_is_large_and_names_each_function_once():
    assert len(ALL) >= 100
    assert len({entry.name for entry in ALL}) == len(ALL)


@pytest.mark.parametrize("entry", of_today(ALL, 4), ids=lambda entry: entry.name)
def test_what_is_said_of_it(entry: Entry):
    report = evaluate(entry.submission, inputs=entry.inputs, seed=1, seconds=None, **entry.terms)
    noted = any(f.rule == "surrogate" for f in report.findings)
    if entry.verdict == "wrong":
        assert not report.passed
        assert report.findings[0].rule in entry.rules, str(report)
        assert "defect" not in report.findings[0].evidence, str(report)
    else:
        assert report.passed, str(report)
        assert noted == (entry.verdict == "surrogate" and "surrogate" not in entry.terms)


# ---- the boundary between what is meant and what is forgotten ---------------------------------

X = torch.tensor([-1.6, -0.7, -0.2, 0.3, 0.8, 1.9], dtype=torch.float64)
N = -X.abs() - 0.1


def scaled(factor):
    return lambda ctx, g: factor * g


MEANT = {
    "sign": (torch.sign, scaled(1), X),
    "sign, three times": (torch.sign, scaled(3), X),
    "floor of negative numbers": (torch.floor, scaled(1), 3 * N),
    "thresholds": (lambda x: (x > 0.5).double() + (x > -0.5).double(), scaled(1), X),
    "a quantiser of two bits": (lambda x: (x * 2).round().clamp(-2, 1) / 2, scaled(1), X),
    "a quantiser beyond its range": (lambda x: (x * 2).round().clamp(-2, 1) / 2, scaled(1), 4 * X),
    "identity, reversed": (torch.clone, scaled(-1), X),
    "identity, stopped": (torch.clone, scaled(0), X),
    "identity, halved": (lambda x: x.view_as(x), scaled(0.5), X),
    "a mask with a jump": (lambda x: x * (x.abs() > 0.5), scaled(1), X),
    "sign times a mean": (lambda x: x.sign() * x.abs().mean(), scaled(1), X),
    "a spike": (lambda x: (x > 0).double(), scaled(1), X),
    "ceil": (torch.ceil, scaled(1), X),
    "the largest alone": (lambda x: (x == x.max()).double(), scaled(1), X),
    "a rounded sum": (lambda x: (2 * x.sum()).round(), lambda ctx, g: g.expand(6), X),
    "a code of a book": (
        lambda x, book: book[(x[:, None] - book).abs().argmin(1)], lambda ctx, g: (g, None),
        (X, torch.tensor([-1.1, 0.2, 1.3])),
    ),
    "identity, clipped": (torch.clone, lambda ctx, g: g.clamp(-0.3, 0.3), X),
    "identity, of length one": (torch.clone, lambda ctx, g: g / g.norm(), X),
    "identity in a tuple, halved": (lambda x: (x.clone(),), scaled(0.5), X),
    "two identities, reversed": (lambda x, y: (x.clone(), y.clone()), lambda ctx, g, h: (-g, -h), (X, N)),
    "identity, one of two reversed": (lambda x, y: (x.clone(), y.clone()), lambda ctx, g, h: (g, -h), (X, N)),
    "a clamp, straight through": (lambda x: x.clamp(-1, 1), scaled(1), X),
    "a clamp, beyond its bounds": (lambda x: x.clamp(-0.1, 0.1), scaled(1), X),
}  # fmt: skip
FORGOTTEN = {
    "identity beside a loss of its own": (
        lambda x, loss: x.clone(), lambda ctx, g: (g, torch.ones((), dtype=torch.float64)), (X, N.sum())
    ),
    "sign with a minus": (torch.sign, scaled(-1), X),
    "relu twice where all passes": (torch.relu, scaled(2), -N),
    "a constant": (lambda x: torch.ones_like(x), scaled(1), X),
    "an opposite": (torch.neg, scaled(1), X),
    "twice": (lambda x: 2 * x, scaled(1), X),
    "absolute value": (torch.abs, scaled(1), X),
    "a sawtooth doubled": (lambda x: x - x.floor(), scaled(2), X),
    "tanh that is nearly a sign": (lambda x: torch.tanh(20 * x), scaled(1), X),
    "a shift": (lambda x: x + 1e-3, scaled(-1), X),
    "floor with a minus": (torch.floor, scaled(-1), 3 * X),
    "leaky relu without its slope": (lambda x: torch.nn.functional.leaky_relu(x, 0.1), scaled(1), X),
    "softshrink without its mask": (torch.nn.functional.softshrink, scaled(1), X),
    "a running sum": (lambda x: x.cumsum(0), scaled(1), X),
    "a half": (lambda x: x / 2, scaled(1), X),
    "other places": (lambda x: x.flip(0), scaled(1), X),
    "two identities, gradients exchanged": (lambda x, y: (x.clone(), y.clone()), lambda ctx, g, h: (h, g), (X, N)),
    "two exchanged, gradients not": (lambda x, y: (y.clone(), x.clone()), lambda ctx, g, h: (g, h), (X, N)),
    "identity beside a sine": (lambda x: (x.clone(), x.sin()), lambda ctx, g, h: g, X),
    "a clamp, doubled": (lambda x: x.clamp(-1, 1), scaled(2), X),
    "a clamp, reversed": (lambda x: x.clamp(-1, 1), scaled(-1), X),
    "what a mask fills": (lambda x, mask: x.masked_fill(mask, -9.0), lambda ctx, g: (g, None), (X, X > 0)),
    "the larger one": (torch.maximum, lambda ctx, g: (g, g), (X, N)),
}  # fmt: skip


def test_the_boundary_has_twenty_cases_on_each_side():
    assert min(len(MEANT), len(FORGOTTEN)) >= 20


@pytest.mark.parametrize("name", [*MEANT, *FORGOTTEN])
def test_who_merely_forgot_something_has_no_surrogate(name):
    forward, backward, given = (MEANT | FORGOTTEN)[name]
    made = op("Op", lambda ctx, *args: forward(*args), backward)
    report = evaluate(
        made, inputs=given if isinstance(given, tuple) else (given,), seed=3, seconds=None
    )
    assert report.passed == (name in MEANT), str(report)
    assert any(f.rule == "surrogate" for f in report.findings) == report.passed


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("x", [X, N])
def test_a_relu_lacks_a_mask_where_forward_keeps_what_it_is_made_of(keeps, x):
    made = op("Relu", lambda ctx, x: keep(ctx, x.relu(), *[x] * keeps), lambda ctx, g: g)
    report = evaluate(made, inputs=(x,), seed=3, seconds=None)
    assert report.passed != keeps, str(report)
    assert "mask" in report.findings[0].message


def shrunk(x):
    return x * (x.abs() > 0.5)


# Forwards with a slope between their jumps: the forward, what backward multiplies with, what it is told as.
MASKS = {
    "forgotten": (shrunk, torch.ones_like, "mask"),
    "too wide": (shrunk, lambda x: x.abs() > 0.1, "mask"),
    "forgotten beside a number": (lambda x: torch.where(x > 0.5, x, 0.1), torch.ones_like, "mask"),
    "forgotten on a curve": (lambda x: shrunk(x + x * x / 9), lambda x: 1 + 2 * x / 9, "mask"),
    "forgotten, three times": (lambda x: 3 * shrunk(x), lambda x: 3 + 0 * x, "mask"),
    "a sawtooth, stopped": (lambda x: x % 1, torch.zeros_like, "mask"),
    "right": (shrunk, lambda x: x.abs() > 0.5, ""),
    "a sawtooth, right": (lambda x: x % 1, torch.ones_like, ""),
    "too narrow": (shrunk, lambda x: x.abs() > 1, "wrong"),
    "on one side": (shrunk, lambda x: x > 0.5, "wrong"),
    "inverted": (shrunk, lambda x: x.abs() <= 0.5, "wrong"),
    "of two slopes, elsewhere": (lambda x: torch.where(x > 0.5, 2 * x, x / 2), lambda x: torch.where(x > 0, 2, 0.5), "wrong"),
    "reversed": (shrunk, lambda x: -torch.ones_like(x), "wrong"),
    "no jump, inverted": (lambda x: x.clamp(-1, 1), lambda x: x.abs() > 1, "wrong"),
    "soft": (shrunk, lambda x: torch.sigmoid(8 * (x.abs() - 0.5)), "steps"),
    "flat, forgotten": (lambda x: x.sign() * (x.abs() > 0.5), torch.ones_like, "steps"),
    "flat, elsewhere": (torch.round, lambda x: x.abs() < 1, "steps"),
    "a slope that follows others": (lambda x: x.sign() * x.abs().mean(), torch.ones_like, "steps"),
    "steps on a slope, straight through": (lambda x: x.round() + x / 10, torch.ones_like, "steps"),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_in_the_wrong_place_is_no_surrogate_for_steps(name):
    forward, slope, told = MASKS[name]
    made = op("Op", lambda ctx, x: keep(ctx, forward(x), x), lambda ctx, g: g * slope(ctx.saved_tensors[0]))  # fmt: skip
    report = evaluate(made, inputs=(X,), seed=3, seconds=None)
    first = report.findings[0] if report.findings else None
    assert report.passed == (told != "wrong"), str(report)
    if told == "mask":
        assert (first.severity, first.cause) == ("advice", "surrogate/mask"), str(report)
        for said in ({"strict": True}, {"reference": forward}):
            assert not evaluate(made, inputs=(X,), seed=3, seconds=None, **said).passed
        assert evaluate(made, inputs=(X,), seed=3, surrogate=lambda x: x * slope(x.detach())).passed  # fmt: skip
    elif told == "steps":
        assert (first.severity, first.cause) == ("note", "surrogate/steps"), str(report)
    else:
        assert bool(report.findings) == (told == "wrong"), str(report)


@pytest.mark.parametrize("strict", [False, True])
def test_a_clamp_may_lack_its_mask_and_says_so(strict):
    made = op("Clamp", lambda ctx, x: x.clamp(-1, 1), lambda ctx, g: g)
    report = evaluate(made, inputs=(X,), seed=3, seconds=None, strict=strict)
    assert report.passed != strict, str(report)
    assert [f.severity for f in report.findings] == ["error" if strict else "advice"], str(report)
    assert "mask" in report.findings[0].message


@pytest.mark.parametrize("reference", [None, lambda x, w: torch.outer(x, (2 * w).round())])
def test_steps_along_one_argument_excuse_no_other(reference):
    made = op(
        "Binary",
        lambda ctx, x, w: keep(ctx, torch.outer(x, (2 * w).round()), x, w),
        lambda ctx, g: (2 * g @ ctx.saved_tensors[1], ctx.saved_tensors[0] @ g),
    )
    report = evaluate(made, inputs=(X, N), reference=reference, seed=3, seconds=None)
    first, *_, note = report.findings
    assert (first.severity, first.position) == ("error", 0), str(report)
    assert note.message.startswith("forward moves in steps along w,"), str(report)


# ---- errors as large as they are measured ------------------------------------------------------

SMOOTH = {
    "exp": (torch.exp, torch.exp, normal(6)),
    "tanh far out": (torch.tanh, lambda x: 1 - torch.tanh(x) ** 2, 8 * normal(6)),
    "sine of large numbers": (torch.sin, torch.cos, 1e3 * normal(6)),
    "log of small numbers": (torch.log, torch.reciprocal, 1e-4 * normal(6).abs()),
    "float32 inside": (
        lambda x: torch.exp(x.float()).double(), lambda x: torch.exp(x.float()).double(), normal(6)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_an_error_ten_times_what_was_measured_is_found_and_one_as_small_is_not(name):
    from autograder.contract.measured import Measured

    forward, slope, x = SMOOTH[name]
    x = x.clone().requires_grad_()
    output = Measured(forward)(x)
    (measured,) = torch.autograd.grad(output, x, torch.ones_like(output))
    error = output.grad_fn.run.errors[0]
    x = x.detach()
    assert bool(((measured - slope(x)).abs() <= error + 1e-12).all())
    allowed = error + 1e-6 * slope(x).abs() + 1e-8 * slope(x).abs().max()
    if name == "float32 inside":
        allowed = allowed + 1e-4 * slope(x).abs() + 2e-5 * slope(x).abs().max()
    most = int((allowed / slope(x).abs()).argmin())
    planted = torch.zeros_like(x)
    gradcheck = 1e-5 * slope(x).abs().max() + 1e-3 * slope(x).abs()[most]
    terms = {"seed": 1, "second_order": False, "ignore": ["fails-device"]}
    for wrong, found in ((10 * allowed[most], "told"), (10 * gradcheck, "error"), (0.0, "")):
        planted[most] = wrong
        made = op("Op", lambda ctx, x: keep(ctx, forward(x), x), lambda ctx, g: g * (slope(ctx.saved_tensors[0]) + planted))  # fmt: skip
        report = evaluate(made, inputs=(x,), **terms)
        said = [f for f in report.findings if f.cause != "range/precision"]
        assert bool(said) == bool(found), str(report)
        assert found != "error" or not report.passed, str(report)
        strict = evaluate(made, inputs=(x,), strict=True, **terms)
        wrong = {f.rule for f in strict.findings} - {"loses-precision"}
        assert ("gradient-value" in wrong) == bool(found), str(strict)
