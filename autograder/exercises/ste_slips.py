"""Further formulas that learners write in lesson 04 in the place of the right ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception

# ---- halves, which torch.round sends to the even neighbour ---------------------------------

HALVES = (
    "torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2. A half that is added and cut off sends "
    "them all one way: floor(x + 0.5) up, trunc(x + 0.5 · sign(x)) away from 0."
)
AT_HALVES: dict[str, Callable[[Tensor], Tensor]] = {
    "all go up, as with floor(x + 0.5)": lambda x: torch.floor(x + 0.5),
    "all go down, as with ceil(x − 0.5)": lambda x: torch.ceil(x - 0.5),
    "all go away from 0, as with trunc(x + 0.5 · sign(x))": lambda x: (
        x.sign() * torch.floor(x.abs() + 0.5)
    ),
    "all go towards 0": lambda x: x.sign() * torch.ceil(x.abs() - 0.5),
}

# ---- FakeQuantize --------------------------------------------------------------------------

_GRID = "(q − zero_point) · scale with q = clamp(round(x / scale) + zero_point, qmin, qmax)."


def _rounded(x: Tensor, s: float, z: int) -> Tensor:
    return torch.round(x / s) + z


def _wrapped(x: Tensor, s: float, z: int, lo: int, hi: int) -> Tensor:
    return ((_rounded(x, s, z) - lo) % (hi - lo + 1) + lo - z) * s


def _unsigned(x: Tensor, s: float, z: int, lo: int, hi: int) -> Tensor:
    """q in uint8 (below 0 it begins again at 255), and zero_point subtracted there too."""
    q = _rounded(x, s, z).clamp(lo, hi).to(torch.int64) % 256
    return ((q - z) % 256).to(x.dtype) * s


def _inside(q: Tensor, lo: float, hi: float) -> Tensor:
    return (q >= lo) & (q <= hi)


_HALVES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(
        f"Halves {words}; they should go to the even step.",
        HALVES,
        lambda x, s, z, lo, hi, rounded=rounded: ((rounded(x / s) + z).clamp(lo, hi) - z) * s,
    )
    for words, rounded in AT_HALVES.items()
)

QUANTIZE_VALUES: tuple[ForwardSlip, ...] = _HALVES + tuple(
    ForwardSlip(message, _GRID, value)
    for message, value in (
        ("The zero point is added after the clamp where it should be subtracted.", lambda x, s, z, lo, hi: (_rounded(x, s, z).clamp(lo, hi) + z) * s),
        ("The zero point is subtracted after scale is multiplied in: the brackets are missing.", lambda x, s, z, lo, hi: _rounded(x, s, z).clamp(lo, hi) * s - z),
        ("At the end it divides by scale; it should multiply.", lambda x, s, z, lo, hi: (_rounded(x, s, z).clamp(lo, hi) - z) / s),
        ("At the end scale is not multiplied in.", lambda x, s, z, lo, hi: _rounded(x, s, z).clamp(lo, hi) - z),
        ("x itself is clamped to qmin and qmax, which count steps.", lambda x, s, z, lo, hi: torch.round(x.clamp(lo, hi) / s) * s),
        ("The rounding comes last, on the result: the steps are then whole numbers, not multiples of scale.", lambda x, s, z, lo, hi: torch.round(((x / s + z).clamp(lo, hi) - z) * s)),
        ("The upper end is missing: q is not bounded by qmax.", lambda x, s, z, lo, hi: (_rounded(x, s, z).clamp(min=lo) - z) * s),
        ("The lower end is missing: q is not bounded by qmin.", lambda x, s, z, lo, hi: (_rounded(x, s, z).clamp(max=hi) - z) * s),
        ("The output is rounded up to the grid (ceil), not to the nearest step.", lambda x, s, z, lo, hi: ((torch.ceil(x / s) + z).clamp(lo, hi) - z) * s),
        ("q begins again at the other end where it should be clamped: that is what a remainder (%) does.", _wrapped),
        ("qmax is left out: q ends at qmax − 1.", lambda x, s, z, lo, hi: (_rounded(x, s, z).clamp(lo, hi - 1) - z) * s),
        ("q is kept in uint8, and zero_point is subtracted there: below 0 it begins again at 255.", _unsigned),
        ("The zero point is subtracted from the clamped steps, but never added before.", lambda x, s, z, lo, hi: (torch.round(x / s).clamp(lo, hi) - z) * s),
        ("Rounded is x / scale + zero_point, in one: an odd zero point turns even into odd, so that ties go to the other step.", lambda x, s, z, lo, hi: (torch.round(x / s + z).clamp(lo, hi) - z) * s),
        ("The zero point is taken for a number in the units of x: it counts steps.", lambda x, s, z, lo, hi: torch.round((x - z) / s).clamp(lo, hi) * s + z),
        ("The zero point is added to x, in front of the division: it counts steps.", lambda x, s, z, lo, hi: (torch.round((x + z) / s).clamp(lo, hi) - z) * s),
        ("What is outside of the range becomes 0; it should become the nearer end.", lambda x, s, z, lo, hi: torch.where(_inside(_rounded(x, s, z), lo, hi), torch.round(x / s) * s, 0.0)),
        ("The output is x itself: nothing is quantised.", lambda x, s, z, lo, hi: x),
    )
)  # fmt: skip


def _mask(message: str, inside: Callable[..., Tensor]) -> Misconception:
    def gradients(*args: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        return (grad_output * inside(*args), None, None, None, None)

    return Misconception(message, "Compare round(x / scale) + zero_point with qmin and qmax.", gradients)  # fmt: skip


QUANTIZE_MASKS: tuple[Misconception, ...] = (
    _mask(
        "In the mask the zero point is subtracted; it should be added.",
        lambda x, s, z, lo, hi: _inside(_rounded(x, s, -z), lo, hi),
    ),
    _mask(
        "The mask asks whether x lies within half a step of the range, both bounds included: a tie there may round "
        "to a step outside.",
        lambda x, s, z, lo, hi: _inside(x / s + z, lo - 0.5, hi + 0.5),
    ),
    _mask(
        "The mask rounds down (floor) where forward rounds to the nearest step.",
        lambda x, s, z, lo, hi: _inside(torch.floor(x / s) + z, lo, hi),
    ),
)

# ---- GumbelSoftmax -------------------------------------------------------------------------

_ONE_HOT = "When hard, put a 1 where softmax((logits + gumbels) / tau) is largest in its row, and 0 elsewhere."
_SOFT = "The contract is softmax((logits + gumbels) / tau) over the last dimension, or its one-hot version."


def _p(logits: Tensor, gumbels: Tensor, tau: float) -> Tensor:
    return torch.softmax((logits + gumbels) / tau, -1)


def _hot(values: Tensor, dim: int = -1) -> Tensor:
    return torch.zeros_like(values).scatter(dim, values.argmax(dim, keepdim=True), 1.0)


def _hard(message: str, make: Callable[[Tensor, Tensor, Tensor], Tensor]) -> ForwardSlip:
    """``make`` gives the hard version from (p, logits, gumbels); the soft one is right."""

    def value(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
        p = _p(logits, gumbels, tau)
        return make(p, logits, gumbels) if hard else p

    return ForwardSlip(message, _ONE_HOT, value)


def _both(message: str, soft: Callable[[Tensor, Tensor, float], Tensor]) -> ForwardSlip:
    """``soft`` is used for the soft version, and its largest element for the hard one."""

    def value(logits: Tensor, gumbels: Tensor, tau: float, hard: bool) -> Tensor:
        p = soft(logits, gumbels, tau)
        return _hot(p) if hard else p

    return ForwardSlip(message, _SOFT, value)


GUMBEL_VALUES: tuple[ForwardSlip, ...] = (
    _hard(
        "The hard version marks what is above ½ (so does round): a row in which nothing has more than half is left "
        "without a 1.", lambda p, logits, gumbels: (p > 0.5).to(p.dtype),
    ),
    _hard("The hard version takes the largest logit: the noise is left out there.", lambda p, logits, gumbels: _hot(logits)),
    _hard("The hard version takes the largest noise: the logits are left out there.", lambda p, logits, gumbels: _hot(gumbels)),
    _hard("The hard version keeps the largest probability as it is; it should be 1.", lambda p, logits, gumbels: p * _hot(p)),
    _hard("The hard version marks the smallest probability.", lambda p, logits, gumbels: _hot(-p)),
    _hard("The hard version takes the largest element along the first dimension.", lambda p, logits, gumbels: _hot(p, 0)),
    _hard("The hard version takes the largest element of the whole tensor, not of each row.", lambda p, logits, gumbels: _hot(p.flatten()).reshape(p.shape)),
    _both("The noise is subtracted; it should be added.", lambda logits, gumbels, tau: _p(logits, -gumbels, tau)),
    _both("A sigmoid stands where the softmax belongs.", lambda logits, gumbels, tau: torch.sigmoid((logits + gumbels) / tau)),
    _both("log_softmax stands where the softmax belongs.", lambda logits, gumbels, tau: torch.log_softmax((logits + gumbels) / tau, -1)),
    _both("The exponentials are not divided by their sum.", lambda logits, gumbels, tau: torch.exp((logits + gumbels) / tau)),
    _both("tau divides the softmax, not what goes into it.", lambda logits, gumbels, tau: torch.softmax(logits + gumbels, -1) / tau),
    ForwardSlip(
        "hard is turned round: True gives the soft output, and False the one-hot one.", _SOFT,
        lambda logits, gumbels, tau, hard: _p(logits, gumbels, tau) if hard else _hot(_p(logits, gumbels, tau)),
    ),
)  # fmt: skip

_JACOBIAN = "grad_logits = p · (g − Σ g·p) / tau, with one sum for each row."


def _logits(
    message: str, formula: Callable[[Tensor, Tensor, float], Tensor], rule: str = "gradient-value"
) -> Misconception:
    return Misconception(
        message, _JACOBIAN,
        lambda logits, gumbels, tau, hard, *, grad_output: (
            formula(_p(logits, gumbels, tau), grad_output, tau), None, None, None
        ),
        rule,
    )  # fmt: skip


def _sum(p: Tensor, g: Tensor) -> Tensor:
    return (g * p).sum(-1, keepdim=True)


GUMBEL_SLOPES: tuple[Misconception, ...] = (
    _logits("The sum Σ g·p runs over the first dimension, not over each row.", lambda p, g, t: p * (g - (g * p).sum(0, keepdim=True)) / t),
    _logits("Σ g·p is added; it should be subtracted.", lambda p, g, t: p * (g + _sum(p, g)) / t),
    _logits("A mean of g·p is subtracted; it should be the sum Σ g·p.", lambda p, g, t: p * (g - (g * p).mean(-1, keepdim=True)) / t),
    _logits("The factor p is there twice.", lambda p, g, t: p * p * (g - _sum(p, g)) / t),
    _logits("The brackets are missing: p · g − Σ g·p, without the factor p on the sum.", lambda p, g, t: (p * g - _sum(p, g)) / t),
    _logits("The brackets are missing: p · g − Σ g·p / tau, in which the sum alone is divided by tau, and lacks p.", lambda p, g, t: p * g - _sum(p, g) / t),
    _logits("The sum alone is divided by tau; all of it should be.", lambda p, g, t: p * (g - _sum(p, g) / t)),
    _logits("Σ p, which is 1, is subtracted; it should be Σ g·p.", lambda p, g, t: p * (g - 1) / t, "upstream-nonlinear"),
)  # fmt: skip

# ---- GradientReversal and ClipGradient -----------------------------------------------------


def _reversal(
    message: str, formula: Callable[[Tensor, float], Tensor], rule: str = "gradient-value"
) -> Misconception:
    return Misconception(
        message, "The gradient is −alpha · grad_output.",
        lambda x, alpha, *, grad_output: (formula(grad_output, alpha), None), rule,
    )  # fmt: skip


REVERSALS: tuple[Misconception, ...] = (
    _reversal("alpha is there, but the minus is missing: nothing is reversed.", lambda g, a: a * g, "gradient-sign"),
    _reversal("The factor is 1 − alpha; it should be −alpha.", lambda g, a: (1 - a) * g, "gradient-scale"),
    _reversal("The factor is −(1 + alpha); it should be −alpha.", lambda g, a: -(1 + a) * g, "gradient-scale"),
    _reversal("The factor is −√alpha; it should be −alpha.", lambda g, a: -math.sqrt(a) * g, "gradient-scale"),
    _reversal("The factor is −e^alpha; it should be −alpha.", lambda g, a: -math.exp(a) * g, "gradient-scale"),
    _reversal("grad_output is reversed and clamped to ±alpha; alpha is a factor here.", lambda g, a: -g.clamp(-a, a), "upstream-nonlinear"),
    _reversal("The order of the elements of grad_output is reversed (flip), not its sign.", lambda g, a: a * g.flip(0)),
    _reversal("The order of the elements of grad_output is reversed (flip), and its sign.", lambda g, a: -a * g.flip(0)),
)  # fmt: skip


def _clipped(
    message: str, formula: Callable[[Tensor, float], Tensor], rule: str = "gradient-value"
) -> Misconception:
    return Misconception(
        message, "Every element of grad_output is clamped by itself, to −limit and limit, and nothing else.",
        lambda x, limit, *, grad_output: (formula(grad_output, limit), None), rule,
    )  # fmt: skip


CLIPPINGS: tuple[Misconception, ...] = (
    _clipped("grad_output is clamped to ±1 and multiplied by limit; limit is the bound here.", lambda g, m: m * g.clamp(-1, 1)),
    _clipped("grad_output is squeezed smoothly by tanh.", lambda g, m: m * torch.tanh(g / m)),
    _clipped("The whole gradient is scaled so that its largest element is at most limit.", lambda g, m: g * min(1.0, m / float(g.abs().max()))),
    _clipped("Each row is scaled so that its norm is at most limit.", lambda g, m: g * (m / g.norm(dim=-1, keepdim=True)).clamp(max=1)),
    _clipped("limit is subtracted from grad_output.", lambda g, m: g - m),
    _clipped("limit is subtracted from the size of grad_output: what is smaller becomes 0, the rest is shortened.", lambda g, m: g.sign() * (g.abs() - m).clamp(min=0)),
    _clipped("The mask is the wrong way round: what is beyond the limit passes, and the rest becomes 0.", lambda g, m: g * (g.abs() > m)),
    _clipped("What is beyond the limit becomes +limit, whatever its sign.", lambda g, m: torch.where(g.abs() > m, m, g)),
    _clipped("The mask |grad_output| ≤ limit itself is returned.", lambda g, m: (g.abs() <= m).to(g.dtype)),
    _clipped("The bounds are ±limit/2.", lambda g, m: g.clamp(-m / 2, m / 2)),
    _clipped("The bounds are ±2 · limit.", lambda g, m: g.clamp(-2 * m, 2 * m)),
    _clipped("The bounds are ±limit².", lambda g, m: g.clamp(-m * m, m * m)),
    Misconception(
        "grad_output is multiplied by x before it is clamped.", "x plays no part in backward.",
        lambda x, limit, *, grad_output: ((x * grad_output).clamp(-limit, limit), None),
    ),
)  # fmt: skip
