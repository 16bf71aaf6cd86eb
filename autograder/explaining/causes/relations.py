"""How two tensors of numbers relate: one is the other with something done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import torch
from torch import Tensor

from autograder.explaining.causes.precision import CONSTANTS
from autograder.observation.compare import close, ratio

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "the absolute value": torch.abs, "the square": torch.square, "the root": torch.sqrt,
    "the inverse": torch.reciprocal, "the exponential": torch.exp, "the logarithm": torch.log,
    "the sigmoid": torch.sigmoid, "the tanh": torch.tanh, "the sign": torch.sign, "the ReLU": torch.relu,
    "1 minus": lambda r: 1 - r, "rounded,": torch.round, "rounded down,": torch.floor,
}  # fmt: skip
COEFFICIENTS = {1.0: "", 2.0: "2 · ", 0.5: "½ · "}
_Told = tuple[str, dict[str, Any]]


def constant(factor: float) -> str:
    """ "ln 2" for a factor that is a well-known number; "" for any other."""
    return next((name for name, value in CONSTANTS.items() if abs(factor / value - 1) < 1e-6), "")


def products(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each name, and each product of two."""
    yield from ((n,) for n in names)
    yield from combinations_with_replacement(names, 2)


def relation(got: Tensor, others: Sequence[Tensor], hand: Mapping[str, Tensor]) -> _Told | None:
    """(code, facts) of what was done to one of the right values; None where nothing simple was.

    hand  what may be a factor or a term too many or missing, by name
    """
    for ask in (_whole, _function, _product, _scaled):
        for right in others:
            if told := ask(got, right, hand):
                return told
    return None


def _whole(got: Tensor, right: Tensor, _: Mapping[str, Tensor]) -> _Told | None:
    if got.numel() != right.numel():
        return None
    if got.dim() > 1 and got.mT.shape == right.shape and close(got.mT, right):
        return "transposed", {}
    if right.shape != got.shape:
        right = right.reshape(got.shape)
    if close(-got, right):
        return "sign", {}
    told = _scaled(got, right, {})
    simple = told and Fraction(told[1]["ratio"]).limit_denominator(12)
    plain = told and (told[1]["named"] or abs(told[1]["ratio"] - float(simple)) < 1e-6)
    return told if plain else None


def _scaled(got: Tensor, right: Tensor, _: Mapping[str, Tensor]) -> _Told | None:
    factor = ratio(got, right.reshape(got.shape)) if got.numel() == right.numel() else None
    return None if not factor else ("scale", {"ratio": factor, "named": constant(factor)})


def _function(got: Tensor, right: Tensor, _: Mapping[str, Tensor]) -> _Told | None:
    if got.numel() != right.numel():
        return None
    right = right.reshape(got.shape)
    for words, function in FUNCTIONS.items():
        made = function(right)
        if bool(torch.isfinite(made).all()) and len(made.unique()) > 2 and close(got, made):
            return "function", {"function": words}
    return None


def _product(got: Tensor, right: Tensor, hand: Mapping[str, Tensor]) -> _Told | None:
    if got.numel() != right.numel():
        return None
    right = right.reshape(got.shape)
    for names in products([*hand]):
        try:
            term = torch.ones((), dtype=torch.float64)
            for name in names:
                term = term * hand[name]
            term = term.expand_as(right)
        except RuntimeError:
            continue
        words = " · ".join(names)
        if close(got, right * term):
            return "times", {"factor": words}
        if close(got * term, right) and bool(term.all()):
            return "divided", {"factor": words}
        for coefficient, said in COEFFICIENTS.items():
            if close(got, right + coefficient * term):
                return "term", {"term": said + words}
            if close(got, right - coefficient * term):
                return "no-term", {"term": said + words}
    return None
