"""FixedPoint of lesson 11: contract, hints, and that forward takes the steps that it is told to take."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
    bytes_of,
)
from autograder.exercises.common_cases import cases_of, extreme, float64, some, special
from autograder.observation.compare import close, show

_ENOUGH = 60  # steps of a contraction by a half: more than float64 can tell
_NORM = 0.5
_FEW = 2


def fixed_point(z0: Tensor, x: Tensor, weight: Tensor, steps: int) -> Tensor:
    """The solution z of z = tanh(z weightᵀ + x), with derivatives: those of so many steps that no digit is missing."""
    z = iterated(z0.detach(), x, weight, _ENOUGH)
    return z + 0 * z0 + 0 * weight.sum()  # nothing is promised where z0 or weight is infinite


def iterated(z: Tensor, x: Tensor, weight: Tensor, steps: int) -> Tensor:
    """``steps`` times z ← tanh(z weightᵀ + x)."""
    for _ in range(steps):
        z = torch.tanh(z @ weight.mT + x)
    return z


def _drawn(s: Sampler, *shape: int, steps: int, norm: float = _NORM) -> Arguments:
    """z0 and x (…, n), and a weight (n, n) of this largest singular value."""
    z0, x, n = s.normal(*shape), s.normal(*shape), shape[-1]
    weight = s.normal(n, n)
    return z0, x, weight * norm / torch.linalg.matrix_norm(weight, 2), steps


_case = cases_of(_drawn)


# ---- as many steps as it is told ------------------------------------------------------------------


def run_few_steps(function: Solution, s: Sampler) -> Data:
    """What comes out after few steps, far from the solution."""
    z0, x, weight, _ = _drawn(s, 2, 3, steps=_FEW)
    with torch.no_grad():
        z = function(z0.clone(), x.clone(), weight.clone(), _FEW)
    return {"z0": z0, "x": x, "weight": weight, "z": z}


def judge_few_steps(data: Data, reference: Data) -> Cause | None:
    """``steps`` iterations from z0."""
    tensors = reference["z0"], reference["x"], reference["weight"]
    right = iterated(*tensors, _FEW)
    if close(data["z"], right):
        return None
    shown = {"actual": show(data["z"]), "expected": show(right)}
    for taken in (1, 3):
        if close(data["z"], iterated(*tensors, taken)):
            return Cause("fixed-point/other-steps", {"taken": taken, "steps": _FEW}, shown)
    if close(data["z"], iterated(torch.zeros_like(tensors[0]), *tensors[1:], _FEW)):
        return Cause("fixed-point/from-zero", evidence=shown)
    return Cause("fixed-point/steps", {"steps": _FEW}, shown)


# ---- the adjoint, iterated until it stands still ---------------------------------------------------
_ROUNDS = 20


def run_adjoint(function: Solution, s: Sampler) -> Data:
    """The gradient for x."""
    z0, x, weight, steps = _drawn(s, 2, 3, steps=60)
    upstream, leaf = s.normal(2, 3), x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(function(z0, leaf, weight, steps), leaf, upstream)
    return {"z0": z0, "x": x, "weight": weight, "upstream": upstream, "gradient": gradient.detach()}


def judge_adjoint(data: Data, right: Data) -> Cause | None:
    """Whether it is the gradient after a few rounds of the right iteration."""
    z = iterated(right["z0"], right["x"], right["weight"], _ENOUGH)
    slope, upstream = 1 - z * z, right["upstream"]
    after, v = [], upstream
    for _ in range(_ENOUGH):
        after.append(v * slope)
        v = upstream + (v * slope) @ right["weight"]
    if _alike(data["gradient"], after[-1]):
        return None
    for rounds, gradient in enumerate(after[:_ROUNDS]):
        if _alike(data["gradient"], gradient):
            return Cause(
                "fixed-point/one-step" if not rounds else "fixed-point/rounds", {"rounds": rounds}
            )
    return None


def _alike(one: Tensor, other: Tensor) -> bool:
    """To more digits than a round of the iteration changes."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-9, atol=1e-11)


FIXED_POINT = Exercise(
    name="FixedPoint",
    summary="z = tanh(weight z + x), by iterating from z0; the gradient is that of the equation.",
    signature="(z0, x, weight, steps)",
    reference=fixed_point,
    cases=(
        _case("a batch of vectors", 3, 4, steps=60),
        _case("another number of steps", 2, 3, steps=75, norm=0.4),
        _case("a batch of matrices", 2, 3, 2, steps=60),
        special(
            "weight = 0",
            some(3, 2), some(3, 2), [[0.0, 0.0], [0.0, 0.0]], 60,

            advice="Then z is tanh(x), and the gradient for x is grad_output · (1 − z²); weight has a gradient too.",
        ),
        _case("one number in a row", 3, 1, steps=60, role="special"),
        _case("a single vector", 3, steps=60, role="batch"),
        _case("an empty batch", 0, 3, steps=60, role="empty"),
        extreme(
            "x of ±1000",
            lambda s: (
                s.normal(2, 3),
                float64([[-1000.0, 1000.0, 0.5], [30.0, -0.25, -30.0]]),
                _drawn(s, 3, steps=60)[2],
                60,
            ),

        ),
    ),
    budget=lambda args, outputs: bytes_of(args[2], *outputs[:1]),
    budget_words="z and weight, however many steps",
    second_order="right-or-refused",
    hints=(
        "The solution does not know by which way it was found. So differentiate the equation z = tanh(weight z + x), and "
        "forget the iteration. What does z0 change?",
        "With D = 1 − z² (a number an element): dz = D (weight dz + dweight z + dx). Let v be the gradient for z with all ways "
        "round the loop: v = grad_output + (v · D) weight. It is found like z, by iterating; then the gradients for x and weight are "
        "those of one single step.",
        "v = grad_output; steps times: v = grad_output + (v * (1 - z * z)) @ weight. Then h = v * (1 - z * z); grad_x = h; "
        "grad_weight = h.reshape(-1, n).mT @ z.reshape(-1, n); torch.zeros_like for z0; None for steps. Keep z and weight.",
    ),
    scenarios=(
        Scenario(
            "forward takes as many steps as it is told", "forward-value", run_few_steps, judge_few_steps,
        ),
        Scenario(
            "the adjoint is iterated until it stands still", "gradient-value", run_adjoint, judge_adjoint,
            needs=("output_value",), first=True,
        ),
    ),
)  # fmt: skip
