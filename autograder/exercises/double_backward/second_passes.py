"""hvp and gradient_penalty of lesson 05: functions that differentiate twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Data, Exercise, Sampler, Scenario, Solution
from autograder.exercises.checkpointing.measuring import called_from
from autograder.exercises.common_cases import cases_of, some, special, told
from autograder.exercises.double_backward.higher_orders import left_behind
from autograder.observation.compare import both, close, show
from autograder.observation.observation import Named
from autograder.running.function_classes import instead_of_backward
from autograder.running.watching import Storages

_UNKNOWNS = 30


def _one_product(hvp: Solution, s: Sampler) -> Data:
    """One product: who called f, where, how many passes, which sizes, what is left."""
    x, v, weight = (
        s.normal(_UNKNOWNS).requires_grad_(True),
        s.normal(_UNKNOWNS),
        torch.ones(()).double(),
    )
    seen: Data = {"elsewhere": 0, "ready_made": False, "passes": 0}

    def f(point: Tensor) -> Tensor:
        seen["ready_made"] = seen["ready_made"] or called_from("torch.autograd.functional")
        if not torch._C._functorch.is_functorch_wrapped_tensor(point):
            seen["elsewhere"] += not torch.equal(point.detach(), x.detach())
        return weight * ((point**4).sum() / 12 + torch.sin(point[1:] * point[:-1]).sum())

    def passes(engine: Solution, *args: Any, **more: Any) -> Any:
        seen["passes"] += 1
        return engine(*args, **more)

    weight.requires_grad_(True)
    with Storages() as made, instead_of_backward(passes):
        hvp(f, x, v.clone())
    left = left_behind({"x": x, "a weight inside f": weight})
    return {**seen, "largest": made.largest.elements if made.largest else 0, "left": left}


def _two_passes(data: Data, right: Data) -> Cause | None:
    if data["ready_made"]:
        return Cause("hvp/ready-made", rule="uses-builtin")
    if data["elsewhere"]:
        return Cause("hvp/elsewhere", rule="finite-differences")
    if data["passes"] > 2:
        facts = {"passes": data["passes"], "unknowns": _UNKNOWNS}
        return Cause("hvp/passes", {**facts, "rows": data["passes"] > _UNKNOWNS})
    return _left_behind(data) if data["left"] else None


def _left_behind(found: Data) -> Cause:
    """.grad is filled, which ``.backward()`` does and the caller's optimiser reads."""
    return Cause("left/grad", {"names": found["left"]}, rule="mutates-input", at=("backward",))


def _no_hessian(data: Data, right: Data) -> Cause | None:
    if data["largest"] >= _UNKNOWNS**2:
        return Cause("hvp/hessian", {"elements": data["largest"], "unknowns": _UNKNOWNS})
    return None


def product(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """The Hessian of f at x times v; has the shape of x."""
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not gradient.requires_grad:
        return torch.zeros_like(x)
    (result,) = torch.autograd.grad(gradient, x, v, allow_unused=True, materialize_grads=True)
    return result.detach()


_hvp_case = cases_of(
    lambda s, f, *shape: (f, s.uniform(*shape, low=-1.0, high=1.2), s.normal(*shape))
)


_linear = partial(
    _hvp_case, role="special",
    advice="The Hessian of a linear f is 0. Where the gradient is a constant torch has nothing to differentiate, and says "
    "so: which options of torch.autograd.grad give zeros there?",
)  # fmt: skip
_PASSES = "two backward passes at x, and no .grad left behind"

HVP = Exercise(
    **told("hvp"),
    reference=product,
    cases=(
        _hvp_case("a vector, all elements interact", Named("exp_of_sum", (0.7,)), 4),
        _hvp_case("a vector, neighbours interact", Named("quartic_chain", (0.8,)), 5),
        _hvp_case("a matrix", Named("quartic_chain", (-0.6,)), 2, 3),
        _hvp_case("a quadratic f", Named("weighted_squares", (1.5,)), 3),
        _hvp_case("a tensor of three dimensions", Named("exp_of_sum", (0.4,)), 2, 3, 2),
        _hvp_case("a single number (0-d)", Named("exp_of_sum", (0.9,)), role="special"),
        _linear("a linear f", Named("affine", (2.5, 1.0)), 4),
        _linear("a linear f with a trainable weight", Named("weighted", (0.5, -1.5, 2.0)), 3),
        special(
            "x = 0",
            Named("quartic_chain", (0.8,)), [0.0, 0.0, 0.0, 0.0], some(4),

        ),
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(
            _PASSES, "too-many-passes",
            _one_product, _two_passes, needs=("output_value",),
        ),
        Scenario(
            "no Hessian is made", "temporary-too-large",
            _one_product, _no_hessian,
            needs=("output_value", f"scenario {_PASSES}"),
        ),
    ),
)  # fmt: skip


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


def _train(penalty: Solution, samples: Tensor, weight: Tensor, critic: str) -> Data:
    """The penalty, the gradient that it gives the critic's weight, and whose .grad is filled."""
    x, w = samples.clone().requires_grad_(True), weight.clone().requires_grad_(True)
    value = penalty(lambda t: _CRITICS[critic](t, w), x)
    left = left_behind({"x": x, "the critic's weight": w})
    gradient = None
    if isinstance(value, Tensor) and value.requires_grad:
        (gradient,) = torch.autograd.grad(value, w, allow_unused=True)
        value = value.detach()
    return {"value": value, "gradient": gradient, "left": left}


def _training(penalty: Solution, s: Sampler) -> Data:
    """One step with each critic; half of the samples are positive, half negative."""
    x, weight = s.uniform(3, 2, 2, low=0.5, high=1.5), s.uniform(4, 5, low=0.1, high=0.5)
    x = torch.cat([x, -x])
    return {"found": [_train(penalty, x, weight, critic) for critic in _CRITICS]}


def _is_finite(data: Data, right: Data) -> Cause | None:
    for found in data["found"]:
        for name, what in (
            ("value", "penalty"),
            ("gradient", "gradient of the critic's parameters"),
        ):
            tensor = found[name]
            if tensor is not None and not bool(torch.isfinite(tensor).all()):
                return Cause("penalty/not-finite", {"what": what}, {"actual": show(tensor)})
    return None


def _trains(data: Data, right: Data) -> Cause | None:
    for critic, found, meant in zip(_CRITICS, data["found"], right["found"], strict=True):
        value, gradient = found["value"], found["gradient"]
        if gradient is None:
            return Cause("penalty/no-gradient", rule="parameters-without-gradient")
        if not bool(torch.isclose(value, meant["value"], rtol=_EXACTLY, atol=_EXACTLY).all()):
            return Cause("penalty/value", {"critic": critic}, both(value, meant["value"]), "value")
        slope = meant["gradient"]
        if not close(gradient, slope, torch.float32):  # what is cut off changes far more
            return Cause("penalty/gradient", {"critic": critic}, both(gradient, slope))
        if found["left"]:
            return _left_behind(found)
    return None


_critic_case = cases_of(lambda s, critic, *shape: (critic, s.normal(*shape)))


_FINITE = "the penalty and its gradients are finite, where the critic is flat too"

GRADIENT_PENALTY = Exercise(
    **told("gradient_penalty"),
    reference=reference_penalty,
    cases=(
        _critic_case("samples that are vectors", Named("tanh_critic", (0.8,)), 4, 3),
        _critic_case("a critic that gives a column (N, 1)", Named("quadratic_critic", (0.6,)), 5, 2),
        _critic_case("samples that are matrices", Named("tanh_critic", (1.1,)), 4, 2, 3),
        _critic_case("samples of three dimensions, like pictures", Named("column_critic", (0.3,)), 3, 2, 3, 2),
        _critic_case("a batch of a single sample", Named("quadratic_critic", (0.4,)), 1, 4),
        _critic_case("steep samples", Named("quadratic_critic", (2.0,)), 3, 4),
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(
            _FINITE, "gradient-unstable",
            _training, _is_finite, needs=("output_value",),
        ),
        Scenario(
            "the critic's parameters get right gradients", "gradient-value",
            _training, _trains, needs=("output_value", f"scenario {_FINITE}"),
        ),
    ),
)  # fmt: skip
