"""A first look at a submission that nobody knows: what it does, so that the right things are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.running.containment import contained
from autograder.running.submission import Submission
from autograder.running.trace import record


@dataclass(frozen=True)
class Survey:
    """What one call of forward showed.

    writes   it gives back an argument that it wrote to, and says so with mark_dirty
    draws    it gives other outputs where other random numbers are drawn
    also     what else it offers: jvp, vmap, opcheck
    """

    writes: bool = False
    draws: bool = False
    also: tuple[str, ...] = ()


def survey(submission: Any, args: Sequence[Any]) -> Survey:
    """Never raises for what a submission does: one that stops shows nothing, and is asked as any other."""
    called = Submission(submission)
    with contained(), torch.enable_grad():
        try:
            with record(*called.classes, keep=0, details=False) as trace:
                first = _outputs(called, args, 1)
            draws = not _equal(first, _outputs(called, args, 2))
        except BaseException:
            return Survey()
    classes = dict.fromkeys(a.cls for a in trace.applications)
    also = []
    if isinstance(submission, torch.library.CustomOpDef | torch._ops.OpOverload):
        also.append("opcheck")
    if len(classes) == 1:
        (cls,) = classes
        also += ["jvp"] if cls.jvp is not Function.jvp else []  # type: ignore[attr-defined]
        own = cls.vmap is not Function.vmap or cls.generate_vmap_rule  # type: ignore[attr-defined]
        also += ["vmap"] if own and not draws else []
    return Survey(any(a.marked_dirty for a in trace.applications), draws, tuple(also))


def out_of_place(submission: Any) -> Callable[..., Any]:
    """The same on copies that are no leaves: torch lets nobody write to a leaf that requires grad."""
    called = Submission(submission)

    def call(*args: Any) -> Any:
        return called(*[a.clone() if isinstance(a, Tensor) else a for a in args])

    return call


def _outputs(called: Submission, args: Sequence[Any], seed: int) -> tuple[Any, ...]:
    torch.manual_seed(seed)
    ready = [_leaf(a).clone() if isinstance(a, Tensor) else a for a in args]
    made = called(*ready)
    return tuple(made) if isinstance(made, tuple | list) else (made,)


def _leaf(tensor: Tensor) -> Tensor:
    floating = tensor.is_floating_point() or tensor.is_complex()
    return tensor.detach().clone().requires_grad_(floating)


def _equal(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = zip(some, others, strict=True)
    return len(some) == len(others) and all(
        torch.equal(a.detach().nan_to_num(), b.detach().nan_to_num())
        for a, b in pairs
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape
    )
