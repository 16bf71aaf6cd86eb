"""What exercises of several lessons share: cases of elementwise functions, their budget, far-out values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Sampler, bytes_of

Budget = Callable[[tuple[Any, ...], tuple[Tensor, ...]], int]
_OF_A_CASE = frozenset({"role", "wants", "second", "advice"})


def kept(*places: int, output: bool = False) -> Budget:
    """The budget of a function that keeps the arguments at these places, and its output."""
    return lambda args, outputs: bytes_of(
        *(args[place] for place in places), *(outputs[:1] if output else ())
    )


def float64(numbers: Any) -> Tensor:
    """A float64 tensor of these numbers."""
    return torch.tensor(numbers, dtype=torch.float64)


def fixed(*values: Any) -> Callable[[Sampler], tuple[Any, ...]]:
    """Makes the same arguments each time: of a list of numbers a float64 tensor."""
    return lambda s: tuple(float64(v) if isinstance(v, list) else v for v in values)


def cases_of(draw: Callable[..., tuple[Any, ...]], **always: Any) -> Callable[..., Case]:
    """Makes cases of one kind of their names and of what ``draw`` gets besides a Sampler.

    What a Case has itself (role, second, …) goes to the case, other keywords go to ``draw``.
    ``always`` is what all of them have.
    """

    def case(name: str, *given: Any, **more: Any) -> Case:
        own = always | {key: more.pop(key) for key in _OF_A_CASE & more.keys()}
        return Case(name, lambda s: draw(s, *given, **more), **own)

    return case


def clipped(x: Tensor, low: float, high: float) -> Tensor:
    """torch.clamp's values, with the gradient 1 on the bounds, as the contract says.

    torch.clamp itself has changed its mind: its gradient on a bound is 1 in torch 2.13, 0 since 2.14.
    """
    return torch.where((x >= low) & (x <= high), x, x.detach().clamp(low, high))


ONE_TENSOR = "one tensor as large as x"


# In these exp and its friends overflow or vanish in float32.
EXTREME = [-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 100.0, 1000.0]

# A tensor, and a number between low and high that is drawn: two calls have two numbers.
case_with_number = cases_of(
    lambda s, *shape, low, high: (1.5 * s.normal(*shape), float(s.uniform(low=low, high=high)))
)

# A tensor of a shape, and the dimension to work along: values of any size; all of them different.
along = cases_of(lambda s, *shape, dim: (1.5 * s.normal(*shape), dim))
distinct_along = cases_of(lambda s, *shape, dim: (s.distinct(*shape), dim))


# A tensor of a shape, away from 0.
off_zero = cases_of(lambda s, *shape: (s.away_from(*shape),))


def along_a_dim(case: Callable[..., Case], *more: Case) -> tuple[Case, ...]:
    """Cases of a function that works along a dimension, with more of them before the rarer shapes."""
    return (
        case("a matrix, dim=1", 3, 4, dim=1),
        case("a matrix, dim=0", 5, 2, dim=0),
        case("a batch of matrices, dim=-2", 2, 3, 4, dim=-2),
        *more,
        case("a vector", 5, dim=0, role="batch"),
        case("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
    )


def of_every_shape(draw: Callable[..., Tensor], *more: Case, vector: int = 5) -> tuple[Case, ...]:
    """Cases of a function of one tensor; ``draw`` gets a Sampler and a shape."""
    case = cases_of(lambda s, *shape: (draw(s, *shape),))
    return (
        case("a vector", vector),
        case("a matrix", 3, 4),
        case("a batch of matrices", 2, 3, 4),
        *more,
        case("a single number (0-d)", role="batch"),
        case("an empty vector", 0, role="empty"),
        case("an empty batch of matrices", 0, 3, 4, role="empty"),
    )


def elementwise_cases() -> tuple[Case, ...]:
    """Cases of a smooth function of one tensor of any shape."""
    return (
        *of_every_shape(
            lambda s, *shape: 1.5 * s.normal(*shape),
            Case(
                "x = 0",
                fixed([0.0, 0.0, 0.0]),
                role="special",
                second=True,
                advice="The function is smooth at 0, and has one slope there. Where backward is put together from pieces "
                "(x < 0, sign, abs), what each of them is at 0 itself counts too.",
            ),
        ),
        Case(
            "inputs up to ±1000 in float32",
            fixed(EXTREME),
            role="extreme",
            second=True,
            digits=True,
        ),
    )


def _with_zeros(s: Sampler) -> Tensor:
    """0, −0 and two ordinary numbers of both signs."""
    ordinary = s.away_from(2)
    return torch.cat([float64([0.0, -0.0]), ordinary])


def large(s: Sampler) -> Tensor:
    """Two values near ±1000, where exp would overflow in float32."""
    return float64([-1000.0, 1000.0]) + s.uniform(2)
