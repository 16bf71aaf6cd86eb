"""Lesson 04: the Gumbel-softmax, whose soft version has a derivative of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import (
    Case,
    Exercise,
    ForwardSlip,
    Misconception,
    Sampler,
    Scenario,
    bytes_of,
)
from autograder.exercises.ste_surrogate import LESSON, surrogate


def one_hot_of(soft: Tensor) -> Tensor:
    """1 at the largest element of the last dimension, 0 elsewhere."""
    return torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)


def _soft(logits: Tensor, gumbels: Tensor, tau: float) -> Tensor:
    return torch.softmax((logits + gumbels) / tau, -1)


def _reference(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
    soft = _soft(logits, gumbels, tau)
    return surrogate(one_hot_of(soft), soft) if hard else soft


_DRAWS = 20  # until the noise decides somewhere, which three draws in ten do in a single row


def _without_near_ties(s: Sampler, *shape: int) -> tuple[Tensor, Tensor]:
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


def _case(name: str, *shape: int, tau: float, hard: bool, **more: Any) -> Case:
    """tau is drawn within a tenth: two calls have two."""

    def make(s: Sampler) -> tuple[Any, ...]:
        return (*_without_near_ties(s, *shape), tau * float(s.uniform(low=0.9, high=1.1)), hard)

    return Case(name, make, **more)


def _extreme(hard: bool) -> Callable[[Sampler], tuple[Any, ...]]:
    rows = [[-1000.0, 0.0, 1000.0], [1000.0, -1000.0, 3.0], [-1000.0, -500.0, -750.0]]
    logits = torch.tensor(rows, dtype=torch.float64)
    return lambda s: (logits.clone(), s.uniform(3, 3), 0.5, hard)


# ---- the noise gets no gradient ------------------------------------------------------------


def _ask_for_noise(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Both inputs require grad; gives what reaches each of them."""
    logits, gumbels = _without_near_ties(s, 3, 4)
    logits.requires_grad_(True)
    gumbels.requires_grad_(True)
    output = submission(logits, gumbels, 0.7, True)
    found = torch.autograd.grad(output, (logits, gumbels), s.normal(3, 4), allow_unused=True)
    return {"logits": found[0] is not None, "gumbels": found[1] is not None}


def _judge_noise(data: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    if data.get("gumbels") is False:
        return None
    return (
        "The noise gets a gradient; the contract gives it None, always.",
        "gumbels is drawn, not learned. Its place in backward's answer is the second.",
        {"argument": "gumbels"},
    )


# ---- what learners write -------------------------------------------------------------------


def _known(
    message: str,
    hint: str,
    formula: Callable[[Tensor, Tensor, float], Tensor],
    rule: str = "gradient-value",
) -> Misconception:
    """``formula`` gives the gradient for the logits from (soft, grad_output, tau)."""

    def gradients(
        logits: Tensor, gumbels: Tensor, tau: float, hard: bool, *, grad_output: Tensor
    ) -> tuple[Tensor | None, ...]:
        return formula(_soft(logits, gumbels, tau), grad_output, tau), None, None, None

    return Misconception(message, hint, gradients, rule)


def _centred(weights: Tensor, p: Tensor, g: Tensor) -> Tensor:
    return weights * (g - (g * p).sum(-1, keepdim=True))


def _of_hard_output(
    logits: Tensor, gumbels: Tensor, tau: float, hard: bool, *, grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    soft = _soft(logits, gumbels, tau)
    y = one_hot_of(soft) if hard else soft
    return _centred(y, y, grad_output) / tau, None, None, None


def _without_noise(
    logits: Tensor, gumbels: Tensor, tau: float, hard: bool, *, grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    p = torch.softmax(logits / tau, -1)
    return _centred(p, p, grad_output) / tau, None, None, None


_MISCONCEPTIONS = (
    _known(
        "grad_output is passed on as it is: the softmax and tau are left out of backward.",
        "The surrogate here is the soft version, and softmax mixes the elements of a row. (The identity "
        "stands in printed tutorials; it is not the gradient of the soft version.)",
        lambda p, g, tau: g,
    ),
    _known(
        "The factor 1 / tau is missing.",
        "The argument of softmax is (logits + gumbels) / tau, so the chain rule divides by tau.",
        lambda p, g, tau: _centred(p, p, g),
        "gradient-scale",
    ),
    _known(
        "The gradient is multiplied by tau where it should be divided.",
        "d/d logits of (logits + gumbels) / tau is 1 / tau.",
        lambda p, g, tau: tau * _centred(p, p, g),
        "gradient-scale",
    ),
    _known(
        "Only the diagonal of the softmax Jacobian is there: p · (1 − p).",
        "Each probability depends on all logits of its row. The full product is p · (g − Σ g·p).",
        lambda p, g, tau: g * p * (1 - p) / tau,
    ),
    _known(
        "The gradient is grad_output · p / tau: the sum over the row is missing.",
        "Subtract Σ g·p over the row from g before you multiply by p.",
        lambda p, g, tau: g * p / tau,
    ),
    _known(
        "The row's plain mean of g is subtracted, not the mean weighted with p.",
        "The sum is Σ g·p.",
        lambda p, g, tau: p * (g - g.mean(-1, keepdim=True)) / tau,
    ),
    _known(
        "Σ g is subtracted; it should be Σ g·p.",
        "Multiply by p before you sum.",
        lambda p, g, tau: p * (g - g.sum(-1, keepdim=True)) / tau,
    ),
    _known(
        "The factor p in front is missing.",
        "The formula is p · (g − Σ g·p) / tau.",
        lambda p, g, tau: (g - (g * p).sum(-1, keepdim=True)) / tau,
    ),
    _known(
        "The sum Σ g·p runs over the whole tensor, not over each row.",
        "sum(-1, keepdim=True): one sum for each row.",
        lambda p, g, tau: p * (g - (g * p).sum()) / tau,
    ),
    _known(
        "The gradient is zero everywhere: that is the true derivative of a one-hot vector.",
        "The gradient of the soft version is asked for, hard or not.",
        lambda p, g, tau: torch.zeros_like(p),
        "gradient-zero",
    ),
    Misconception(
        "With hard=True the gradient is zero, as it is when the formula is fed with the one-hot output.",
        "The gradient of the soft version is asked for, hard or not: compute its probabilities again "
        "from logits, gumbels and tau.",
        _of_hard_output,
        rule="gradient-zero",
    ),
    Misconception(
        "Backward computes the softmax without the noise.",
        "The soft version is softmax((logits + gumbels) / tau), in backward too.",
        _without_noise,
    ),
)

_FORWARD_SLIPS = (
    ForwardSlip(
        "The output is always soft; with hard=True it should be one-hot.",
        "When hard, put a 1 at the largest probability of each row and 0 elsewhere.",
        lambda logits, gumbels, tau, hard: _soft(logits, gumbels, tau),
    ),
    ForwardSlip(
        "The output is always one-hot; with hard=False it should be soft.",
        "Return the softmax itself when hard is False.",
        lambda logits, gumbels, tau, hard: one_hot_of(_soft(logits, gumbels, tau)),
    ),
    ForwardSlip(
        "The noise is missing.",
        "The argument of softmax is (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: _reference(logits, 0 * gumbels, tau, hard),
    ),
    ForwardSlip(
        "tau is missing.",
        "The argument of softmax is (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: _reference(logits, gumbels, 1.0, hard),
    ),
    ForwardSlip(
        "Only the logits are divided by tau, not the noise.",
        "Put brackets round the sum: (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: _reference(logits, gumbels * tau, tau, hard),
    ),
    ForwardSlip(
        "It multiplies by tau where it should divide.",
        "A small tau makes the result harder: divide.",
        lambda logits, gumbels, tau, hard: _reference(logits, gumbels, 1 / tau, hard),
    ),
    ForwardSlip(
        "Only the noise is divided by tau, not the logits.",
        "Put brackets round the sum: (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: _reference(logits * tau, gumbels, tau, hard),
    ),
    ForwardSlip(
        "softmax runs over the first dimension.",
        "The choices lie along the last dimension: dim=-1.",
        lambda logits, gumbels, tau, hard: _over_first_dimension(logits, gumbels, tau, hard),
    ),
)


def _over_first_dimension(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
    soft = torch.softmax((logits + gumbels) / tau, 0)
    return one_hot_of(soft) if hard else soft


GUMBEL_SOFTMAX = Exercise(
    name="GumbelSoftmax",
    lesson=LESSON,
    summary=(
        "softmax((logits + gumbels) / tau) over the last dimension, or its one-hot version when hard; "
        "the gradient is that of the soft version either way, and gumbels gets None."
    ),
    signature="(logits, gumbels, tau, hard)",
    reference=_reference,
    constants=frozenset({1}),
    gradcheck=False,
    cases=(
        _case("a matrix, soft", 3, 4, tau=0.7, hard=False, visible=True),
        _case("a matrix, hard", 2, 5, tau=1.6, hard=True, visible=True),
        _case("a batch of matrices, hard", 2, 3, 4, tau=0.5, hard=True),
        _case("a batch of matrices, soft", 2, 2, 3, tau=1.3, hard=False),
        _case("a single row", 4, tau=0.8, hard=True, role="batch"),
        _case("an empty batch", 0, 4, tau=0.8, hard=True, role="empty"),
        Case("logits up to ±1000 in float32, soft", _extreme(False), role="extreme"),
        Case("logits up to ±1000 in float32, hard", _extreme(True), role="extreme"),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]),
    budget_words="logits and gumbels",
    visible_second=True,  # what may be kept follows from it
    hints=(
        "Which function is differentiable here? Take the gradient of that one, hard or not. The one-hot "
        "output knows only the winner: what has to be saved to get the probabilities back?",
        "Save logits and gumbels; tau goes on ctx. In backward compute p = softmax((logits + gumbels) / "
        "tau) again (a saved p would be an intermediate), then multiply by the Jacobian of softmax. Four "
        "arguments, four values.",
        "grad_logits = p * (g - (g * p).sum(-1, keepdim=True)) / tau with g = grad_output and p "
        "the probabilities; return grad_logits, None, None, None.",
    ),
    misconceptions=_MISCONCEPTIONS,
    forward_slips=_FORWARD_SLIPS,
    scenarios=(
        Scenario(
            "the noise gets None even when it requires grad",
            "gradient-value",
            _ask_for_noise,
            _judge_noise,
            needs=("raises", "gradients_agree"),
        ),
    ),
)
