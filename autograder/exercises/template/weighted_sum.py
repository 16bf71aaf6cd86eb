"""WeightedSum: two tensors, two numbers; tensors in place of the numbers are refused."""

from __future__ import annotations

from typing import Any

import torch

from autograder.contract.exercise import Arguments, Exercise, Refusal, Sampler
from autograder.exercises.common_cases import cases_of, drawing, extreme, kept, large, some, special
from autograder.observation.observation import Named


def _two_branches(s: Sampler, *shape: int, weights: Arguments = ()) -> Arguments:
    """Two tensors, and weights: those given, or drawn ones that differ in size and in sign, and from call to call."""
    w1, w2 = float(s.uniform(low=0.3, high=0.9)), float(s.uniform(low=1.2, high=2.5))
    return s.normal(*shape), s.normal(*shape), *(weights or (w1, -w2))


_case = cases_of(_two_branches)


def _refused(what: str, place: str, *weights: Any) -> Refusal:
    return Refusal(f"{what} as {place}", drawing(some(3), some(3), *weights), argument=place)


_PARAMETER = Named("parameter", (0.7,))

WEIGHTED_SUM = Exercise(
    name="WeightedSum",
    summary="w1 · x1 + w2 · x2 for tensors of equal shape and Python numbers w1 and w2.",
    signature="(x1, x2, w1, w2)",
    reference=lambda x1, x2, w1, w2: w1 * x1 + w2 * x2,
    cases=(
        _case("two vectors", 5),
        _case("two matrices", 3, 4),
        _case(
            "whole numbers as weights",
            2,
            3,
            weights=(3, -2),
            advice="Python ints are numbers too: refuse tensors only.",
        ),
        _case("weights of 1 and −1", 4, weights=(1.0, -1.0)),
        _case("weights of −1 and 1", 3, weights=(-1, 1)),
        _case(
            "a weight of 0",
            4,
            weights=(0.0, 1.5),
            role="special",
            advice="0 is a weight like any other: its gradient is 0 · grad_output.",
        ),
        special("x1 = 0", [0.0, 0.0, 0.0], some(3), 0.5, 1.5),
        special("x2 = 0", some(3), [0.0, 0.0, 0.0], 0.5, 1.5),
        extreme("inputs of ±1000", lambda s: (large(s), -large(s), 0.5, 2.0)),
        _case("empty tensors", 0, 3, role="empty"),
    ),
    hints=(
        "Forward has four arguments besides ctx. How many values does backward return, and which "
        "of them are None?",
        "The weights are numbers: remember them as attributes of ctx. No tensor has to be saved. "
        "And w1 or w2 may be a tensor by mistake: isinstance(w1, torch.Tensor) tells, and a "
        "TypeError says so.",
        "dy/dx1 = w1 and dy/dx2 = w2. So backward returns w1 * grad_output, w2 * grad_output, "
        "None, None, and None also for x1 or x2 where ctx.needs_input_grad says False.",
    ),
    budget=kept(),
    budget_words="no tensor: the weights are numbers",
    refusals=(
        _refused("a tensor", "w1", torch.tensor(0.7), 0.5),
        _refused("a tensor", "w2", 0.5, torch.tensor([0.7])),
        _refused("a tensor that requires no gradient", "w2", 0.5, torch.tensor(2)),
        _refused("a torch.nn.Parameter", "w1", _PARAMETER, 0.5),
        _refused("a torch.nn.Parameter", "w2", 0.5, _PARAMETER),
    ),
)
