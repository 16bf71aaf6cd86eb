"""What the exercises of lesson 04 share: surrogates as references, and their cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Misconception, Sampler

LESSON = "04_ste"
KEEPS_NOTHING = "no tensor: backward needs none"
EXTREME = (-1000.0, -100.0, -30.0, -5.0, -0.75, 0.25, 5.0, 30.0, 100.0, 1000.0)

_FAR = torch.tensor((-4e7, *EXTREME, 4e7), dtype=torch.float64)


def surrogate(value: Tensor, stand_in: Tensor) -> Tensor:
    """A tensor with exactly the values of ``value`` and all the derivatives of ``stand_in``."""
    return value.detach() + (stand_in - stand_in.detach())


def shuffled(s: Sampler, values: Tensor) -> Tensor:
    """The same values in a random order."""
    return values[s.distinct(values.numel()).argsort()]


def no_bytes(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    """The budget of a backward that needs no tensor."""
    return 0


def extreme(*more: Any) -> Callable[[Sampler], tuple[Any, ...]]:
    """Makes the arguments of an extreme case: x up to ±1000, then ``more``."""
    return lambda s: (torch.tensor(EXTREME, dtype=torch.float64), *more)


def elementwise_cases(draw: Callable[..., Tensor], *special: Case) -> tuple[Case, ...]:
    """Cases of a function of one tensor; ``draw`` gets a Sampler and a shape."""

    def case(name: str, *shape: int, **more: Any) -> Case:
        def make(s: Sampler) -> tuple[Any, ...]:
            return (draw(s, *shape),)

        return Case(name, make, **more)

    return (
        case("a vector", 12, visible=True),
        case("a matrix", 3, 4, visible=True),
        case("a batch of matrices", 2, 3, 4),
        *special,
        case("a single number (0-d)", role="batch"),
        case("an empty vector", 0, role="empty"),
        case("an empty batch of matrices", 0, 3, 4, role="empty"),
        # Beyond 2²⁴ float32 has no 1 beside x: x + (sign(x) − x) is 0 there.
        Case(
            "inputs up to ±40,000,000 in float32",
            lambda s: (_FAR.clone(),),
            role="extreme",
        ),
    )


def true_derivative(why: str) -> Misconception:
    """Zeros: what autograd itself would give for a function that is flat almost everywhere."""
    return Misconception(
        f"The gradient is zero everywhere. That is the true derivative ({why}), and nothing learns "
        "from it.",
        "Return the gradient of the surrogate that the contract states.",
        lambda x, *, grad_output: (torch.zeros_like(x),),
        rule="gradient-zero",
    )
