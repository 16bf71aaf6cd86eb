"""Experiments on Checkpoint: what is kept, how often fn runs, and second derivatives.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.calls import patched
from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.measuring import RANDOM_STATE_BYTES, called_from
from autograder.exercises.recomputing import (
    NAMES,
    expected,
    explained,
    judge_graph,
    training_data,
    training_step,
)
from autograder.exercises.second_order import Verdict
from autograder.once import without_once_differentiable
from autograder.storages import Storages
from autograder.structure import classes_of

# ---- what is kept, and how often fn runs -----------------------------------------------------


@explained
def run_memory(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Calls of fn, and bytes alive between forward and backward, for a chain of six operations."""
    x = s.normal(64, 32).requires_grad_(True)
    calls = [0]
    ready_made = [False]

    def chain(h: Tensor) -> Tensor:
        calls[0] += 1
        ready_made[0] = ready_made[0] or called_from("torch.utils.checkpoint")
        for _ in range(6):
            h = torch.sin(h)
        return h

    with Storages() as storages:
        y = checkpoint(chain, x)
        kept = storages.alive(x, y)
        forward = calls[0]
    torch.autograd.grad(y.sum(), x)
    return {
        "forward": forward, "backward": calls[0] - forward, "kept": kept,
        "one": x.numel() * x.element_size(), "ready_made": ready_made[0],
    }  # fmt: skip


def judge_ready_made(data: dict[str, Any]) -> Verdict:
    """torch's own checkpoint is not called."""
    if not data.get("ready_made"):
        return None
    return (
        "torch.utils.checkpoint does the work here; this exercise builds it.",
        "Save the arguments in forward; in backward run fn again and differentiate that run.",
        {},
    )


def judge_recompute(data: dict[str, Any]) -> Verdict:
    """fn runs once in forward and once more in backward."""
    if "error" in data:
        return judge_graph(data)
    if data["backward"] == 0:
        return (
            f"fn does not run again in backward: its intermediates were kept "
            f"({data['kept']} bytes alive after forward).",
            "In forward grad mode is off, so fn leaves no graph; leave it like that, save the "
            "arguments only, and run fn again in backward.",
            {"kept": data["kept"]},
        )
    return None


def judge_passes(data: dict[str, Any]) -> Verdict:
    """One run of fn in forward, one in backward."""
    where = next((w for w in ("forward", "backward") if data[w] > 1), None)
    if where is None:
        return None
    return (
        f"fn runs {data[where]} times in {where}; once is enough.",
        "One recomputation gives the gradients of all arguments and parameters.",
        {"runs": data[where]},
    )


def judge_memory(data: dict[str, Any]) -> Verdict:
    """Nothing but the arguments (and one random state) is kept."""
    if data["kept"] <= 2 * RANDOM_STATE_BYTES:
        return None
    return (
        f"fn is recomputed, and yet {data['kept']} bytes stay alive after forward, besides the "
        "argument itself and the output.",
        "Look for a clone, an output or a graph of forward that is kept on ctx, in a list or in a "
        "closure.",
        {"kept": data["kept"]},
    )


# ---- second derivatives: right, or refused ---------------------------------------------------

_LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "y": lambda y, x: y.sum(),
    "y + x³": lambda y, x: (y + x**3).sum(),
    "y²": lambda y, x: (y**2).sum(),
    "y² + x³": lambda y, x: (y**2 + x**3).sum(),
}


def _curvature(apply: Callable[..., Any], loss: str, *tensors: Tensor) -> tuple[Tensor | None, ...]:
    """Σ of the squared gradients of x and scale, differentiated by them and by a captured weight.

    What the first backward adds to the weight's .grad is not part of it.
    """
    x, scale, weight = (t.clone().requires_grad_(True) for t in tensors)
    y = apply(lambda h, factor, k: factor * torch.sin(h @ weight) * k**2, x, 1.5, scale)
    first = torch.autograd.grad(_LOSSES[loss](y, x), (x, scale), create_graph=True)
    weight.grad = None
    ((first[0] ** 2).sum() + (first[1] ** 2).sum()).backward()
    return x.grad, scale.grad, weight.grad


def run_curvature(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Second derivatives of several losses, or how they are refused."""
    tensors = {"x": s.normal(2, 3), "scale": s.normal(3), "weight": s.normal(3, 3)}
    made = {
        **tensors,
        "outcomes": _outcomes(checkpoint, *tensors.values()),
        "hidden_refusal": False,
    }
    result = checkpoint(torch.sin, tensors["x"].clone().requires_grad_(True))
    if patches := without_once_differentiable(classes_of([result])):
        with patched(patches):
            again = _outcomes(checkpoint, *tensors.values())
        made["decorated"] = True
        made["hidden_refusal"] = all(outcome["refused"] for outcome in again)
    return made


def _outcomes(checkpoint: Callable[..., Any], *tensors: Tensor) -> list[dict[str, Any]]:
    outcomes = []
    for loss in _LOSSES:
        outcome: dict[str, Any] = {"loss": loss, "found": None, "error": "", "refused": False}
        try:
            found = _curvature(checkpoint, loss, *tensors)
            outcome["found"] = [None if g is None else g.detach().clone() for g in found]
        except Exception as error:  # which kind of error it is, is what is judged
            outcome["error"] = f"{type(error).__name__}: {error}"[:300]
            outcome["refused"] = isinstance(error, RuntimeError)
        outcomes.append(outcome)
    return outcomes


def judge_curvature(data: dict[str, Any]) -> Verdict:
    """Right, or RuntimeError; never a silent wrong number."""
    hint = (
        "Refuse it: your detached arguments are constants to a second derivative. Let backward begin "
        "with `if torch.is_grad_enabled(): raise RuntimeError(…)`; it is True with create_graph=True. "
        "once_differentiable alone is silent in sums."
    )
    why = ""
    if data.get("hidden_refusal"):
        why = (
            ": once_differentiable turns grad mode off before your own refusal is asked, so that it "
            "never comes about"
        )
        hint = (
            "Leave once_differentiable out. (Tried: without it an error is raised, in every loss.)"
        )
    refused = {o["loss"]: o["refused"] for o in data["outcomes"]}
    if not refused["y² + x³"] and not refused["y + x³"]:
        why = ": nothing in backward refuses it"
    if not why and refused["y² + x³"] and not refused["y + x³"]:
        # In one grad_output itself depends on what is differentiated again, in the other it does not.
        who = "once_differentiable alone refuses it" if data.get("decorated") else "it is refused"
        why = f": {who} only where grad_output requires grad, as in y² + x³"
    for outcome in data["outcomes"]:
        if outcome["refused"]:
            continue
        if outcome["error"]:
            return (
                f"A second derivative is refused with {outcome['error'].split(':')[0]}; the "
                "contract asks for RuntimeError.",
                hint,
                {"original": outcome["error"]},
            )
        tensors = (data["x"], data["scale"], data["weight"])
        right = _curvature(lambda fn, *args: fn(*args), outcome["loss"], *tensors)
        names = ("the first argument of fn", "the second argument of fn", "a captured parameter")
        for got, wanted, name in zip(outcome["found"], right, names, strict=True):
            if not close(got, wanted):
                return (
                    f"For the loss {outcome['loss']} a wrong second derivative with respect to {name} "
                    f"comes out, and no error{why}.",
                    hint,
                    {
                        "actual": "None" if got is None else show(got),
                        "expected": f"{show(wanted)}, or RuntimeError",
                    },
                )
    return None


# ---- .backward(create_graph=True) ------------------------------------------------------------


def run_create_graph(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The first derivatives of a training step with create_graph=True, or that it is refused."""
    data = training_data(s)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a reference cycle, which the step breaks
            found = training_step(checkpoint, data, create_graph=True)
    except RuntimeError:
        return {**data, "refused": True, "found": None}
    return {**data, "refused": False, "found": found}


_REFUSE = "Simplest is to refuse: `if torch.is_grad_enabled(): raise RuntimeError(…)`."


def judge_create_graph_reaches(data: dict[str, Any]) -> Verdict:
    """Captured parameters get gradients, or there is an error."""
    if data["refused"]:
        return None
    for got, right, name in zip(data["found"], expected(data), NAMES, strict=True):
        if right is not None and got is None:
            return (
                f"After loss.backward(create_graph=True) {name} has no gradient, and there is no error.",
                "With create_graph=True as well, torch.autograd.grad gives the gradients that you name "
                f"and no others. {_REFUSE}",
                {"actual": "None", "expected": f"{show(right)}, or RuntimeError"},
            )
    return None


def judge_create_graph(data: dict[str, Any]) -> Verdict:
    """All gradients are right, or there is an error."""
    if data["refused"]:
        return None
    for got, right, name in zip(data["found"], expected(data), NAMES, strict=True):
        if right is not None and not close(got, right):
            return (
                f"After loss.backward(create_graph=True) the gradient of {name} is wrong, and there is "
                "no error.",
                "An argument may have been made of another one: without detach the gradient of the one "
                f"runs through the other. What is in .grad already stays. {_REFUSE}",
                {"actual": show(got), "expected": f"{show(right)}, or RuntimeError"},
            )
    return None
