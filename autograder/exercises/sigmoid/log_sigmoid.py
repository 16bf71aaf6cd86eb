"""LogSigmoid of lesson 02: contract, hints and experiments."""

from __future__ import annotations

import torch.nn.functional as F

from autograder.contract.exercise import Exercise
from autograder.exercises.common_cases import ONE_TENSOR, elementwise_cases, kept

LOG_SIGMOID = Exercise(
    name="LogSigmoid",
    lesson="02_sigmoid",
    summary="log σ(x), element by element, finite for every finite x; its gradient keeps its digits.",
    signature="(x)",
    reference=F.logsigmoid,
    cases=elementwise_cases(),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "Do not compute σ and then its logarithm: take the logarithm on paper. log σ(x) = −softplus(−x), "
        "and you know the slope of softplus.",
        "Forward: F.logsigmoid, or x.clamp(max=0) - torch.log1p(torch.exp(-x.abs())). The slope "
        "of log σ is a sigmoid again, of which argument? Try x = −1000, where log σ(x) = x.",
        "grad_x = grad_output * torch.sigmoid(-x), with the saved x.",
    ),
)
