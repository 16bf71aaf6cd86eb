"""ste_explorer: a step function forward, and three gradients for it backward, at a movable x.

Every value and every gradient comes from running the operation under autograd, with the upstream
gradient 1. The surrogate's gradient is put in place of the step's by adding a detached difference.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from widgets.explorer import Curve, Exploration, Explorer, Frame, Panel, Sweep, pieces, short
from widgets.wording import number

PLACES = torch.arange(-60, 61, dtype=torch.float64) / 20
START = 72  # x = 0.6: inside every window, away from jumps
SCALE, QMIN, QMAX = 0.5, -4, 3  # the 3-bit grid of lesson 04: eight steps of 0.5


@dataclass(frozen=True)
class StepFunction:
    """A step function with its clipped surrogate: where a gradient passes, and between which bounds.

    passes  gives for each x whether the clipped surrogate rises there
    """

    name: str
    formula: str
    call: Callable[[Tensor], Tensor]
    passes: Callable[[Tensor], Tensor]
    bounds: tuple[float, float]


def quantise(x: Tensor) -> Tensor:
    """Fake quantisation to eight levels: round(x / 0.5), kept within −4 and 3, times 0.5."""
    return torch.round(x / SCALE).clamp(QMIN, QMAX) * SCALE


def not_clamped(x: Tensor) -> Tensor:
    """Where quantise rounds to one of its levels without clamping, as FakeQuantize of lesson 04 has it."""
    q = torch.round(x / SCALE)
    return (q >= QMIN) & (q <= QMAX)


STEPS = (
    StepFunction("sign", "sign(x)", torch.sign, lambda x: x.abs() <= 1, (-1.0, 1.0)),
    StepFunction("round", "round(x)", torch.round, lambda x: x.abs() <= 2, (-2.0, 2.0)),
    StepFunction(
        "quantise", "0.5 × clamp(round(x / 0.5), −4, 3)", quantise, not_clamped,
        ((QMIN - 0.5) * SCALE, (QMAX + 0.5) * SCALE),
    ),
)  # fmt: skip


def ste_explorer() -> Explorer:
    """Slide x over sign, round and quantise: the forward step, its surrogates, three gradients."""
    title = "A step forward, three gradients backward"
    return Explorer(Exploration(title, "Step function", "x", tuple(map(_sweep, STEPS))))


def gradients(step: StepFunction, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What arrives at x with the upstream gradient 1: autograd's own, identity, clipped."""
    return (
        _gradient(step.call, x),
        _gradient(lambda t: t + (step.call(t) - t).detach(), x),
        _gradient(lambda t: _straight_through(step, t), x),
    )


def _straight_through(step: StepFunction, x: Tensor) -> Tensor:
    surrogate = x * step.passes(x)
    return surrogate + (step.call(x) - surrogate).detach()


def _gradient(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(function(leaf).sum(), leaf)
    return found


def _sweep(step: StepFunction) -> Sweep:
    low, high = map(number, step.bounds)
    clipped_name = f"clamp(x, {low}, {high})"
    values, clamped = step.call(PLACES), PLACES.clamp(*step.bounds)
    found = gradients(step, PLACES)
    curves = (
        Curve(step.name, _drawn(values, jump=0.2)),
        Curve("surrogate x", _drawn(PLACES), 1),
        Curve(f"surrogate {clipped_name}", _drawn(clamped), 2),
    )
    names = ("autograd's own", "identity", "clipped")
    slopes = tuple(
        Curve(name, _drawn(gradient, jump=0.5), style)
        for style, (name, gradient) in enumerate(zip(names, found, strict=True))
    )
    edges = (-3.0, 3.0)
    return Sweep(
        name=step.name,
        frames=tuple(_frame(i, values, clamped, found) for i in range(len(PLACES))),
        status=f"forward gives {step.formula} = {{1}}. Of an upstream gradient of 1, backward "
        "hands on {4} by autograd's own rule, {5} by the identity, {6} by the clipped surrogate.",
        head=("gradient", "as if forward had been", "which is here", "of 1 arrives"),
        rows=(
            ("autograd's own", f"{step.name} itself, flat between its jumps", "{1}", "{4}"),
            ("identity", "x", "{2}", "{5}"),
            ("clipped", clipped_name, "{3}", "{6}"),
        ),
        panels=(
            Panel("Forward", "x", "value", edges, (-3.2, 3.2), curves),
            Panel("Backward", "x", "gradient at x", edges, (-0.25, 1.25), slopes),
        ),
        start=START,
    )


def _drawn(
    values: Tensor, jump: float = float("inf")
) -> tuple[tuple[tuple[float, float], ...], ...]:
    return pieces(list(zip(PLACES.tolist(), values.tolist(), strict=True)), jump)


def _frame(i: int, values: Tensor, clamped: Tensor, found: tuple[Tensor, ...]) -> Frame:
    x, y, window = PLACES[i].item(), values[i].item(), clamped[i].item()
    slopes = [gradient[i].item() for gradient in found]
    return Frame(
        place=f"x = {number(x)}",
        words=tuple(number(v + 0.0) for v in (x, y, x, window, *slopes)),
        marks=(
            (0, 1, x, x),
            (0, 2, x, short(window)),
            (0, 0, x, short(y)),
            *((1, style, x, slope) for style, slope in enumerate(slopes)),
        ),
        lines=((0, x, -3.2, x, 3.2), (1, x, -0.25, x, 1.25)),
    )
