"""Experiments on Checkpoint that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import contextlib
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
    return {**data, "found": training_step(checkpoint, data)}


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


# ---- random numbers --------------------------------------------------------------------------


def run_random(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """A function with dropout inside; other random numbers are drawn before its backward."""
    x, g, seed = s.normal(6, 5), s.normal(6, 5), s.integer(0, 10_000)
    masks: list[Tensor] = []

    def dropout(h: Tensor) -> Tensor:
        masks.append((torch.rand(h.shape) > 0.4).to(h.dtype))
        return h * h * masks[-1]

    torch.manual_seed(seed)
    torch.rand(5)  # so that the state is not the one that a seed gives
    before_forward = torch.get_rng_state()
    dropout(x)
    after_plain = torch.get_rng_state()
    torch.set_rng_state(before_forward)
    leaf = x.clone().requires_grad_(True)
    y = checkpoint(dropout, leaf)
    advanced = torch.equal(torch.get_rng_state(), after_plain)
    torch.rand(7)
    before = torch.get_rng_state()
    (found,) = torch.autograd.grad(y, leaf, g)
    untouched = torch.equal(torch.get_rng_state(), before)
    return {
        "x": x, "g": g, "masks": masks, "found": found, "advanced": advanced, "untouched": untouched,
    }  # fmt: skip


def judge_same_numbers(data: dict[str, Any]) -> Verdict:
    """The recomputation draws forward's random numbers."""
    plain, forward, *again = data["masks"]
    if not torch.equal(plain, forward):
        return (
            "forward draws other random numbers than fn alone would.",
            "Only look at the random state in forward (torch.get_rng_state()); do not seed or set it.",
            {},
        )
    right = 2 * data["x"] * forward * data["g"]
    if close(data["found"], right):
        return None
    if again and not torch.equal(again[0], forward):
        return (
            "A dropout inside fn drops other elements in the recomputation than in forward: the "
            "gradient belongs to another function.",
            "Keep torch.get_rng_state() in forward, before fn runs, and set it again before you "
            "recompute.",
            {
                "forward kept": show(forward.reshape(-1)),
                "recompute kept": show(again[0].reshape(-1)),
            },
        )
    return (
        "With a dropout inside fn the gradient is wrong, although the mask is the same.",
        "Look at what happens between setting the random state and the inner backward.",
        {"actual": show(data["found"]), "expected": show(right)},
    )


def judge_state(data: dict[str, Any]) -> Verdict:
    """The caller's random state is not disturbed."""
    if not data["advanced"]:
        return (
            "After forward the random state is not where fn alone would have left it.",
            "forward runs fn once and leaves the generator alone; putting the old state back there "
            "would give the next layer the same random numbers again.",
            {},
        )
    if not data["untouched"]:
        return (
            "backward changes the caller's random state: whatever is drawn next repeats itself.",
            "Put the state back as it was before the recomputation; torch.random.fork_rng does that "
            "for a with block, also when fn raises.",
            {},
        )
    return None


class _Interrupted(Exception):
    """What fn raises in an experiment."""


def run_interrupted(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """fn draws random numbers and then raises, in the recomputation only."""
    x = s.normal(3, 4).requires_grad_(True)
    backward = [False]

    def fails_later(h: Tensor) -> Tensor:
        noise = torch.rand(h.shape, dtype=h.dtype)
        if backward[0]:
            raise _Interrupted("fn stops here")
        return h * noise

    torch.manual_seed(s.integer(0, 10_000))
    y = checkpoint(fails_later, x)
    torch.rand(7)
    before, backward[0] = torch.get_rng_state(), True
    with contextlib.suppress(_Interrupted):
        torch.autograd.grad(y.sum(), x)
    return {"untouched": torch.equal(torch.get_rng_state(), before)}


def judge_interrupted(data: dict[str, Any]) -> Verdict:
    """The caller's random state survives an error of fn."""
    if data["untouched"]:
        return None
    return (
        "When fn raises in backward, the caller's random state is not put back.",
        "What stands after the call of fn does not run then. torch.random.fork_rng puts the state back "
        "at the end of its with block, whatever happens in it; so does finally after try.",
        {},
    )


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
