"""MySigmoid, MyTanh, MyGELU and LogSigmoid of lesson 02: smooth functions of one tensor, with one contract."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F

from autograder.contract.exercise import Exercise
from autograder.exercises.common_cases import ONE_TENSOR, elementwise_cases, kept

_activation = partial(
    Exercise,
    lesson="02_sigmoid",
    signature="(x)",
    cases=elementwise_cases(),
    budget=kept(0),
    budget_words=ONE_TENSOR,
)

MY_SIGMOID = _activation(
    name="MySigmoid",
    summary="σ(x) = 1 / (1 + e⁻ˣ), element by element.",
    reference=torch.sigmoid,
    hints=(
        "Look at the picture of slope over output: for the sigmoid every output has one slope. So "
        "which single tensor does backward need?",
        "Let forward compute y = torch.sigmoid(x) and save y. In backward write the slope σ′ with y "
        "alone, and multiply it by what arrives from above.",
        "grad_x = grad_output * y * (1 - y), with y from ctx.saved_tensors, which is a tuple.",
    ),
)


MY_TANH = _activation(
    name="MyTanh",
    summary="tanh(x), element by element.",
    reference=torch.tanh,
    hints=(
        "Find tanh among the pictures of slope over output. The curve there is a formula for the slope "
        "in terms of y: what kind of curve is it?",
        "tanh = sinh / cosh, with sinh′ = cosh and cosh′ = sinh. Use the quotient rule and write the "
        "result with y = tanh(x) alone.",
        "grad_x = grad_output * (1 - y**2), with the saved output y.",
    ),
)


MY_GELU = _activation(
    name="MyGELU",
    summary="The exact GELU x · Φ(x), with Φ(x) = (1 + erf(x/√2)) / 2, element by element.",
    reference=F.gelu,
    hints=(
        "In the picture of slope over output GELU folds back: one output, two slopes. So which tensor "
        "has to be saved? And x · Φ(x) is a product.",
        "Product rule: the slope is Φ(x) + x · Φ′(x), and Φ′ is the density of the normal distribution. "
        "Save x alone and compute both again; torch.erf and torch.exp do it.",
        "grad_x = grad_output * (0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x**2 / "
        "2) / math.sqrt(2 * math.pi)).",
    ),
)


LOG_SIGMOID = _activation(
    name="LogSigmoid",
    summary="log σ(x), element by element, finite for every finite x; its gradient keeps its digits.",
    reference=F.logsigmoid,
    hints=(
        "Do not compute σ and then its logarithm: take the logarithm on paper. log σ(x) = −softplus(−x), "
        "and you know the slope of softplus.",
        "Forward: F.logsigmoid, or x.clamp(max=0) - torch.log1p(torch.exp(-x.abs())). The slope "
        "of log σ is a sigmoid again, of which argument? Try x = −1000, where log σ(x) = x.",
        "grad_x = grad_output * torch.sigmoid(-x), with the saved x.",
    ),
)
