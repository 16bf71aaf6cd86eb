"""Experiments on saved_bytes: nothing outlasts the call, no tensor, no gradient and no hook."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.exercise import Sampler
from autograder.exercises.hessian_experiments import left_behind
from autograder.exercises.holding import left_of
from autograder.exercises.measuring import hooks_cleared
from autograder.exercises.second_order import Verdict


def run_release(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether the tensors of f are freed once saved_bytes has returned."""
    references: list[tuple[StorageWeakRef, weakref.ref[Tensor]]] = []

    def f(x: Tensor) -> Tensor:
        y = torch.exp(x)
        references.append((StorageWeakRef(y.untyped_storage()), weakref.ref(y)))
        return y

    with hooks_cleared():
        submission(f, s.normal(8, 8).requires_grad_(True))
    kept = [tensor for storage, tensor in references if not storage.expired()]
    after = [left_of(tensor) for tensor in kept]
    return {"kept": len(kept), "calls": len(references), "after": after}


def run_tidy(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether an argument and a weight inside f are left without .grad."""
    x, weight = s.normal(4).requires_grad_(True), s.normal(4).requires_grad_(True)
    with hooks_cleared():
        submission(lambda t: torch.sin(weight * t), x)
    return left_behind({"x": x, "a weight inside f": weight})


def judge_tidy(data: dict[str, Any]) -> Verdict:
    """A measurement runs no backward."""
    if not data["left"]:
        return None
    return (
        f"A backward runs inside: afterwards .grad of {' and '.join(data['left'])} is filled, and the caller's "
        "next optimiser step would use it.",
        "What is kept is known when f has run: pack gets every tensor. Note its bytes there; unpack runs in "
        "backward only.",
        {"left": data["left"]},
    )


def judge_release(data: dict[str, Any]) -> Verdict:
    """What was measured is let go."""
    if not data["kept"]:
        return None
    message = "After saved_bytes has returned, a tensor of f is still in memory"
    if set(data["after"]) == {"itself"}:
        return (
            f"pack returns the tensor itself, not a detached one, so an output and its node hold each other. "
            f"{message}.",
            "Return tensor.detach() from pack: same memory, but no node. Python cannot see the cycle, for it "
            "runs through the graph.",
            {"kept": data["kept"]},
        )
    if set(data["after"]) == {"copy"}:
        return (
            f"{message}: something that outlives the call holds a detached tensor with the same storage.",
            "A list or dict outside of the function, or a default argument, keeps what is put into it. Note the "
            "numbers alone, address and bytes.",
            {"kept": data["kept"]},
        )
    return (
        f"{message}.",
        "If the pack hook returns an output itself, the node that made it holds it and it holds the "
        "node: a cycle that Python cannot see. Return tensor.detach() from pack, and keep no tensor in "
        "a global list.",
        {"kept": data["kept"]},
    )


class _Stop(Exception):
    """Ends f in the middle."""


def run_stopped(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """How many hooks are still on after an f that stops with an error."""

    def f(x: Tensor) -> Tensor:
        raise _Stop(torch.sin(x))

    with hooks_cleared() as left, contextlib.suppress(_Stop):
        submission(f, s.normal(4, 4).requires_grad_(True))
    return {"left": left[0]}


def judge_stopped(data: dict[str, Any]) -> Verdict:
    """An error ends the measurement, too."""
    if not data["left"]:
        return None
    return (
        "When f stops with an error the hooks stay on, and see all that is saved from then on.",
        "A with block takes them off whatever happens inside it. Who calls __enter__ and __exit__ by hand "
        "needs try and finally.",
        {"left": data["left"]},
    )
