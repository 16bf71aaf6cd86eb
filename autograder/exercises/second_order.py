"""Experiments of lesson 05 that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.modes import Watching

Verdict = tuple[str, str, dict[str, Any]] | None
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}

# ---- derivatives of any order ----------------------------------------------------------------


def derivatives(
    function: Callable[[Tensor], Tensor], x: Tensor, weights: Sequence[Tensor]
) -> tuple[list[Tensor | None], str]:
    """Contracted derivatives of order 1 … len(weights) of ``function`` at x, and what stopped them.

    They are those of the loss y + y²/2, in which the upstream gradient depends on x too. Each order
    is the gradient of a weighted sum of the one before. Where nothing depends on x any more the
    derivative is None; the words are those of the error that ended it, or empty.
    """
    x = x.detach().clone().requires_grad_(True)
    found: list[Tensor | None] = []
    y = function(x)
    current = y + y * y / 2
    try:
        for weight in weights:
            if not current.requires_grad:
                found += [None] * (len(weights) - len(found))
                break
            (current,) = torch.autograd.grad((current * weight).sum(), x, create_graph=True)
            found.append(current.detach().clone())
    except Exception as error:  # whatever the learner's backward raises is what was asked for
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def run_orders(count: int) -> Callable[[Callable[..., Any], Sampler], dict[str, Any]]:
    """A run that measures the derivatives of order 1 … count."""

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        x, weights = (
            s.uniform(4, low=-1.2, high=1.2),
            [s.uniform(4, low=0.5, high=1.5) for _ in range(count)],
        )
        found, error = derivatives(submission, x, weights)
        return {"x": x, "weights": weights, "found": found, "error": error}

    return run


def judge_orders(reference: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Any]], Verdict]:
    """A judge of those derivatives; orders one and two have rules of their own."""

    def judge(data: dict[str, Any]) -> Verdict:
        right, _ = derivatives(reference, data["x"], data["weights"])
        for place, expected in enumerate(right):
            order = _ORDINALS[place + 1]
            if place >= len(data["found"]):
                return (
                    f"The derivatives below it are right, but the {order} one stops with an error.",
                    "Everything backward does must be differentiable again: torch operations on saved "
                    "inputs, outputs and grad_output, or another Function that keeps the same rule.",
                    {"original": data["error"][:300], "order": place + 1},
                )
            got = data["found"][place]
            if close(got, expected) or (got is None and expected is None):
                continue
            return (
                f"The {order} derivative is wrong (here of y + y²/2); the ones below it are right.",
                "Something that backward uses is a constant to torch from here on: look for a detach, "
                "a .data or a saved intermediate, also in a second Function that backward calls.",
                {
                    "inputs": {"x": show(data["x"])},
                    "actual": "None" if got is None else show(got),
                    "expected": show(expected),
                    "order": place + 1,
                },
            )
        return None

    return judge


# ---- FirstOrderOnly --------------------------------------------------------------------------

# name → (loss of y, x and a weight w; whether it is differentiated again by x or by w)
LOSSES: dict[str, tuple[Callable[[Tensor, Tensor, Tensor], Tensor], str]] = {
    "y": (lambda y, x, w: y.sum(), "x"),
    "y + x³": (lambda y, x, w: (y + x**3).sum(), "x"),
    "y²": (lambda y, x, w: (y**2).sum(), "x"),
    "y² + x³": (lambda y, x, w: (y**2 + x**3).sum(), "x"),
    "w · y, differentiated again by w": (lambda y, x, w: (w * y).sum(), "w"),
}


def _twice(
    function: Callable[[Tensor], Tensor], loss: str, x: Tensor, w: Tensor, by_backward: bool
) -> Tensor | None:
    """The second derivative of a loss: of Σ dL/dx by x, or by w."""
    x, w = (t.detach().clone().requires_grad_(True) for t in (x, w))
    formula, by = LOSSES[loss]
    again = x if by == "x" else w
    (first,) = torch.autograd.grad(formula(function(x), x, w), x, create_graph=True)
    if by_backward:
        first.sum().backward()
        return again.grad
    return torch.autograd.grad(first.sum(), again, allow_unused=False)[0]


def run_attempts(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Second derivatives of several losses, by autograd.grad and by .backward()."""
    x, w, outcomes = s.away_from(3), s.uniform(3, low=0.5, high=1.5), []
    for loss in LOSSES:
        for by_backward in (False, True):
            outcome: dict[str, Any] = {"loss": loss, "value": None, "error": "", "refused": False}
            outcome["how"] = ".backward()" if by_backward else "torch.autograd.grad"
            try:
                value = _twice(submission, loss, x, w, by_backward)
                outcome["value"] = None if value is None else value.detach().clone()
            except Exception as error:  # which kind of error it is, is what is judged
                outcome["error"] = f"{type(error).__name__}: {error}"
                outcome["refused"] = isinstance(error, RuntimeError)
            outcomes.append(outcome)
    return {"x": x, "w": w, "outcomes": outcomes}


def judge_attempts(data: dict[str, Any]) -> Verdict:
    """Every attempt must have raised RuntimeError."""
    for outcome in data["outcomes"]:
        if outcome["refused"]:
            continue
        if outcome["error"]:
            return (
                f"A second derivative is refused with {outcome['error'].split(':')[0]}; the contract "
                "asks for RuntimeError.",
                'raise RuntimeError("…") with a sentence that says why.',
                {"original": outcome["error"][:300]},
            )
        if said := asks_grad_output(data["outcomes"], "y² + x³", "y + x³"):
            return said
        right = _twice(torch.erf, outcome["loss"], data["x"], data["w"], False)
        got = outcome["value"]
        if close(got, right):
            message = (
                f"For the loss {outcome['loss']} a second derivative, taken with {outcome['how']}, comes "
                "out without an error. It happens to be right, but first order only means that every "
                "attempt is refused."
            )
        else:
            message = (
                f"For the loss {outcome['loss']} a wrong second derivative, taken with "
                f"{outcome['how']}, comes out, and no error."
            )
        return (
            message,
            "Refuse where a second derivative begins: with create_graph=True grad mode is on while "
            "backward runs, so ask torch.is_grad_enabled() in its first line. once_differentiable "
            "alone is silent in sums with other functions of x.",
            {
                "inputs": {"x": show(data["x"])},
                "actual": "None" if got is None else show(got),
                "expected": f"RuntimeError (the true value is {show(right)})",
            },
        )
    return None


def asks_grad_output(outcomes: Sequence[dict[str, Any]], refused: str, silent: str) -> Verdict:
    """What is to say where only a loss is refused in which grad_output requires grad.

    refused  such a loss, by its words
    silent   one in which grad_output is a constant, and that has a second derivative all the same
    """
    found = {(o["loss"], o["how"]): o["refused"] for o in outcomes}
    ways = {o["how"] for o in outcomes}
    if not all(found[refused, how] and not found[silent, how] for how in ways):
        return None
    return (
        f"A second derivative is refused only where grad_output requires grad, as in {refused}; in {silent} it does "
        "not require grad, and the second derivative comes out without an error.",
        "Where the loss is linear in the output, grad_output is a constant. Ask for the grad mode: with "
        "create_graph=True torch.is_grad_enabled() is True while backward runs, whatever the loss is.",
        {},
    )


class Operations(Watching):
    """Names of the operations that ran, and the most elements that one of their results had."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.largest = 0

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        self.names.add(str(operation).split(".")[1])
        self.largest = max([self.largest, *(tensor.numel() for tensor in tensors)])


def run_operations(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The names of torch's operations in forward."""
    with Operations() as seen:
        submission(s.normal(3))
    return {"names": sorted(seen.names)}


def judge_scipy(data: dict[str, Any]) -> Verdict:
    """erf is SciPy's, not torch's."""
    used = [n for n in data["names"] if n in ("erf", "erf_", "erfc", "special_erf", "erfinv")]
    if not used:
        return None
    return (
        f"forward calls torch's own {used[0]}; here the value is to come from SciPy.",
        "Leave torch and come back: x.detach().cpu().numpy(), scipy.special.erf, torch.as_tensor.",
        {},
    )
