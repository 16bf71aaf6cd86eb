"""gradient_penalty: a loss made of a gradient, which trains the critic it is taken of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Exercise, Sampler, Scenario, sentences_beside
from autograder.exercises.common_cases import cases_of
from autograder.exercises.double_backward import higher_orders
from autograder.exercises.double_backward.higher_orders import left_behind
from autograder.observation.compare import close, show, show_apart
from autograder.observation.observation import Named

_EXACTLY = 1e-12  # (0 − 1)² is a whole number; a small number under the root shows


def reference_penalty(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """mean over the batch of (‖∇ₓ critic(x)‖₂ − 1)², differentiable in the critic's parameters."""
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((torch.linalg.vector_norm(gradient.flatten(1), dim=1) - 1) ** 2).mean()


# Critics (N, 2, 2) → (N,) or (N, 1). The flat one is so where x is negative: all its units are off there.
_CRITICS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "scores (N,)": lambda x, w: torch.tanh(x.flatten(1) @ w).sum(1),
    "scores (N, 1)": lambda x, w: torch.tanh(x.flatten(1) @ w).sum(1, keepdim=True),
    "a critic that is flat at some samples": lambda x, w: torch.relu(x.flatten(1) @ w).sum(1),
}


def _train(
    penalty: Callable[..., Any], samples: Tensor, weight: Tensor, critic: str
) -> dict[str, Any]:
    """The penalty, the gradient that it gives the critic's weight, and whose .grad is filled."""
    x, w = samples.clone().requires_grad_(True), weight.clone().requires_grad_(True)
    value = penalty(lambda t: _CRITICS[critic](t, w), x)
    left = left_behind({"x": x, "the critic's weight": w})
    gradient = None
    if isinstance(value, Tensor) and value.requires_grad:
        (gradient,) = torch.autograd.grad(value, w, allow_unused=True)
        value = value.detach()
    return {"value": value, "gradient": gradient, "left": left}


def _training(penalty: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One step with each critic; half of the samples are positive, half negative."""
    x, weight = s.uniform(3, 2, 2, low=0.5, high=1.5), s.uniform(4, 5, low=0.1, high=0.5)
    x = torch.cat([x, -x])
    return {"x": x, "weight": weight, "found": [_train(penalty, x, weight, c) for c in _CRITICS]}


def _is_finite(data: dict[str, Any]) -> Cause | None:
    for found in data["found"]:
        for name, what in (
            ("value", "penalty"),
            ("gradient", "gradient of the critic's parameters"),
        ):
            tensor = found[name]
            if tensor is not None and not bool(torch.isfinite(tensor).all()):
                return Cause("penalty/not-finite", {"what": what}, {"actual": show(tensor)})
    return None


def _trains(data: dict[str, Any]) -> Cause | None:
    for critic, found in zip(_CRITICS, data["found"], strict=True):
        value, gradient = found["value"], found["gradient"]
        right = _train(reference_penalty, data["x"], data["weight"], critic)
        if gradient is None:
            return Cause("penalty/no-gradient", rule="parameters-without-gradient")
        if not bool(torch.isclose(value, right["value"], rtol=_EXACTLY, atol=_EXACTLY).all()):
            mine, good = show_apart(value, right["value"])
            return Cause(
                "penalty/value", {"critic": critic}, {"actual": mine, "expected": good}, "value"
            )
        if not close(
            gradient, right["gradient"], torch.float32
        ):  # what is cut off changes far more
            mine, good = show_apart(gradient, right["gradient"])
            return Cause("penalty/gradient", {"critic": critic}, {"actual": mine, "expected": good})
        if found["left"]:
            return Cause(
                "left/grad", {"names": found["left"]}, rule="mutates-input", at=("backward",)
            )
    return None


_critic_case = cases_of(lambda s, critic, *shape: (critic, s.normal(*shape)))


_FINITE = "the penalty and its gradients are finite, where the critic is flat too"

GRADIENT_PENALTY = Exercise(
    name="gradient_penalty",
    lesson="05_double_backward",
    summary="the mean over the batch of (‖∇ₓ critic(x)‖₂ − 1)², differentiable in the critic's parameters.",
    signature="(critic, x)",
    reference=reference_penalty,
    cases=(
        _critic_case("samples that are vectors", Named("tanh_critic", (0.8,)), 4, 3),
        _critic_case("a critic that gives a column (N, 1)", Named("quadratic_critic", (0.6,)), 5, 2),
        _critic_case("samples that are matrices", Named("tanh_critic", (1.1,)), 4, 2, 3),
        _critic_case("samples of three dimensions, like pictures", Named("column_critic", (0.3,)), 3, 2, 3, 2),
        _critic_case("a batch of a single sample", Named("quadratic_critic", (0.4,)), 1, 4),
        _critic_case("steep samples", Named("quadratic_critic", (2.0,)), 3, 4),
    ),
    hints=(
        "The penalty is made of a gradient, and is itself differentiated when the critic trains. So "
        "which argument of torch.autograd.grad keeps the gradient in the graph?",
        "x = x.detach().requires_grad_(True); differentiate critic(x).sum() with respect to x (each "
        "sample's score depends on that sample alone); flatten all but the batch dimension for the norm.",
        "(g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True); "
        "((torch.linalg.vector_norm(g.flatten(1), dim=1) - 1) ** 2).mean().",
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(
            _FINITE, "gradient-unstable",
            _training, _is_finite, needs=("output_value",), given=("x", "weight"),
        ),
        Scenario(
            "the critic's parameters get right gradients", "gradient-value",
            _training, _trains, needs=("output_value", f"scenario {_FINITE}"), given=("x", "weight"),
        ),
    ),
    sentences=higher_orders.SENTENCES + sentences_beside(__file__),
)  # fmt: skip
