"""hvp: a Hessian times a vector, in two backward passes and without the Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Cause, Exercise, Sampler, Scenario, sentences_beside
from autograder.exercises.checkpointing.measuring import Largest, called_from
from autograder.exercises.common_cases import cases_of
from autograder.exercises.double_backward import higher_orders
from autograder.exercises.double_backward.higher_orders import left_behind
from autograder.observation.compare import both, close
from autograder.observation.observation import Named
from autograder.running.function_classes import instead_of_backward

_LINEAR = ("a constant", "a trainable weight")


def _products_of_linear(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Products for f linear in x: the gradient is a constant, or a weight that requires grad."""
    x, v, weight = s.normal(4), s.normal(4), s.normal(4).requires_grad_(True)
    results: list[Any] = []
    for f in (lambda t: 2.5 * t.sum(), lambda t: (weight * t).sum()):
        try:
            result = hvp(f, x.clone(), v)
            results.append(result.detach().clone() if isinstance(result, Tensor) else str(result))
        except NotImplementedError:
            raise
        except Exception as error:  # torch's own errors for a constant gradient are what is judged
            results.append(f"{type(error).__name__}: {error}"[:300])
    return {"results": results, "zeros": torch.zeros_like(x)}


def _zero(data: dict[str, Any]) -> Cause | None:
    for result, gradient in zip(data["results"], _LINEAR, strict=True):
        if isinstance(result, str):
            return Cause("linear/no-tensor", {"gradient": gradient}, {"original": result})
        if not close(result, data["zeros"]):
            return Cause("linear/not-zero", {"gradient": gradient}, both(result, data["zeros"]))
    return None


def _one_product(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One product with 30 unknowns: who called f, where, how many passes, which sizes, what is left."""
    x, v, weight = s.normal(30).requires_grad_(True), s.normal(30), torch.ones(()).double()
    seen: dict[str, Any] = {"elsewhere": 0, "ready_made": False, "passes": 0}

    def f(point: Tensor) -> Tensor:
        seen["ready_made"] = seen["ready_made"] or called_from("torch.autograd.functional")
        if not torch._C._functorch.is_functorch_wrapped_tensor(point):
            seen["elsewhere"] += not torch.equal(point.detach(), x.detach())
        return weight * ((point**4).sum() / 12 + torch.sin(point[1:] * point[:-1]).sum())

    def passes(engine: Callable[..., Any], *args: Any, **more: Any) -> Any:
        seen["passes"] += 1
        return engine(*args, **more)

    weight.requires_grad_(True)
    with Largest() as largest, instead_of_backward(passes):
        hvp(f, x, v.clone())
    left = left_behind({"x": x, "a weight inside f": weight})
    return {**seen, "largest": largest.elements, "unknowns": 30, "left": left}


def _two_passes(data: dict[str, Any]) -> Cause | None:
    if data["ready_made"]:
        return Cause("hvp/ready-made", rule="uses-builtin")
    if data["elsewhere"]:
        return Cause("hvp/elsewhere", rule="finite-differences")
    if data["passes"] > 2:
        facts = {"passes": data["passes"], "unknowns": data["unknowns"]}
        return Cause("hvp/passes", {**facts, "rows": data["passes"] > data["unknowns"]})
    if data["left"]:
        return Cause("left/grad", {"names": data["left"]}, rule="mutates-input", at=("backward",))
    return None


def _no_hessian(data: dict[str, Any]) -> Cause | None:
    if data["largest"] >= data["unknowns"] ** 2:
        return Cause("hvp/hessian", {"elements": data["largest"], "unknowns": data["unknowns"]})
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


_PASSES = "two backward passes at x, and no .grad left behind"

HVP = Exercise(
    name="hvp",
    lesson="05_double_backward",
    summary="the Hessian of the scalar-valued f at x, times v: a tensor of x's shape.",
    signature="(f, x, v)",
    reference=product,
    cases=(
        _hvp_case("a vector, all elements interact", Named("exp_of_sum", (0.7,)), 4),
        _hvp_case("a vector, neighbours interact", Named("quartic_chain", (0.8,)), 5),
        _hvp_case("a matrix", Named("quartic_chain", (-0.6,)), 2, 3),
        _hvp_case("a quadratic f", Named("weighted_squares", (1.5,)), 3),
        _hvp_case("a tensor of three dimensions", Named("exp_of_sum", (0.4,)), 2, 3, 2),
        _hvp_case("a single number (0-d)", Named("exp_of_sum", (0.9,)), role="special"),
        Case(
            "x = 0",
            lambda s: (Named("quartic_chain", (0.8,)), 0 * s.normal(4), s.normal(4)),
            role="special",
        ),
    ),
    hints=(
        "The Hessian is the derivative of the gradient. What do you differentiate, if you do not want "
        "all of it but only its product with the constant v?",
        "First pass: the gradient g of f(x) with create_graph=True, so that it can be "
        "differentiated. Second pass: the gradient of (g * v).sum(). Start from "
        "x.detach().requires_grad_(True).",
        "(g,) = torch.autograd.grad(f(x), x, create_graph=True); then torch.autograd.grad(g, x, v) with "
        "materialize_grads=True. When g does not require grad, f is linear and the answer is zeros.",
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(
            "the zero product of a linear f", "value",
            _products_of_linear, _zero, needs=("output_value",), given=("zeros",),
        ),
        Scenario(
            _PASSES, "too-many-passes",
            _one_product, _two_passes, needs=("output_value",), given=("unknowns",),
        ),
        Scenario(
            "no Hessian is made", "temporary-too-large",
            _one_product, _no_hessian,
            needs=("output_value", f"scenario {_PASSES}"), given=("unknowns",),
        ),
    ),
    sentences=higher_orders.SENTENCES + sentences_beside(__file__),
)  # fmt: skip
