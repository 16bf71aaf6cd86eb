"""WeightedSum: two tensors, two numbers; tensors in place of the numbers are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Case,
    Cause,
    Exercise,
    Refusal,
    Sampler,
    Scenario,
)
from autograder.exercises.common_cases import kept, large


def _errors_for_parameters(weighted_sum: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The names of the errors for a Parameter as w1 and as w2; empty where it was taken."""
    x1, x2, weight, errors = s.normal(3), s.normal(3), torch.nn.Parameter(s.uniform()), []
    for weights in ((weight, 0.5), (0.5, weight)):
        try:
            weighted_sum(x1, x2, *weights)
            errors.append("")
        except Exception as error:  # which kind of error it is, is what is judged
            errors.append(type(error).__name__)
    return {"errors": errors}


def _refused_as_a_tensor(seen: dict[str, Any]) -> Cause | None:
    for name, error in zip(("w1", "w2"), seen["errors"], strict=True):
        if error != "TypeError":
            return Cause("parameter/taken", {"argument": name, "error": error})
    return None


def _two_branches(s: Sampler, *shape: int) -> tuple[Tensor, Tensor, float, float]:
    """Two tensors and two weights that differ in size and in sign, and from call to call."""
    w1 = float(s.uniform(low=0.3, high=0.9))
    w2 = float(s.uniform(low=1.2, high=2.5))
    return s.normal(*shape), s.normal(*shape), w1, -w2


WEIGHTED_SUM = Exercise(
    name="WeightedSum",
    summary="w1 · x1 + w2 · x2 for tensors of equal shape and Python numbers w1 and w2.",
    signature="(x1, x2, w1, w2)",
    reference=lambda x1, x2, w1, w2: w1 * x1 + w2 * x2,
    cases=(
        Case("two vectors", lambda s: _two_branches(s, 5)),
        Case("two matrices", lambda s: _two_branches(s, 3, 4)),
        Case(
            "whole numbers as weights",
            lambda s: (s.normal(2, 3), s.normal(2, 3), 3, -2),
            advice="Python ints are numbers too: refuse tensors only.",
        ),
        Case("weights of 1 and −1", lambda s: (s.normal(4), s.normal(4), 1.0, -1.0)),
        Case("weights of −1 and 1", lambda s: (s.normal(3), s.normal(3), -1, 1)),
        Case(
            "a weight of 0",
            lambda s: (s.normal(4), s.normal(4), 0.0, 1.5),
            role="special",
            advice="0 is a weight like any other: its gradient is 0 · grad_output.",
        ),
        Case("x1 = 0", lambda s: (0 * s.normal(3), s.normal(3), 0.5, 1.5), role="special"),
        Case("x2 = 0", lambda s: (s.normal(3), 0 * s.normal(3), 0.5, 1.5), role="special"),
        Case("inputs of ±1000", lambda s: (large(s), -large(s), 0.5, 2.0), role="extreme"),
        Case("empty tensors", lambda s: _two_branches(s, 0, 3), role="empty"),
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
        Refusal(
            "a tensor as w1",
            lambda s: (s.normal(3), s.normal(3), s.uniform(), 0.5),
            argument="w1",
        ),
        Refusal(
            "a tensor as w2",
            lambda s: (s.normal(3), s.normal(3), 0.5, s.uniform(1)),
            argument="w2",
        ),
        Refusal(
            "a tensor that requires no gradient as w2",
            lambda s: (s.normal(3), s.normal(3), 0.5, torch.tensor(2)),
        ),
    ),
    scenarios=(
        Scenario(
            "a Parameter is a tensor too",
            "refuses",
            _errors_for_parameters,
            _refused_as_a_tensor,
            needs=("refuses_what_it_should",),
        ),
    ),
)
