"""unbroadcast, Multiply, MyLinear and LinearReLU of lesson 03."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.contract.exercise import Arguments, Exercise, Sampler, bytes_of
from autograder.exercises.common_cases import (
    cases_of,
    extreme,
    float64,
    kept,
    put,
    some,
    special,
    told,
)

_down_case = cases_of(lambda s, grad, shape: (s.normal(*grad), shape), wants=(0,))


UNBROADCAST = Exercise(
    **told("unbroadcast"),
    reference=lambda grad, shape: grad.sum_to_size(shape),
    cases=(
        _down_case("(3, 4) down to (4,): a new leading dimension", (3, 4), (4,)),
        _down_case("(3, 4) down to (3, 1): a stretched dimension", (3, 4), (3, 1)),
        _down_case("(2, 3, 4) down to (3, 1): both at once", (2, 3, 4), (3, 1)),
        _down_case("the shape it has already", (3, 4), (3, 4)),
        _down_case("(3, 4) down to (), a single number", (3, 4), ()),
        _down_case("(1, 3) down to (3,): a new leading dimension of size 1", (1, 3), (3,)),
        _down_case("(1, 1) down to (), a single number", (1, 1), ()),
        _down_case("(3, 4) down to [1, 1], the shape given as a list", (3, 4), [1, 1]),
        _down_case("(2, 3, 4, 2) down to (3, 1, 2)", (2, 3, 4, 2), (3, 1, 2)),
        _down_case("(2, 1, 3) down to (1, 3): a 1 that was never stretched", (2, 1, 3), (1, 3)),
        # Told apart only by lengths of 1 and 2: which dimension was stretched, and from what.
        _down_case("(1, 4, 3) down to (1, 3): behind a leading 1", (1, 4, 3), (1, 3)),
        _down_case("(2, 1, 5) down to (1, 1): beside a leading 2", (2, 1, 5), (1, 1)),
        _down_case("(5, 2, 1) down to (1, 1): stretched to 2", (5, 2, 1), (1, 1)),
        _down_case("a single number (no dimensions)", (), (), role="special"),
        _down_case("an empty batch, (0, 4) down to (4,)", (0, 4), (4,), role="empty"),
        _down_case(
            "an empty batch, (0, 3) down to (1, 3)",
            (0, 3),
            (1, 3),
            role="empty",
            advice="A 1 in shape can be stretched to 0 as well, and a sum over nothing is 0: ask whether the "
            "two sizes differ (!= 1), not whether grad's is larger (> 1).",
        ),
        _down_case(
            "(2, 0, 3) down to (0, 1)",
            (2, 0, 3),
            (0, 1),
            role="empty",
            advice="Both have no element at all: the number of elements tells nothing here. Compare the shapes, and "
            "avoid reductions without a dim.",
        ),
    ),
    is_function=True,
)


_factors = cases_of(lambda s, a, b: (s.away_from(*a), s.away_from(*b)))


MULTIPLY = Exercise(
    **told("Multiply"),
    reference=lambda a, b: a * b,
    cases=(
        _factors("a matrix times a row", (3, 4), (4,)),
        _factors("a column times a row: both are stretched", (3, 1), (1, 4)),
        _factors("two matrices of one shape", (2, 3), (2, 3)),
        _factors("a single number times a matrix", (), (2, 3)),
        _factors("a row times a batch of matrices", (4,), (2, 3, 4)),
        special(
            "zeros among the factors",
            put(some(2, 3), 0.0, (0, 1)),
            [0.0, 1.5, -2.0],
            second=True,
            advice="a · b divided by b does not give a back where b is 0. Save the factors themselves.",
        ),
        _factors("a row times a matrix of one row", (3,), (1, 3), role="batch"),
        _factors("a matrix of one number times a single number", (1, 1), (), role="batch"),
        _factors("a batch of matrices times a column", (2, 3, 4), (3, 1), role="batch"),
        _factors("a batch of matrices times a row", (3, 2, 4), (4,), role="batch"),
        _factors("two single numbers", (), (), role="batch"),
        _factors("an empty batch times a row", (0, 4), (4,), role="empty"),
        _factors(
            "an empty batch times a single row of two dimensions", (0, 3), (1, 3), role="empty"
        ),
        extreme(
            "inputs of ±1000",
            lambda s: float64([-1000.0, 1000.0, 1e-3]) + s.uniform(2, 3),
            lambda s: s.uniform(3, low=0.5, high=1.5),
        ),
    ),
    budget=kept(0, 1),
)


def _drawn(s: Sampler, *x: int, out: int, bias: Any = True) -> Arguments:
    """x of the given shape; ``bias`` True: a tensor, False: left out, None: passed as None."""
    given = s.normal(*x), s.normal(out, x[-1])
    return (*given, s.normal(out)) if bias else (*given, None) if bias is None else given


layer = cases_of(_drawn)


def large_layer(s: Sampler) -> Arguments:
    ends = float64([[-1000.0, 1000.0, 0.0], [1000.0, 500.0, -1000.0]])
    return ends + s.uniform(2, 3), s.normal(4, 3), s.normal(4)


MY_LINEAR = Exercise(
    **told("MyLinear"),
    reference=lambda x, weight, bias=None: F.linear(x, weight, bias),
    cases=(
        layer("a batch of vectors", 4, 3, out=2),
        layer("without a bias", 2, 5, out=3, bias=False),
        layer("a batch of vectors, more outputs than inputs", 3, 2, out=4),
        layer(
            "bias=None passed as an argument",
            3,
            2,
            out=5,
            bias=None,
            role="special",
            advice="bias may be left out, or passed as None: ask `bias is None` in forward, and answer with "
            "None in its place.",
        ),
        layer("two batch dimensions", 2, 3, 4, out=5, role="batch"),
        layer("a single vector, no batch dimension", 4, out=3, role="batch"),
        layer("two batch dimensions and no bias", 3, 2, 4, out=2, bias=False, role="batch"),
        layer("three batch dimensions", 2, 1, 3, 2, out=4, role="batch"),
        layer("an empty batch", 0, 3, out=2, role="empty"),
        layer("an empty batch of matrices", 2, 0, 3, out=4, role="empty"),
        extreme("inputs of ±1000", large_layer),
    ),
    budget=kept(0, 1),
)


_GAP = 0.1  # how far a pre-activation stays from the kink, in every main case


def _off_the_kink(s: Sampler, *x: int, out: int) -> Arguments:
    """x, weight and bias with no pre-activation within ``_GAP`` of 0, and both signs among them."""
    for _ in range(2000):
        given = s.normal(*x), s.normal(out, x[-1]), s.normal(out)
        before = F.linear(*given)
        if bool((before.abs() > _GAP).all()) and bool((before > 0).any() and (before < 0).any()):
            return given
    raise AssertionError("no draw keeps off the kink: the case is too large")


_rectified = cases_of(_off_the_kink)


LINEAR_RELU = Exercise(
    **told("LinearReLU"),
    reference=lambda x, weight, bias: torch.relu(F.linear(x, weight, bias)),
    cases=(
        _rectified("a batch of vectors", 4, 3, out=2),
        _rectified("a batch of longer vectors", 2, 4, out=3),
        _rectified("a batch of vectors, more outputs than inputs", 3, 2, out=4),
        special(
            "pre-activations of exactly 0",
            lambda s: torch.stack([torch.zeros(3, dtype=torch.float64), s.normal(3)]),
            some(4, 3),
            [0.0, 0.0, 0.0, 0.0],
            advice="At a pre-activation of 0 the contract asks for the gradient 0: the mask is z > 0, not "
            "z >= 0.",
        ),
        _rectified("two batch dimensions", 2, 3, 4, out=2, role="batch"),
        _rectified("a single vector, no batch dimension", 4, out=3, role="batch"),
        layer("an empty batch", 0, 3, out=2, role="empty"),
        extreme("inputs of ±1000", large_layer),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]) + outputs[0].numel(),
)
