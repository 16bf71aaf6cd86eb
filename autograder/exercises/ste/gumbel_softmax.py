"""GumbelSoftmax: soft or one-hot values with the gradient of the soft ones; the noise gets None."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.exercises.common_cases import cases_of, float64, kept, told
from autograder.exercises.ste.straight_through import surrogate
from autograder.observation.compare import show


def relaxed(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
    """Soft values, or 1 at the largest of the last dimension, with the gradient of the soft ones; the noise gets none."""
    soft = torch.softmax((logits + gumbels.detach()) / tau, -1)
    winner = torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
    return surrogate(winner, soft) if hard else soft


_DRAWS = 20  # until the noise decides somewhere, which three draws in ten do in a single row


def _without_near_ties(s: Sampler, *shape: int) -> Arguments:
    """(logits, gumbels) whose sums differ by 0.18 or more, so that no rounding moves the maximum.

    In some row the noise decides: its largest sum is not where its largest logit is.
    """
    for _ in range(_DRAWS):
        gumbels = -torch.log(-torch.log(s.uniform(*shape, low=0.05, high=0.95)))
        sums = s.distinct(*shape)
        logits = sums - gumbels
        if bool((logits.argmax(-1) != sums.argmax(-1)).any()):
            break
    return logits, gumbels


def _drawn(s: Sampler, *shape: int, tau: float, hard: bool) -> Arguments:
    """tau is drawn within a tenth: two calls have two."""
    return (*_without_near_ties(s, *shape), tau * float(s.uniform(low=0.9, high=1.1)), hard)


_case = cases_of(_drawn)


# Rows in which two, three and all sums are the largest.
_TIES = [[1.0, 0.0, 1.0, -1.0], [2.0, 2.0, 0.0, 2.0], [0.5, 0.5, 0.5, 0.5]]


def _ask_at_ties(submission: Solution, s: Sampler) -> Data:
    """The hard output for rows with ties."""
    logits = float64(_TIES)
    output = submission(logits, torch.zeros_like(logits), 1.0, True)
    return {"output": output.detach().clone()}


def _single_winner(data: Data, right: Data) -> Cause | None:
    """A single 1 in each row, at any of the largest."""
    sums, output = float64(_TIES), data["output"]
    ones = (output == 1) & (sums == sums.amax(-1, keepdim=True))
    if torch.equal(output, ones.to(output.dtype)) and bool((ones.sum(-1) == 1).all()):
        return None
    shown = {"inputs": {"logits + gumbels": show(sums[0])}, "actual": show(output[0])}
    return Cause("ties/several", {"each": bool((ones.sum(-1) > 1).any())}, shown)


_ROWS = [[-1000.0, 0.0, 1000.0], [1000.0, -1000.0, 3.0], [-1000.0, -500.0, -750.0]]
_far = cases_of(lambda s, hard: (float64(_ROWS), s.uniform(3, 3), 0.5, hard), role="extreme")

GUMBEL_SOFTMAX = Exercise(
    **told("GumbelSoftmax"),
    reference=relaxed,
    constants=frozenset({1}),
    gradcheck=False,
    cases=(
        _case("a matrix, soft", 3, 4, tau=0.7, hard=False),
        _case("a matrix, hard", 2, 5, tau=1.6, hard=True),
        _case("a batch of matrices, hard", 2, 3, 4, tau=0.5, hard=True),
        _case("a batch of matrices, soft", 2, 2, 3, tau=1.3, hard=False),
        _case(
            "a matrix, hard, and noise that requires grad", 3, 4, tau=0.7, hard=True, wants=(0, 1)
        ),
        _case("a single row", 4, tau=0.8, hard=True, role="batch"),
        _case("an empty batch", 0, 4, tau=0.8, hard=True, role="empty"),
        _far("logits up to ±1000 in float32, soft", False),
        _far("logits up to ±1000 in float32, hard", True),
    ),
    budget=kept(0, 1),
    scenarios=(
        Scenario(
            "a tie has one winner",
            "fails-special-point",
            _ask_at_ties,
            _single_winner,
            needs=("output_value",),
        ),
    ),
)
