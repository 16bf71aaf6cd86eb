"""Second derivatives in several losses: what a Function that may refuse them must never do silently.

A case's own second derivative has an upstream gradient that requires grad, which once_differentiable
notices. Here the upstream gradient is a constant, or depends on the output alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Sampler, Scenario, sentences_beside
from autograder.observation.compare import close, show

SENTENCES = sentences_beside(__file__)

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Σ y": lambda y, x: y.sum(),
    "Σ y + Σ x³": lambda y, x: y.sum() + (x**3).sum(),
    "Σ y²": lambda y, x: (y**2).sum(),
    "Σ y² + Σ x³": lambda y, x: (y**2).sum() + (x**3).sum(),
}
_GRAD, _BACKWARD = "torch.autograd.grad", ".backward()"


def _twice(function: Callable[..., Any], loss: str, how: str, args: tuple[Any, ...]) -> Tensor:
    """The gradient for the first argument x of a weighted sum of all gradients; y is the output."""
    args = tuple(
        a.detach().clone().requires_grad_(True) if isinstance(a, Tensor) else a for a in args
    )
    tensors = [a for a in args if isinstance(a, Tensor)]
    total = LOSSES[loss](function(*args), args[0])
    first = torch.autograd.grad(total, tensors, create_graph=True)
    again = sum(((i + 1) * g.sum() for i, g in enumerate(first)), torch.zeros(()))
    if how == _GRAD:
        return torch.autograd.grad(again, args[0])[0]
    again.backward()
    return args[0].grad


def second_losses(
    reference: Callable[..., Tensor], make: Callable[[Sampler], tuple[Any, ...]], refused: bool = False,
    through: Callable[[Callable[..., Any]], Callable[..., Tensor]] | None = None,
    needs: tuple[str, ...] = ("output_value", "gradients_agree", "second_derivatives"),
) -> Scenario:  # fmt: skip
    """The experiment: right or a RuntimeError; with ``refused`` a RuntimeError in every attempt.

    ``through`` makes of the submission the function of tensors that ``make`` has arguments for.
    """

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        submission = through(submission) if through else submission
        args, outcomes = make(s), []
        for loss in LOSSES:
            for how in (_GRAD, _BACKWARD):
                outcome: dict[str, Any] = {"loss": loss, "how": how, "value": None, "error": ""}
                try:
                    outcome["value"] = _twice(submission, loss, how, args).detach().clone()
                except Exception as error:  # which kind of error it is, is what is judged
                    outcome["error"] = type(error).__name__
                    outcome["original"] = f"{type(error).__name__}: {error}"[:300]
                    outcome["refused"] = isinstance(error, RuntimeError)
                outcomes.append(outcome)
        return {"tensors": list(args), "outcomes": outcomes}

    def judge(data: dict[str, Any]) -> Cause | None:
        for outcome in data["outcomes"]:
            if outcome.get("refused"):
                continue
            if outcome["error"]:
                original = {"original": outcome["original"]}
                return Cause("losses/other-error", {"kind": outcome["error"]}, original, "refuses")
            right = _twice(reference, outcome["loss"], _GRAD, tuple(data["tensors"]))
            is_right = close(outcome["value"], right)
            if is_right and not refused:
                continue
            code = "losses/silent" if not refused else "losses/not-refused"
            facts = {"loss": outcome["loss"], "state": "right" if is_right else "wrong"}
            shown = {"actual": show(outcome["value"])}
            return Cause(code, facts, shown if refused else {**shown, "expected": show(right)})
        return None

    return Scenario(
        f"second derivatives are {'' if refused else 'right or '}refused in every loss",
        "double-backward-value", run, judge, needs=needs,
        given=("tensors", "loss", "how"),
    )  # fmt: skip
