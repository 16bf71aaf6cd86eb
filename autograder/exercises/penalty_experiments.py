"""Experiments on gradient_penalty that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, number, show, show_apart
from autograder.exercise import Sampler
from autograder.exercises.hessian_experiments import left_behind
from autograder.exercises.second_order import Verdict


def reference_penalty(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """mean over the batch of (‖∇ₓ critic(x)‖₂ − 1)², differentiable in the critic's parameters."""
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((torch.linalg.vector_norm(gradient.flatten(1), dim=1) - 1) ** 2).mean()


def _critic(weights: Sequence[Tensor], column: bool) -> Callable[[Tensor], Tensor]:
    """A two-layer critic (N, 2, 3) → (N,) or (N, 1) with the given weights and a tanh."""
    inner, outer = weights

    def critic(x: Tensor) -> Tensor:
        score = torch.tanh(x.flatten(1) @ inner) @ outer
        return score.unsqueeze(1) if column else score

    return critic


def run_training(penalty: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The gradients that the penalty gives the parameters, for critics of both shapes."""
    x, weights = s.normal(4, 2, 3), [s.normal(6, 5), s.normal(5)]
    found: list[Any] = []
    for column in (False, True):
        leaves = [w.clone().requires_grad_(True) for w in weights]
        value = penalty(_critic(leaves, column), x.clone())
        if not isinstance(value, Tensor) or not value.requires_grad:
            found.append(None)
            continue
        gradients = torch.autograd.grad(value, leaves, allow_unused=True)
        found.append([None if g is None else g.detach().clone() for g in gradients])
    return {"x": x, "weights": weights, "found": found}


def judge_trainable(data: dict[str, Any]) -> Verdict:
    """The parameters get gradients at all."""
    for gradients in data["found"]:
        if gradients is None or all(g is None for g in gradients):
            return (
                "The value of the penalty is right, but no gradient reaches the critic's parameters: it "
                "would not train anything.",
                "The gradient with respect to x has to stay in the graph: create_graph=True in "
                "torch.autograd.grad, and no detach, .data or item() afterwards.",
                {},
            )
    return None


def judge_training(data: dict[str, Any]) -> Verdict:
    """The gradients of the parameters are right."""
    for column, gradients in zip((False, True), data["found"], strict=True):
        leaves = [w.clone().requires_grad_(True) for w in data["weights"]]
        value = reference_penalty(_critic(leaves, column), data["x"])
        for got, right in zip(gradients, torch.autograd.grad(value, leaves), strict=True):
            if not close(got, right, torch.float32):  # a part cut off changes them by far more
                mine, good = ("None", show(right)) if got is None else show_apart(got, right)
                return (
                    "The value of the penalty is right, but the gradients of the critic's parameters are "
                    "wrong.",
                    "Both the norm and everything before it must stay connected to the parameters; nothing "
                    "may be detached half-way.",
                    {"actual": mine, "expected": good},
                )
    return None


def run_zero_length(penalty: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The penalty where the critic's gradient is exactly zero: at all samples, and at half of them.

    At the other half its length is 4.
    """
    x = s.uniform(3, 4, low=0.5, high=1.5)
    values = [
        penalty(lambda t: torch.relu(t - t.detach() - 1).sum(1), x),
        penalty(lambda t: 2 * torch.relu(t).sum(1), torch.cat([x, -x])),
    ]
    return {"values": [v.detach().clone() if isinstance(v, Tensor) else v for v in values]}


# (what the mean over 1, 1, 1, 9, 9, 9 comes out as, what that says)
_WITHOUT_FLAT = (
    (9.0, "Samples at which the gradient is zero are left out of the mean."),
    (4.5, "Samples at which the gradient is zero cost nothing; the penalty there is (0 − 1)² = 1."),
)
_EXACTLY = 1e-12  # (0 − 1)² and (4 − 1)² are whole numbers, whatever x is


def judge_zero_length(data: dict[str, Any]) -> Verdict:
    """(0 − 1)² = 1; whether it is finite is another question."""
    all_flat, half_flat = data["values"]
    if not all(isinstance(v, Tensor) and bool(torch.isfinite(v).all()) for v in data["values"]):
        return None
    if abs(float(all_flat) - 1) > _EXACTLY:
        mine, good = show_apart(all_flat, torch.ones_like(all_flat))
        length = number(abs(1 - math.sqrt(abs(float(all_flat)))))
        return (
            f"Where the gradient is zero its length comes out as {length}, not 0: a small number is added, or "
            "set as the smallest length there is.",
            "Where the critic is flat the length is 0 and the penalty (0 − 1)² = 1. "
            "torch.linalg.vector_norm is exact, and its gradient at a zero vector is 0: nothing has to be "
            "added.",
            {"actual": mine, "expected": good},
        )
    if abs(float(half_flat) - 5) > 1e-6:
        words = (
            "Where the gradient is zero at some samples alone, the mean over the batch is wrong."
        )
        found = [said for mean, said in _WITHOUT_FLAT if abs(float(half_flat) - mean) < 1e-6]
        message = found[0] if found else words
        return (
            message,
            "A sample with a zero gradient counts like any other, with (0 − 1)² = 1: the mean over 1, 1, 1 and "
            "9, 9, 9 is 5.",
            {"actual": show(half_flat), "expected": "5"},
        )
    return None


def run_flat(penalty: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """A critic that is flat at some samples: relu units that are all off there."""
    x = s.uniform(3, 4, low=0.5, high=1.5)
    x = torch.cat([x, -x])
    inner = s.uniform(4, 5, low=0.1, high=0.5).requires_grad_(True)
    value = penalty(lambda t: torch.relu(t @ inner).sum(1), x)
    (gradient,) = torch.autograd.grad(value, inner, allow_unused=True)
    return {"value": value.detach().clone(), "gradient": gradient}


def judge_flat(data: dict[str, Any]) -> Verdict:
    """Finite where the critic's gradient is zero."""
    for what in ("value", "gradient"):
        tensor = data[what]
        if tensor is not None and not bool(torch.isfinite(tensor).all()):
            subject = (
                "the penalty" if what == "value" else "the gradient of the critic's parameters"
            )
            # The value is right there, so it is a slope that has none.
            why = "" if what == "value" else ": a root has an infinite slope at 0"
            return (
                f"Where the critic is flat (a zero gradient), {subject} is {number(_odd(tensor))}{why}.",
                "The slope of √ at 0 is infinite, and 0 · ∞ is NaN. torch.linalg.vector_norm has the "
                "agreed slope 0 there.",
                {"actual": show(tensor)},
            )
    return None


def _odd(tensor: Tensor) -> float:
    return float(tensor[~torch.isfinite(tensor)].reshape(-1)[0])


def run_tidy_penalty(penalty: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether x and the critic's parameters are left without .grad."""
    x = s.normal(4, 2, 3).requires_grad_(True)
    inner, outer = s.normal(6, 5).requires_grad_(True), s.normal(5).requires_grad_(True)
    penalty(_critic([inner, outer], False), x)
    return left_behind({"x": x, "the critic's first layer": inner, "its second layer": outer})
