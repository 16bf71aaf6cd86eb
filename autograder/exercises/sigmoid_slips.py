"""Formulas that learners write for ScaledSigmoid and LogSigmoid in the place of the right ones."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception

# ---- LogSigmoid ----------------------------------------------------------------------------

_STABLE = "log σ(x) = min(x, 0) − ln(1 + e^(−|x|)): try x = 0, where it is −ln 2, and x = 1000."

LOG_SIGMOID_VALUES: tuple[ForwardSlip, ...] = (
    ForwardSlip(
        "The output is min(x, 0) + ln(1 + e^(−|x|)): the sign of the logarithm is wrong.",
        _STABLE,
        lambda x: x.clamp(max=0) + torch.log1p(torch.exp(-x.abs())),
    ),
    ForwardSlip(
        "The output is max(x, 0) − ln(1 + e^(−|x|)): max stands where min belongs.",
        _STABLE,
        lambda x: x.clamp(min=0) - torch.log1p(torch.exp(-x.abs())),
    ),
    ForwardSlip(
        "The output is min(x, 0) − ln(1 + e^(|x|)): the sign in the exponent is lost.",
        _STABLE,
        lambda x: x.clamp(max=0) - torch.log1p(torch.exp(x.abs())),
    ),
    ForwardSlip(
        "The output is min(x, 0) − ln(1 + e^(−x)): the exponent needs −|x|, or min(x, 0) must go.",
        _STABLE,
        lambda x: x.clamp(max=0) - torch.log1p(torch.exp(-x)),
    ),
    ForwardSlip(
        "The output is −ln(1 + e^(−|x|)): min(x, 0) is missing.",
        _STABLE,
        lambda x: -torch.log1p(torch.exp(-x.abs())),
    ),
    ForwardSlip(
        "The output is min(x, 0) − ln(e^(−|x|)): log stands where log1p belongs, and the 1 is lost.",
        _STABLE,
        lambda x: x.clamp(max=0) + x.abs(),
    ),
)

# ---- ScaledSigmoid -------------------------------------------------------------------------


def _scaled(
    message: str, hint: str, slope: Callable[[Tensor, Tensor, float], Tensor]
) -> Misconception:
    """``slope`` takes x, s = σ(x) and scale."""
    return Misconception(
        message,
        hint,
        lambda x, scale, *, grad_output: (grad_output * slope(x, torch.sigmoid(x), scale), None),
    )


_SCALED = "The slope is scale · s · (1 − s) with s = σ(x), computed again from the saved x."

SCALED_SLOPES: tuple[Misconception, ...] = (
    _scaled(
        "The slope is scale · (1 − s): a factor s = σ(x) is missing.", _SCALED,
        lambda x, s, c: c * (1 - s),
    ),
    _scaled(
        "The slope is scale · s²: the second factor should be 1 − s.", _SCALED,
        lambda x, s, c: c * s * s,
    ),
    _scaled(
        "The slope is scale · s · (1 + s): a sign is wrong, 1 − s belongs there.", _SCALED,
        lambda x, s, c: c * s * (1 + s),
    ),
    _scaled(
        "The slope is scale · x · (1 − x): x stands where σ(x) belongs.", _SCALED,
        lambda x, s, c: c * x * (1 - x),
    ),
    _scaled(
        "The slope is scale · (1 − s²): 1 − s² is the form for tanh, not for σ.", _SCALED,
        lambda x, s, c: c * (1 - s * s),
    ),
    _scaled(
        "The slope is s · (scale − s): with y = scale · s it is y · (1 − s).", _SCALED,
        lambda x, s, c: s * (c - s),
    ),
    _scaled(
        "The slope is scale · s · (scale − s): with y = scale · s it is y · (1 − s).", _SCALED,
        lambda x, s, c: c * s * (c - s),
    ),
    _scaled(
        "The slope is taken at scale · x: the scale stands outside of σ.", _SCALED,
        lambda x, s, c: c * torch.sigmoid(c * x) * torch.sigmoid(-c * x),
    ),
)  # fmt: skip

SCALED_VALUES: tuple[ForwardSlip, ...] = (
    ForwardSlip("The output is scale + σ(x).", "Multiply σ(x) by scale.", lambda x, c: c + torch.sigmoid(x)),
    ForwardSlip("The output is scale · tanh(x).", "σ is torch.sigmoid.", lambda x, c: c * torch.tanh(x)),
    ForwardSlip("The output is scale · σ(−x).", "σ(x) = 1 / (1 + e⁻ˣ).", lambda x, c: c * torch.sigmoid(-x)),
    ForwardSlip(
        "The output is σ(x) to the power of scale.", "Multiply: *, not **.", lambda x, c: torch.sigmoid(x) ** c
    ),
    ForwardSlip(
        "The output is scale · σ(scale · x): the scale belongs outside only.", "Leave x as it is inside of σ.",
        lambda x, c: c * torch.sigmoid(c * x),
    ),
    ForwardSlip(
        "The output is scale · σ(x / scale): the scale belongs outside only.", "Leave x as it is inside of σ.",
        lambda x, c: c * torch.sigmoid(x / c),
    ),
)  # fmt: skip
