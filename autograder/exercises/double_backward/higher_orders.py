"""Cube, MyExp, SwishTwice and FirstOrderOnly of lesson 05: derivatives of derivatives, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Data, Exercise, Sampler, Scenario, Solution
from autograder.exercises.common_cases import (
    elementwise_cases,
    extreme,
    kept,
    special,
    told,
)
from autograder.exercises.sigmoid.activations import SWISH
from autograder.observation.compare import both, close, show

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def _derivatives(
    function: Callable[[Tensor], Tensor], x: Tensor, weights: Sequence[Tensor]
) -> tuple[list[Tensor | None], str]:
    """Derivatives of order 1 … len(weights) at x, and the error that ended them, or "".

    They are those of the loss y + y²/2, in which the upstream gradient depends on x too. Each order is
    the gradient of a weighted sum of the one before; None where nothing depends on x any more.
    """
    x = x.detach().clone().requires_grad_(True)
    found: list[Tensor | None] = []
    y = function(x)
    current = y + y * y / 2
    try:
        for weight in weights:
            if not current.requires_grad:
                return found + [None] * (len(weights) - len(found)), ""
            (current,) = torch.autograd.grad((current * weight).sum(), x, create_graph=True)
            found.append(current.detach().clone())
    except Exception as error:  # whatever the learner's backward raises is what was asked for
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def _judge(data: Data, right: Data) -> Cause | None:
    for place, (order, expected) in enumerate(zip(_ORDINALS, right["found"], strict=False)):
        if place >= len(data["found"]):
            return Cause("higher/stops", {"order": order}, {"original": data["error"][:300]})
        got = data["found"][place]
        if not close(got, expected) and not (got is None and expected is None):
            shown = {"inputs": {"x": show(right["x"])}, **both(got, expected)}
            return Cause("higher/wrong", {"order": order}, shown)
    return None


def derivatives_up_to(order: int, words: str) -> Scenario:
    """The experiment: all derivatives up to ``order`` are right. The first two have rules of their own."""

    def run(submission: Solution, s: Sampler) -> Data:
        x = torch.cat([s.uniform(4, low=-1.2, high=1.2), torch.zeros(1, dtype=torch.float64)])
        weights = [s.uniform(5, low=0.5, high=1.5) for _ in range(order)]
        found, error = _derivatives(submission, x, weights)
        return {"x": x, "found": found, "error": error}

    needs = ("output_value", "gradients_agree", "second_derivatives")
    return Scenario(words, "higher-derivative", run, _judge, needs)


def left_behind(leaves: dict[str, Tensor]) -> list[str]:
    """The names of the leaves with a .grad, which ``.backward()`` fills and the caller's optimiser reads."""
    return [name for name, leaf in leaves.items() if leaf.grad is not None]


CUBE = Exercise(
    **told("Cube"),
    reference=lambda x: x**3,
    cases=elementwise_cases(),
    budget=kept(0),
    scenarios=(derivatives_up_to(3, "the third derivative is right"),),
)


# Not +1000: e¹⁰⁰⁰ is infinite, value and slope alike. In float64 e⁷⁰⁰ is not.
_FAR64 = special("inputs from 100 to 700", [100.0, 300.0, 700.0], second=True)
_FAR = extreme(
    "very small and very large inputs in float32",
    [-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 80.0],
    digits=True,
)

MY_EXP = Exercise(
    **told("MyExp"),
    reference=torch.exp,
    cases=(*(case for case in elementwise_cases() if case.role != "extreme"), _FAR64, _FAR),
    budget=kept(0),
    scenarios=(derivatives_up_to(5, "the third, fourth and fifth derivatives are right"),),
)


SWISH_TWICE = replace(
    SWISH,
    **told("SwishTwice"),
    released=True,
)


FIRST_ORDER_ONLY = Exercise(
    **told("FirstOrderOnly"),
    reference=torch.erf,
    cases=elementwise_cases(),
    budget=kept(0),
    forbidden=frozenset(
        {"torch.erf", "torch.Tensor.erf", "torch.special.erf", "aten.erf", "aten.erfc", "aten.special_erf"}
    ),
    second_order="right-or-refused",
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
)  # fmt: skip
