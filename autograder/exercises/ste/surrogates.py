"""What straight-through exercises share: cases and reference surrogates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.autograd import Function

from autograder.contract.exercise import Case, Sampler
from autograder.exercises.common_cases import fixed, of_every_shape

KEEPS_NOTHING = "no tensor: backward needs none"


EXTREME = [-1000.0, -100.0, -30.0, -5.0, -0.75, 0.25, 5.0, 30.0, 100.0, 1000.0]


_FAR = [-1e30, -4e7, *EXTREME, 4194305.0, 4e7, 1e30]


def elementwise_cases(draw: Callable[..., Tensor], *special: Case) -> tuple[Case, ...]:
    """Cases of a function of one tensor; ``draw`` gets a Sampler and a shape."""
    return (
        *of_every_shape(draw, *special, vector=12),
        # Beyond 2²⁴ float32 has no 1 beside x: x + (sign(x) − x) is 0 there.
        Case(
            "inputs up to ±1e30 in float32",
            fixed(_FAR),
            role="extreme",
        ),
    )


class _InPlaceOf(Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, stand_in: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor]:
        return None, grad_output


def surrogate(value: Tensor, stand_in: Tensor) -> Tensor:
    """A tensor with exactly the values of ``value`` and all the derivatives of ``stand_in``, at ±∞ too."""
    found: Tensor = _InPlaceOf.apply(value.detach(), stand_in)
    return found


NEAR_ZERO = [-0.5, 0.0, -0.0, 1e-12, -1e-12, 2.0]


def shuffled(s: Sampler, values: Tensor) -> Tensor:
    """The same values in a random order."""
    return values[s.distinct(values.numel()).argsort()]


HALVES = (
    "torch.round sends halves to the even neighbour: 0.5 to 0, 1.5 to 2. A half that is added and cut off sends "
    "them all one way: floor(x + 0.5) up, trunc(x + 0.5 · sign(x)) away from 0."
)


FAR_OUT = (
    "Beside 1e20 float32 has no 1, so x + (… − x) is 0 there; and x / scale is larger than every number of an "
    "integer dtype. Compute the output from the clamped steps, in x's dtype."
)
