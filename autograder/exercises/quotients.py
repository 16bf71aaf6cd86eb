"""Further values that learners compute in numerical_gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip

# ---- numerical_gradient --------------------------------------------------------------------

_QUOTIENT = "gradient[index] = (f(x + nudge) - f(x - nudge)) / (2 * eps), for every index."
_Pair = Callable[[Callable[[Tensor], float], Tensor, Tensor, float, float], float]


def _each(entry: _Pair) -> Callable[..., Tensor]:
    """``entry`` gives one number from f, x, the unit tensor of one index, x there, and eps."""

    def gradient(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
        x = x.detach()
        found = torch.zeros(x.numel(), dtype=x.dtype)
        for i in range(x.numel()):
            unit = torch.zeros(x.numel(), dtype=x.dtype)
            unit[i] = 1.0
            here = float(x.reshape(-1)[i])
            found[i] = entry(lambda t: float(f(t)), x, unit.reshape(x.shape), here, eps)
        return found.reshape(x.shape)

    return gradient


def _central(f: Callable[[Tensor], float], x: Tensor, e: Tensor, step: float) -> float:
    return f(x + e * step) - f(x - e * step)


def _only(place: int) -> Callable[..., Tensor]:
    """All entries but one are 0 (place 0), or the last one is (place -1)."""
    whole = _each(lambda f, x, e, here, h: _central(f, x, e, h) / (2 * h))

    def gradient(f: Callable[[Tensor], Any], x: Tensor, eps: float = 1e-6) -> Tensor:
        right = whole(f, x, eps).reshape(-1)
        kept = torch.zeros_like(right) if place == 0 else right.clone()
        kept[place] = right[0] if place == 0 else 0.0
        return kept.reshape(x.shape)

    return gradient


def _rounded(digits: int) -> Callable[..., Tensor]:
    return _each(
        lambda f, x, e, here, h: (round(f(x + e * h), digits) - round(f(x - e * h), digits)) / (2 * h)
    )  # fmt: skip


def _result_rounded(digits: int) -> Callable[..., Tensor]:
    return _each(lambda f, x, e, here, h: round(_central(f, x, e, h) / (2 * h), digits))


def _single(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32))


QUOTIENTS: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, _QUOTIENT, value)
    for message, value in (
        ("The difference is not divided at all.", _each(lambda f, x, e, here, h: _central(f, x, e, h))),
        ("The difference is divided by 2 only, not by 2 · eps.", _each(lambda f, x, e, here, h: _central(f, x, e, h) / 2)),
        ("The result is twice what it should be: f(x + ε) and f(x − ε) are 2ε apart, not ε.", _each(lambda f, x, e, here, h: _central(f, x, e, h) / h)),
        ("The difference is divided by 2 · eps².", _each(lambda f, x, e, here, h: _central(f, x, e, h) / (2 * h * h))),
        ("The difference is multiplied by 2 · eps; it should be divided.", _each(lambda f, x, e, here, h: _central(f, x, e, h) * 2 * h)),
        ("The two values of f are added; one should be subtracted from the other.", _each(lambda f, x, e, here, h: (f(x + e * h) + f(x - e * h)) / (2 * h))),
        ("This is the second derivative: f(x + ε) − 2 f(x) + f(x − ε), over ε².", _each(lambda f, x, e, here, h: (f(x + e * h) - 2 * f(x) + f(x - e * h)) / h**2)),
        ("x is multiplied by 1 ± eps, but the difference is divided by 2 · eps: that is the derivative times x.", _each(lambda f, x, e, here, h: (f(x + e * here * h) - f(x - e * here * h)) / (2 * h))),
        ("The nudge alone is given to f: x is not added to it, so this is the gradient at 0.", _each(lambda f, x, e, here, h: (f(e * h) - f(-e * h)) / (2 * h))),
        ("Only the first element has its derivative, all others are 0: the loop ends after the first one.", _only(0)),
        ("The last element keeps its 0: the loop ends one too early.", _only(-1)),
        ("The values of f are rounded to float32 before they are subtracted.", _each(lambda f, x, e, here, h: (_single(f(x + e * h)) - _single(f(x - e * h))) / (2 * h))),
        *((f"The values of f are rounded to {digits} decimals before they are subtracted.", _rounded(digits)) for digits in (2, 3, 4, 5, 6, 7, 8)),
        *((f"The result is rounded to {digits} decimals.", _result_rounded(digits)) for digits in (1, 2, 3, 4)),
        ("The step is eps · |x|: it depends on x, and is 0 where x is 0.", _each(lambda f, x, e, here, h: _central(f, x, e, h * abs(here)) / (2 * h * abs(here)))),
        ("The step is eps · max(1, |x|): it depends on x.", _each(lambda f, x, e, here, h: _central(f, x, e, h * max(1.0, abs(here))) / (2 * h * max(1.0, abs(here))))),
        ("The step is eps · (1 + |x|): it depends on x.", _each(lambda f, x, e, here, h: _central(f, x, e, h * (1 + abs(here))) / (2 * h * (1 + abs(here))))),
        ("The step is eps/2 on each side, not eps.", _each(lambda f, x, e, here, h: _central(f, x, e, h / 2) / h)),
        ("The step is eps/2 on each side, but the difference is divided by 2 · eps.", _each(lambda f, x, e, here, h: _central(f, x, e, h / 2) / (2 * h))),
        ("The step is 2 · eps, to one side only: f(x + 2ε) against f(x).", _each(lambda f, x, e, here, h: (f(x + 2 * e * h) - f(x)) / (2 * h))),
    )
)  # fmt: skip
