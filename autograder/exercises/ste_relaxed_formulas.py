"""The Gumbel-softmax as it is asked for, and what learners write in its place."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.ste_slips import GUMBEL_SLOPES, GUMBEL_VALUES
from autograder.exercises.ste_surrogate import surrogate


def one_hot_of(soft: Tensor) -> Tensor:
    """1 at the largest element of the last dimension, 0 elsewhere."""
    return torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)


def soft_version(logits: Tensor, gumbels: Tensor, tau: float) -> Tensor:
    return torch.softmax((logits + gumbels) / tau, -1)


def relaxed(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
    soft = soft_version(logits, gumbels, tau)
    return surrogate(one_hot_of(soft), soft) if hard else soft


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
        return formula(soft_version(logits, gumbels, tau), grad_output, tau), None, None, None

    return Misconception(message, hint, gradients, rule)


def _centred(weights: Tensor, p: Tensor, g: Tensor) -> Tensor:
    return weights * (g - (g * p).sum(-1, keepdim=True))


def _of_hard_output(
    logits: Tensor, gumbels: Tensor, tau: float, hard: bool, *, grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    soft = soft_version(logits, gumbels, tau)
    y = one_hot_of(soft) if hard else soft
    return _centred(y, y, grad_output) / tau, None, None, None


def _without_noise(
    logits: Tensor, gumbels: Tensor, tau: float, hard: bool, *, grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    p = torch.softmax(logits / tau, -1)
    return _centred(p, p, grad_output) / tau, None, None, None


MISCONCEPTIONS = (
    _known(
        "grad_output is passed on as it is: the softmax and tau are left out of backward.",
        "The surrogate here is the soft version, and softmax mixes the elements of a row. (The identity "
        "stands in printed tutorials; it is not the gradient of the soft version.)",
        lambda p, g, tau: g,
    ),
    _known(
        "The gradient lacks the factor 1 / tau.",
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
    *GUMBEL_SLOPES,
)

FORWARD_SLIPS = (
    ForwardSlip(
        "The output is always soft; with hard=True it should be one-hot.",
        "When hard, put a 1 at the largest probability of each row and 0 elsewhere.",
        lambda logits, gumbels, tau, hard: soft_version(logits, gumbels, tau),
    ),
    ForwardSlip(
        "The output is always one-hot; with hard=False it should be soft.",
        "Return the softmax itself when hard is False.",
        lambda logits, gumbels, tau, hard: one_hot_of(soft_version(logits, gumbels, tau)),
    ),
    ForwardSlip(
        "The noise is missing.",
        "The argument of softmax is (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: relaxed(logits, 0 * gumbels, tau, hard),
    ),
    ForwardSlip(
        "tau is missing.",
        "The argument of softmax is (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: relaxed(logits, gumbels, 1.0, hard),
    ),
    ForwardSlip(
        "Only the logits are divided by tau, not the noise.",
        "Put brackets round the sum: (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: relaxed(logits, gumbels * tau, tau, hard),
    ),
    ForwardSlip(
        "It multiplies by tau where it should divide.",
        "A small tau makes the result harder: divide.",
        lambda logits, gumbels, tau, hard: relaxed(logits, gumbels, 1 / tau, hard),
    ),
    ForwardSlip(
        "Only the noise is divided by tau, not the logits.",
        "Put brackets round the sum: (logits + gumbels) / tau.",
        lambda logits, gumbels, tau, hard: relaxed(logits * tau, gumbels, tau, hard),
    ),
    ForwardSlip(
        "softmax runs over the first dimension.",
        "The choices lie along the last dimension: dim=-1.",
        lambda logits, gumbels, tau, hard: _over_first_dimension(logits, gumbels, tau, hard),
    ),
    *GUMBEL_VALUES,
)


def _over_first_dimension(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
    soft = torch.softmax((logits + gumbels) / tau, 0)
    return one_hot_of(soft) if hard else soft
