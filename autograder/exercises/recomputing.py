"""Experiments on Checkpoint that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, ratio, show
from autograder.exercise import Sampler
from autograder.exercises.second_order import Verdict


def explained(run: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Turn an error of a run into data, so that its judge can explain it; a stub stays a stub."""

    def safe(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        try:
            return run(submission, s)
        except NotImplementedError:
            raise
        except (RuntimeError, IndexError) as error:
            return {"error": str(error)[:300]}

    return safe


# ---- gradients through .backward() -----------------------------------------------------------


def _layer(weight: Tensor, scale: Tensor, frozen: Tensor) -> Callable[..., Tensor]:
    return lambda h, factor, k: torch.tanh((h * k) @ weight) * scale * factor + frozen


def training_data(s: Sampler) -> dict[str, Any]:
    """What a training step is made of."""
    return {
        "x": s.normal(3, 4),
        "weight": s.normal(4, 5) / 2,
        "scale": s.uniform(5, low=0.5, high=1.5),
        "frozen": s.normal(5),
        "g1": s.normal(3, 5),
        "g2": s.normal(3, 5),
    }


def training_step(
    apply: Callable[..., Any], data: dict[str, Any], create_graph: bool = False
) -> list[Tensor | None]:
    """One backward through two calls with shared parameters: gradients of x, weight, scale, frozen."""
    leaves = [data[name].clone().requires_grad_(True) for name in ("x", "weight", "scale")]
    x, weight, scale = leaves
    frozen = data["frozen"].clone()
    fn = _layer(weight, scale, frozen)
    first = apply(fn, torch.exp(0.3 * x), 0.7, x)  # one argument was made of the other
    second = apply(fn, x, -0.4, torch.cos(x))
    loss = (first * data["g1"]).sum() + (second * data["g2"]).sum()
    loss.backward(create_graph=create_graph)
    found = [None if t.grad is None else t.grad.detach().clone() for t in (*leaves, frozen)]
    for t in leaves:
        t.grad = None  # a gradient with a graph holds its leaf, which holds the gradient
    return found


@explained
def run_training(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Gradients after loss.backward(): of a leaf argument and of captured parameters."""
    data = training_data(s)
    found = training_step(checkpoint, data)
    return {**data, "found": found, "module": found[1] is None and _module_learns(checkpoint)}


def _module_learns(checkpoint: Callable[..., Any]) -> bool:
    """Whether a parameter of a module gets a gradient, where fn is that module."""

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Tensor) -> Tensor:
            return torch.sin(self.weight * x)

    module = Scaled()
    checkpoint(module, torch.ones(3, requires_grad=True)).sum().backward()
    return module.weight.grad is not None


def expected(data: dict[str, Any]) -> list[Tensor | None]:
    """The gradients of the step without a checkpoint."""
    return training_step(lambda fn, *args: fn(*args), data)


NAMES = ("the argument x", "a captured weight", "a captured scale", "a frozen parameter")


def judge_graph(data: dict[str, Any]) -> Verdict:
    """The recomputation has a graph of its own."""
    if "error" not in data:
        return None
    if "second time" in data["error"]:
        return (
            "The backward of the recomputation runs on into the graph that led to the arguments.",
            "ctx.saved_tensors gives the arguments back with their history. Detach each, and make "
            "it a leaf of the small graph that you build: .detach().requires_grad_(…).",
            {"original": data["error"]},
        )
    return (
        f"In a training step with .backward() it stops: {data['error'].splitlines()[0][:160]}",
        "Run fn again under torch.enable_grad(), on detached copies of the arguments that require "
        "grad, and give its output grad_output as upstream gradient.",
        {"original": data["error"]},
    )


def judge_parameters(data: dict[str, Any]) -> Verdict:
    """Parameters that fn captures get gradients."""
    if data.get("module"):
        return (
            "Only the parameters of an nn.Module get gradients: after loss.backward() a weight that a plain function "
            "uses has none, and would never train.",
            "fn may be any callable: a lambda, a bound method. Do not ask it for its parameters; the graph of your "
            "recomputation reaches all of them, and torch.autograd.backward fills .grad of every leaf.",
            {"actual": "None"},
        )
    for place, name in ((1, "a weight matrix"), (2, "a scale")):
        got = data["found"][place]
        if got is None or not bool(got.any()):
            return (
                f"After loss.backward() a parameter that fn uses ({name}) has "
                f"{'no gradient' if got is None else 'the gradient 0'}: it would never train.",
                "The parameters are no arguments, so backward cannot return their gradients. But the "
                "graph of your recomputation reaches them: torch.autograd.grad asks for the gradients "
                "you name only, torch.autograd.backward fills .grad of every leaf.",
                {"actual": "None" if got is None else show(got)},
            )
    return None


def _of_one_call(data: dict[str, Any], place: int) -> list[Tensor]:
    """The gradient of a captured parameter, of each of the two calls alone."""
    if place not in (1, 2):
        return []
    found = []
    for other in ("g1", "g2"):
        gradient = expected({**data, other: torch.zeros_like(data[other])})[place]
        found += [] if gradient is None else [gradient]
    return found


def judge_training(data: dict[str, Any]) -> Verdict:
    """Right gradients arrive, each once."""
    for got, right, name in zip(data["found"], expected(data), NAMES, strict=True):
        if right is None:
            if got is not None:
                return (f"{name} gets a gradient although it does not require one.", "", {})
            continue
        if close(got, right):
            continue
        if got is None:
            return (
                f"After loss.backward() {name} has no gradient.",
                "backward returns the gradients of the arguments: .grad of your detached leaves.",
                {"expected": show(right)},
            )
        if any(close(got, alone) for alone in _of_one_call(data, NAMES.index(name))):
            return (
                f"{name[0].upper()}{name[1:]} that two calls use has the gradient of one of them alone: the other one "
                "is lost, as .grad = … does where .grad += … belongs.",
                "A leaf's .grad adds up what every call gives. torch.autograd.backward does so by itself.",
                {"actual": show(got), "expected": show(right)},
            )
        twice = ratio(got, right)
        words = "wrong" if twice is None else f"{twice:.4f} × the right one"
        return (
            f"With loss.backward() the gradient of {name} is {words}.",
            "Every gradient must arrive exactly once. A leaf that is not detached gets it twice: from "
            "your inner backward and from what you return. One that is overwritten (.grad = …) loses "
            "the part of another call.",
            {"actual": show(got), "expected": show(right)},
        )
    return None


# ---- an argument that fn does not use --------------------------------------------------------


@explained
def run_unused(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """fn has two tensors and uses the first: the gradients of both under .sum()."""
    x, y = s.normal(3).requires_grad_(True), s.normal(2).requires_grad_(True)
    submission(lambda used, unused: torch.sin(used), x, y).sum().backward()
    return {"x": x.detach(), "gradients": [x.grad, y.grad]}


def judge_unused(data: dict[str, Any]) -> Verdict:
    """The argument that is used gets its gradient, the other one none, or zeros."""
    hint = (
        "torch.autograd.grad raises for an input that the output does not depend on: allow_unused=True "
        "gives None for it."
    )
    if "error" in data:
        return (
            f"It stops when fn does not use one of its tensors: {data['error'].splitlines()[0][:160]}",
            hint,
            {"original": data["error"]},
        )
    used, unused = data["gradients"]
    right = torch.cos(data["x"])
    if close(used, right) and (unused is None or not unused.any()):
        return None
    return (
        "When fn does not use one of its tensors, a gradient comes out wrong.",
        hint,
        {"actual": "None" if used is None else show(used), "expected": show(right)},
    )
