"""Experiments on hvp and gradient_penalty that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, number, show, show_apart
from autograder.exercise import Sampler
from autograder.exercises.second_order import Operations, Verdict

_UNKNOWNS = 30
_READY_MADE = ("torch.autograd.functional",)


def run_hvp(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One product with 30 unknowns: backward passes, evaluation points, sizes, who called f."""
    x, v = s.normal(_UNKNOWNS), s.normal(_UNKNOWNS)
    seen: dict[str, Any] = {"passes": 0, "elsewhere": 0, "ready_made": ""}

    def count(gradient: Tensor) -> None:
        seen["passes"] += 1

    def f(point: Tensor) -> Tensor:
        inside: Any = sys._getframe(1)
        while inside is not None:
            module = str(inside.f_globals.get("__name__", ""))
            if module.startswith(_READY_MADE):
                seen["ready_made"] = f"{module}.{inside.f_code.co_name}"
            inside = inside.f_back
        if not torch._C._functorch.is_functorch_wrapped_tensor(point):
            seen["elsewhere"] += not torch.equal(point.detach(), x)
        step = point * 1.0
        if step.requires_grad:
            step.register_hook(count)
        return (step**4).sum() / 12 + torch.sin(step[1:] * step[:-1]).sum()

    with Operations() as sizes:
        hvp(f, x.clone(), v.clone())
    return {**seen, "largest": sizes.largest, "unknowns": _UNKNOWNS}


def judge_ready_made(data: dict[str, Any]) -> Verdict:
    """torch's ready-made product is not called."""
    if not data["ready_made"]:
        return None
    return (
        f"{data['ready_made']} does the work here; this exercise builds it.",
        "torch.autograd.grad, called twice, is all you need.",
        {},
    )


def judge_exact(data: dict[str, Any]) -> Verdict:
    """f is differentiated at x, not at points near it."""
    if not data["elsewhere"]:
        return None
    return (
        "f is evaluated at points other than x: this is a difference quotient of gradients.",
        "The exact product needs one evaluation of f: differentiate the gradient once more.",
        {},
    )


def judge_passes(data: dict[str, Any]) -> Verdict:
    """Two backward passes, however many unknowns there are."""
    if data["passes"] <= 2:
        return None
    return (
        f"{data['passes']} backward passes for {data['unknowns']} unknowns; 2 are enough.",
        "Do not build the Hessian row by row. Weight the gradient with v first, then differentiate "
        "that one number.",
        {"passes": data["passes"]},
    )


def judge_size(data: dict[str, Any]) -> Verdict:
    """No tensor of the size of the Hessian."""
    if data["largest"] < data["unknowns"] ** 2:
        return None
    return (
        f"A tensor of {data['largest']} elements is made for {data['unknowns']} unknowns: the Hessian "
        "is formed.",
        "The product with v needs vectors only.",
        {"largest": data["largest"]},
    )


def run_linear(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Products for f linear in x: the gradient is a constant, once with a trainable weight."""
    x, v = s.normal(4), s.normal(4)
    weight = s.normal(4).requires_grad_(True)
    results: list[Any] = []
    for f in (lambda t: 2.5 * t.sum(), lambda t: (weight * t).sum()):
        try:
            result = hvp(f, x.clone(), v)
            results.append(result.detach().clone() if isinstance(result, Tensor) else result)
        except NotImplementedError:
            raise
        except Exception as error:  # the error that learners meet here is explained by the judge
            results.append(f"{type(error).__name__}: {error}")
    return {"results": results, "zeros": torch.zeros_like(x)}


# (words of the original message, what they mean where f is linear)
_LINEAR_ERRORS = (
    ("does not require grad", "the gradient does not require grad"),
    ("not have been used in the graph", "the gradient does not depend on x"),
)


def judge_linear(data: dict[str, Any]) -> Verdict:
    """A linear f has the Hessian 0."""
    words = ("whose gradient is a constant", "whose gradient is a trainable weight")
    for result, which in zip(data["results"], words, strict=True):
        if close(result, data["zeros"]):
            continue
        hint = (
            "Its Hessian is 0, so the answer is zeros of x's shape. Ask gradient.requires_grad before "
            "the second pass, and let torch.autograd.grad put zeros where nothing is connected: "
            "allow_unused=True, materialize_grads=True."
        )
        start = f"For a linear f, {which},"
        if isinstance(result, Tensor):
            values = {"actual": show(result), "expected": show(data["zeros"])}
            return f"{start} the result is not zero.", hint, values
        if not isinstance(result, str):
            return f"{start} the result is {result}; zeros of x's shape are asked for.", hint, {}
        known = [meaning for original, meaning in _LINEAR_ERRORS if original in result]
        why = known[0] if known else shorten(result, 160, placeholder=" …").rstrip(".")
        return f"{start} the second pass stops: {why}.", hint, {"original": result[:300]}
    return None


def run_tidy_hvp(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether x and a weight inside f are left without .grad."""
    x = s.normal(4).requires_grad_(True)
    weight = s.normal(4).requires_grad_(True)
    hvp(lambda t: (weight * t**3).sum(), x, s.normal(4))
    return _left_behind({"x": x, "a weight inside f": weight})


def _left_behind(leaves: dict[str, Tensor]) -> dict[str, Any]:
    return {"left": [name for name, leaf in leaves.items() if leaf.grad is not None]}


def judge_tidy(data: dict[str, Any]) -> Verdict:
    """No .grad is left behind."""
    if not data["left"]:
        return None
    return (
        f"Afterwards .grad of {' and '.join(data['left'])} is filled: the caller's next optimiser step "
        "would use it.",
        ".backward() adds to the .grad of every leaf it meets. torch.autograd.grad gives back what you "
        "ask for and leaves .grad alone.",
        {"left": data["left"]},
    )


# ---- gradient_penalty ------------------------------------------------------------------------


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
    """The penalty of samples at which the critic's gradient is exactly zero."""
    x = s.normal(3, 4)
    value = penalty(lambda t: torch.relu(t - t.detach() - 1).sum(1), x)
    return {"value": value.detach().clone() if isinstance(value, Tensor) else value}


def judge_zero_length(data: dict[str, Any]) -> Verdict:
    """(0 − 1)² = 1; whether it is finite is another question."""
    value = data["value"]
    if not isinstance(value, Tensor) or not bool(torch.isfinite(value).all()):
        return None
    if close(value, torch.ones_like(value), torch.float32):
        return None
    mine, good = show_apart(value, torch.ones_like(value))
    return (
        "A small number is added to the length of the gradient; the contract asks for the exact norm.",
        "Where the critic is flat the length is 0 and the penalty (0 − 1)² = 1. torch.linalg.vector_norm is "
        "exact, and its gradient at a zero vector is 0: nothing has to be added.",
        {"actual": mine, "expected": good},
    )


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
            return (
                f"Where the critic is flat (a zero gradient), {subject} is {number(_odd(tensor))}.",
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
    return _left_behind({"x": x, "the critic's first layer": inner, "its second layer": outer})
