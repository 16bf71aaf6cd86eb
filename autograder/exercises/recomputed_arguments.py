"""Checkpoint: with which arguments fn runs again in backward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Sampler
from autograder.exercises.second_order import Verdict

_PLAIN = (1.5, True, "mode")
_PLACES = (0, 2, 4)  # of the tensors; the plain values stand between and after them


def run_arguments(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The arguments of each call of fn, by their place among those that were passed; -1 for none of them.

    fn takes whatever comes, so that it runs on.
    """
    tensors = [s.normal(3) for _ in _PLACES]
    given: list[Any] = [tensors[0], 1.5, tensors[1], True, tensors[2], "mode"]
    calls: list[list[int]] = []

    def place(value: Any) -> int:
        for i, each in enumerate(given):
            if isinstance(each, Tensor):
                if isinstance(value, Tensor) and torch.equal(value.detach(), each):
                    return i
            elif type(value) is type(each) and value == each:
                return i
        return -1

    def fn(*args: Any) -> Tensor:
        calls.append([place(a) for a in args])
        total = torch.zeros(3, dtype=torch.float64)
        for a in args:
            total = total + torch.sin(a) if isinstance(a, Tensor) else total
        return total

    leaves = [t.clone().requires_grad_(True) if isinstance(t, Tensor) else t for t in given]
    y = checkpoint(fn, *leaves)
    with contextlib.suppress(RuntimeError, TypeError, IndexError, ValueError):
        y.sum().backward()
    return {"calls": calls}


def judge_arguments(data: dict[str, Any]) -> Verdict:
    """fn gets the same arguments again, each at its place."""
    names = ["args[0]", "1.5", "args[2]", "True", "args[4]", "'mode'"]
    right = list(range(len(names)))
    if len(data["calls"]) < 2 or data["calls"][0] != right:
        return None
    again = data["calls"][1]
    if again == right:
        return None
    came = ", ".join(names[i] if i >= 0 else "something else" for i in again)
    words = f"fn gets ({came}) in backward, where forward gave it ({', '.join(names)})"
    hint = (
        "Note at which places the tensors stand, keep the other values with holes for them, and fill the holes: "
        "args[place] = tensor."
    )
    tensors = [i for i in again if i in _PLACES]
    if sorted(again) == right and tensors == sorted(tensors):
        return f"The arguments that are no tensors lose their place: {words}.", hint, {}
    if sorted(again) == right:
        return f"In the recomputation the arguments stand in another order: {words}.", hint, {}
    if again == list(_PLACES):
        return (
            f"The arguments that are no tensors are left out in the recomputation: {words}.",
            hint,
            {},
        )
    return f"fn runs again with other arguments: {words}.", hint, {}
