"""The activations of lesson 02: smooth functions, element by element."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import (
    EXTREME,
    cases_of,
    elementwise_cases,
    extreme,
    kept,
    normal,
    special,
    told,
    with_number,
)

_activation = partial(Exercise, cases=elementwise_cases(), budget=kept(0))

MY_SIGMOID = _activation(
    **told("MySigmoid"),
    reference=torch.sigmoid,
)


MY_TANH = _activation(
    **told("MyTanh"),
    reference=torch.tanh,
)


MY_GELU = _activation(
    **told("MyGELU"),
    reference=F.gelu,
)


LOG_SIGMOID = _activation(
    **told("LogSigmoid"),
    reference=F.logsigmoid,
)


SCALED_SIGMOID = Exercise(
    **told("ScaledSigmoid"),
    reference=lambda x, scale: scale * torch.sigmoid(x),
    cases=(
        with_number("a vector, scale above 0", 5, low=1.3, high=2.5),
        with_number("a matrix, scale below 0", 3, 4, low=-2.5, high=-0.5),
        with_number("a batch of matrices, scale below 1", 2, 3, 4, low=0.2, high=0.8),
        with_number(
            "scale = 0",
            2,
            3,
            number=0.0,
            role="special",
            second="mixed",  # a gradient of zeros that depends on nothing is right, too
            advice="0 is a scale like any other: the gradient is 0 there.",
        ),
        special("x = 0", [0.0, 0.0, 0.0], 1.7, second=True),
        with_number("a whole number as scale", 4, number=3, role="special"),
        with_number("a scale of 0.00001", 4, number=1e-5, role="special"),
        with_number("a single number (0-d)", low=0.5, high=2.5, role="batch"),
        with_number("an empty batch", 0, 3, low=0.5, high=2.5, role="empty"),
        extreme("inputs up to ±1000 in float32", EXTREME, 1.5),
    ),
    budget=kept(0),
)


def _drawn(s: Sampler, x: tuple[int, ...], beta: tuple[int, ...]) -> Arguments:
    """x normal, beta between 0.4 and 1.8 in size, of either sign."""
    size = s.uniform(*beta, low=0.4, high=1.8)
    return normal(s, *x), torch.where(s.normal(*beta) > -0.5, size, -size)


_swish_case = cases_of(_drawn)


SWISH = Exercise(
    **told("Swish"),
    reference=lambda x, beta: x * torch.sigmoid(beta * x),
    cases=(
        _swish_case("one beta per channel", (3, 4), (4,)),
        _swish_case("a single beta (0-d)", (5,), ()),
        _swish_case("one beta a row", (3, 4), (3, 1)),
        _swish_case("a beta of the shape of x", (2, 3), (2, 3)),
        _swish_case("a beta of shape (1,)", (4, 2), (1,)),
        _swish_case("a batch of matrices, one beta a row", (2, 3, 4), (3, 1)),
        special(
            "beta = 0",
            lambda s: normal(s, 3, 2),
            [0.0, 0.0],
            second=True,
        ),
        special(
            "x = 0",
            [0.0, 0.0, 0.0],
            lambda s: s.uniform(3, low=0.5, high=1.5),
            second=True,
        ),
        _swish_case("x and beta 0-d", (), (), role="batch"),
        _swish_case("an empty batch", (0, 4), (4,), role="empty"),
        _swish_case("an empty vector, a single beta", (0,), (), role="empty"),
        extreme(
            "inputs up to ±1000 in float32",
            EXTREME,
            torch.linspace(0.5, 1.5, len(EXTREME)).double().tolist(),
        ),
    ),
    budget=kept(0, 1),
)
