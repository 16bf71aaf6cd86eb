"""Experiments on Checkpoint: what is kept, how often fn runs, and second derivatives.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.measuring import RANDOM_STATE_BYTES, Storages, called_from
from autograder.exercises.recomputing import explained, judge_graph
from autograder.exercises.second_order import Verdict

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


def _curvature(
    apply: Callable[..., Any], loss: str, x: Tensor, weight: Tensor
) -> list[Tensor | None]:
    """Σ (dL/dx)² differentiated by x and by a captured parameter, through .backward()."""
    x, weight = (t.clone().requires_grad_(True) for t in (x, weight))
    y = apply(lambda h: torch.sin(h @ weight), x)
    (first,) = torch.autograd.grad(_LOSSES[loss](y, x), x, create_graph=True)
    (first**2).sum().backward()
    return [x.grad, weight.grad]


def run_curvature(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Second derivatives of several losses, or how they are refused."""
    x, weight, outcomes = s.normal(2, 3), s.normal(3, 3), []
    for loss in _LOSSES:
        outcome: dict[str, Any] = {"loss": loss, "found": None, "error": "", "refused": False}
        try:
            found = _curvature(checkpoint, loss, x, weight)
            outcome["found"] = [None if g is None else g.detach().clone() for g in found]
        except Exception as error:  # which kind of error it is, is what is judged
            outcome["error"] = f"{type(error).__name__}: {error}"[:300]
            outcome["refused"] = isinstance(error, RuntimeError)
        outcomes.append(outcome)
    return {"x": x, "weight": weight, "outcomes": outcomes}


def judge_curvature(data: dict[str, Any]) -> Verdict:
    """Right, or RuntimeError; never a silent wrong number."""
    hint = (
        "To the second derivative your detached arguments are constants. Refuse it: with "
        "create_graph=True grad mode is on while backward runs, so let its first line be "
        "`if torch.is_grad_enabled(): raise RuntimeError(…)`. once_differentiable alone is silent "
        "in sums with other functions of x."
    )
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
        right = _curvature(lambda fn, *args: fn(*args), outcome["loss"], data["x"], data["weight"])
        names = ("x", "a captured parameter")
        for got, expected, name in zip(outcome["found"], right, names, strict=True):
            if not close(got, expected):
                return (
                    f"For the loss {outcome['loss']} a wrong second derivative with respect to {name} "
                    "comes out, and no error.",
                    hint,
                    {
                        "actual": "None" if got is None else show(got),
                        "expected": f"{show(expected)}, or RuntimeError",
                    },
                )
    return None
