"""Functions that stand where another one is asked for: sinh for tanh, (1 − y)² for 1 − y².

They are recognised by their numbers, in every case, and for functions of one tensor, element by
element, only: there a formula in a single letter says all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.causes.slips import same_outputs
from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream

_ENOUGH = 8  # elements: of fewer the numbers of two formulas may be the same
_FEW = 5
_LEAKS = (0.01, 0.1, 0.2, 0.3, 0.05)


def _normal_below(x: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def _density(x: Tensor) -> Tensor:
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _over_the_last(function: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x, -1) if x.dim() else function(x.reshape(1), -1).reshape(())


# What learners compute, in words; of two that are the same the first is said.
_OF_ONE: dict[str, Callable[[Tensor], Tensor]] = {
    "0": torch.zeros_like,
    "1": torch.ones_like,
    "{v}": lambda v: v,
    "−{v}": lambda v: -v,
    "|{v}|": torch.abs,
    "{v}²": lambda v: v**2,
    "{v}³": lambda v: v**3,
    "{v}⁴": lambda v: v**4,
    "−{v}²": lambda v: -(v**2),
    "{v} · |{v}|": lambda v: v * v.abs(),
    "|{v}|³": lambda v: v.abs() ** 3,
    "2 · {v}": lambda v: 2 * v,
    "2 · |{v}|": lambda v: 2 * v.abs(),
    "3 · {v}": lambda v: 3 * v,
    "{v} / 2": lambda v: v / 2,
    "2 · {v}²": lambda v: 2 * v**2,
    "3 · {v}²": lambda v: 3 * v**2,
    "3 · {v} · |{v}|": lambda v: 3 * v * v.abs(),
    "2 · {v}³": lambda v: 2 * v**3,
    "4 · {v}³": lambda v: 4 * v**3,
    "√{v}": torch.sqrt,
    "√|{v}|": lambda v: v.abs().sqrt(),
    "the cube root of {v}": lambda v: v.sign() * v.abs() ** (1 / 3),
    "1 / {v}": lambda v: 1 / v,
    "{v} + 1": lambda v: v + 1,
    "{v} + 2": lambda v: v + 2,
    "1 − {v}": lambda v: 1 - v,
    "1 + {v}²": lambda v: 1 + v**2,
    "1 − {v}²": lambda v: 1 - v**2,
    "(1 − {v})²": lambda v: (1 - v) ** 2,
    "(1 + {v})²": lambda v: (1 + v) ** 2,
    "(1 − {v}²)²": lambda v: (1 - v**2) ** 2,
    "1 − 2 · {v}": lambda v: 1 - 2 * v,
    "√(1 − {v}²)": lambda v: (1 - v**2).sqrt(),
    "{v} · (1 − {v})": lambda v: v * (1 - v),
    "{v} · (1 + {v})": lambda v: v * (1 + v),
    "{v}² · (1 − {v})": lambda v: v**2 * (1 - v),
    "{v} · (1 − {v})²": lambda v: v * (1 - v) ** 2,
    "{v} · (1 − {v}²)": lambda v: v * (1 - v**2),
    "1 / {v}²": lambda v: 1 / v**2,
    "1 / (1 + {v}²)": lambda v: 1 / (1 + v**2),
    "1 / (1 + {v})": lambda v: 1 / (1 + v),
    "e^{v}": torch.exp,
    "e^(−{v})": lambda v: torch.exp(-v),
    "e^({v}²)": lambda v: torch.exp(v**2),
    "e^(−{v}²)": lambda v: torch.exp(-(v**2)),
    "e^(−{v}²/2)": lambda v: torch.exp(-(v**2) / 2),
    "e^{v} − 1": torch.expm1,
    "1 − e^{v}": lambda v: 1 - torch.exp(v),
    "1 − e^(−{v})": lambda v: 1 - torch.exp(-v),
    "1 + e^(−{v})": lambda v: 1 + torch.exp(-v),
    "1 / (1 − e^(−{v}))": lambda v: 1 / (1 - torch.exp(-v)),
    "e^{v} / (1 + e^(−{v}))": lambda v: torch.exp(v) / (1 + torch.exp(-v)),
    "1 / (1 + e^(−{v}))²": lambda v: torch.sigmoid(v) ** 2,
    "1 / (1 + e^{v})²": lambda v: torch.sigmoid(-v) ** 2,
    "e^{v} / (1 + e^(−{v}))²": lambda v: torch.exp(v) * torch.sigmoid(v) ** 2,
    "2^{v}": torch.exp2,
    "3^{v}": lambda v: 3**v,
    "10^{v}": lambda v: 10**v,
    "ln {v}": torch.log,
    "ln |{v}|": lambda v: v.abs().log(),
    "1 + {v} + {v}²/2": lambda v: 1 + v + v**2 / 2,
    "1 + {v} + {v}²/2 + {v}³/6": lambda v: 1 + v + v**2 / 2 + v**3 / 6,
    "sin {v}": torch.sin,
    "cos {v}": torch.cos,
    "tan {v}": torch.tan,
    "arctan {v}": torch.atan,
    "sinh {v}": torch.sinh,
    "cosh {v}": torch.cosh,
    "1 / cosh {v}": lambda v: 1 / torch.cosh(v),
    "cosh² {v}": lambda v: torch.cosh(v) ** 2,
    "coth {v}": lambda v: 1 / torch.tanh(v),
    "tanh {v}": torch.tanh,
    "tanh({v}/2)": lambda v: torch.tanh(v / 2),
    "tanh(2{v})": lambda v: torch.tanh(2 * v),
    "1 − tanh {v}": lambda v: 1 - torch.tanh(v),
    "1 − tanh²({v}), the slope of tanh": lambda v: 1 - torch.tanh(v) ** 2,
    "1 − tanh({v}²)": lambda v: 1 - torch.tanh(v**2),
    "σ({v})": torch.sigmoid,
    "σ(−{v})": lambda v: torch.sigmoid(-v),
    "σ(2{v})": lambda v: torch.sigmoid(2 * v),
    "2σ(2{v})": lambda v: 2 * torch.sigmoid(2 * v),
    "σ′({v}), the slope of the sigmoid": lambda v: torch.sigmoid(v) * torch.sigmoid(-v),
    "{v} · (1 − σ({v}))": lambda v: v * torch.sigmoid(-v),
    "ln(1 + σ({v}))": lambda v: torch.log1p(torch.sigmoid(v)),
    "log σ({v})": F.logsigmoid,
    "softplus, ln(1 + e^{v})": F.softplus,
    "−ln(1 + e^(−|{v}|))": lambda v: -torch.log1p(torch.exp(-v.abs())),
    "{v} · σ({v})": F.silu,
    "{v} · σ(1.702 {v})": lambda v: v * torch.sigmoid(1.702 * v),
    "the slope of {v} · σ({v})": lambda v: torch.sigmoid(v) * (1 + v * torch.sigmoid(-v)),
    "the slope of {v} · σ(1.702 {v})": lambda v: (
        torch.sigmoid(1.702 * v) * (1 + 1.702 * v * torch.sigmoid(-1.702 * v))
    ),
    "{v} / (1 + |{v}|)": F.softsign,
    "the hard sigmoid, ({v} + 3) / 6 cut off at 0 and 1": F.hardsigmoid,
    "the hard sigmoid, 0.2 {v} + 0.5 cut off at 0 and 1": lambda v: (0.2 * v + 0.5).clamp(0, 1),
    "softmax({v})": _over_the_last(torch.softmax),
    "log_softmax({v})": _over_the_last(torch.log_softmax),
    "erf({v})": torch.erf,
    "erf({v}/√2)": lambda v: torch.erf(v / math.sqrt(2)),
    "Φ({v}), the normal distribution": _normal_below,
    "φ({v}), the normal density": _density,
    "{v} · φ({v})": lambda v: v * _density(v),
    "{v} · erf({v}/√2)": lambda v: v * torch.erf(v / math.sqrt(2)),
    "{v} · (1 − Φ({v}))": lambda v: v * _normal_below(-v),
    "the exact GELU, {v} · Φ({v})": F.gelu,
    "max({v}, 0)": torch.relu,
    "min({v}, 0)": lambda v: v.clamp(max=0),
    "{v} cut off at 0 and 1": lambda v: v.clamp(0, 1),
    "{v} cut off at −1 and 1": lambda v: v.clamp(-1, 1),
    "ELU": F.elu,
    "SELU": F.selu,
    **{
        f"{{v}} where {{v}} > 0 and {leak} · {{v}} elsewhere, a leaky ReLU": (
            lambda v, leak=leak: torch.where(v > 0, v, leak * v)  # type: ignore[misc]
        )
        for leak in _LEAKS
    },
    **{
        f"1 where {{v}} > 0 and {leak} elsewhere, the slope of a leaky ReLU": (
            lambda v, leak=leak: torch.where(v > 0, 1.0, leak).to(v.dtype)  # type: ignore[misc]
        )
        for leak in _LEAKS
    },
    "1 − |{v}| inside ±1 and 0 elsewhere": lambda v: (1 - v.abs()).clamp(min=0),
    "2 − 2|{v}| inside ±1 and 0 elsewhere": lambda v: (2 - 2 * v.abs()).clamp(min=0),
    "sign({v})": torch.sign,
    "sign({v}) + 1": lambda v: torch.sign(v) + 1,
    "the mask {v} > 0": lambda v: (v > 0).to(v.dtype),
    "the mask {v} < 0": lambda v: (v < 0).to(v.dtype),
    **{
        f"the mask |{{v}}| ≤ {words}": lambda v, size=size: (v.abs() <= size).to(v.dtype)  # type: ignore[misc]
        for words, size in (("½", 0.5), ("1", 1.0), ("2", 2.0))
    },
    "the mask {v} > 1": lambda v: (v > 1).to(v.dtype),
    "+1 where {v} ≥ 1 and −1 elsewhere": lambda v: 2.0 * (v >= 1) - 1,
    "+1 where {v} ≥ ½ and −1 elsewhere": lambda v: 2.0 * (v >= 0.5) - 1,
    "{v} where {v} > 1 and 0 elsewhere": lambda v: torch.where(v > 1, v, 0.0),
    "round({v})": torch.round,
    "floor({v})": torch.floor,
    "ceil({v})": torch.ceil,
    "{v} cut off towards zero": torch.trunc,
    "{v} rounded away from zero": lambda v: v.sign() * v.abs().ceil(),
    "{v} rounded to one decimal": lambda v: torch.round(v, decimals=1),
    "{v} rounded to two decimals": lambda v: torch.round(v, decimals=2),
    "{v} rounded to halves": lambda v: torch.round(2 * v) / 2,
    "{v} rounded to even numbers": lambda v: 2 * torch.round(v / 2),
    "floor({v}) + ½": lambda v: torch.floor(v) + 0.5,
    "trunc({v} + ½)": lambda v: torch.trunc(v + 0.5),
    "{v} − round({v})": lambda v: v - torch.round(v),
    "sign({v}) times the mean of |{v}|": lambda v: v.sign() * v.abs().mean(),
    "e^({v} − max {v})": lambda v: torch.exp(v - v.max()),
}  # fmt: skip

# The same of x and y, the output.
_OF_BOTH: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "x · y": lambda x, y: x * y,
    "x² · y": lambda x, y: x**2 * y,
    "y · (1 − x)": lambda x, y: y * (1 - x),
    "x · (1 − y)": lambda x, y: x * (1 - y),
    "x · (1 − y²)": lambda x, y: x * (1 - y**2),
    "y / x": lambda x, y: y / x,
    "x + y": lambda x, y: x + y,
    "x − y": lambda x, y: x - y,
    "1 − y · eˣ": lambda x, y: 1 - y * torch.exp(x),
}


def other_function(ev: Evidence, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """(headline, next step) where the output is another known function of x in all pairs."""
    if not _of_one_tensor(ev) or sum(p.question.args[0].numel() for p in pairs) < _ENOUGH:
        return None
    fits = [
        words.format(v="x")
        for words, function in _OF_ONE.items()
        if all(same_outputs(p, function(p.question.args[0].detach())) for p in pairs)
    ]
    if fits:
        return (
            f"The output is {min(fits, key=len)}, which is not what is asked for.",
            f"The contract is: {ev.exercise.summary} Put one number for x into both formulas.",
        )
    return None


def other_slope(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """grad_output times another known function of x, or of the output."""
    if not _of_one_tensor(ev) or sum(p.question.args[0].numel() for p in every) < _ENOUGH:
        return None
    fits = [
        (words, and_y)
        for words, and_y, function in _slopes()
        if (ev.exercise.gradcheck or not and_y)  # the output of a staircase says little
        and all(_is_slope(p, function) for p in every)
    ]
    if fits:
        words, and_y = min(fits, key=lambda one: len(one[0]))
        return Finding(
            "gradient-value",
            f"backward multiplies grad_output by {words}{and_y}; that is not "
            + (
                "the derivative."
                if ev.exercise.gradcheck
                else "the slope that the contract states."
            ),
            "Differentiate on paper once more, and put one number for x into both formulas."
            if ev.exercise.gradcheck
            else f"The contract is: {ev.exercise.summary}",
        )
    return None


_Y = ", where y is the output"


def _slopes() -> Iterator[tuple[str, str, Callable[[Tensor, Tensor], Tensor]]]:
    """(words, a clause about y, function of x and y)."""
    for words, function in _OF_ONE.items():
        yield words.format(v="x"), "", lambda x, y, f=function: f(x)  # type: ignore[misc]
    for words, both in _OF_BOTH.items():
        yield words, _Y, both
    for words, function in _OF_ONE.items():
        if "{v}" in words:
            yield words.format(v="y"), _Y, lambda x, y, f=function: f(y)  # type: ignore[misc]


def _is_slope(pair: Pair, function: Callable[[Tensor, Tensor], Tensor]) -> bool:
    got, x, y = pair.raw(0), pair.question.args[0], pair.expected.outputs[0]
    upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
    if not isinstance(got, Tensor) or upstream is None:
        return False
    return close(got, upstream.double() * function(x.detach(), y.detach()))


def known_name(ev: Evidence, pair: Pair, value: Tensor) -> str:
    """What a tensor is, as a function of x or of the output (y) or as minus one; "" if nobody knows."""
    if not _of_one_tensor(ev) or value.numel() < _FEW:
        return ""
    x, y = pair.question.args[0].detach(), pair.expected.outputs[0].detach()
    fits = [
        (f"{minus}{words}", and_y)
        for words, and_y, function in _slopes()
        for sign, minus in ((1.0, ""), (-1.0, "−"))
        if close(value, sign * function(x, y).double())
    ]
    if not fits:
        return ""
    words, and_y = min(fits, key=lambda one: len(one[0]))
    return words + and_y


def _of_one_tensor(ev: Evidence) -> bool:
    """Whether it is a function of one tensor that works element by element, as its shapes say."""
    return not ev.exercise.is_function and len(ev.exercise.argument_names) == 1
