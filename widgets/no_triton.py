"""Stands in for Triton where it cannot be had: kernels can be defined, and a launch says what is missing."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

language = SimpleNamespace(constexpr=int)
MISSING = (
    "triton is not installed here. On Linux: pip install 'backward-by-hand[triton]', then restart the kernel. "
    "Everything else in this lesson works without it."
)


class jit:
    """Holds the place of a kernel."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __getitem__(self, grid: Any) -> Callable[..., NoReturn]:
        def launch(*arguments: Any, **options: Any) -> NoReturn:
            raise RuntimeError(MISSING)

        return launch


def cdiv(number: int, by: int) -> int:
    """The quotient, rounded up."""
    return -(-number // by)


def next_power_of_2(number: int) -> int:
    """The smallest power of 2 that is no smaller."""
    return 1 << max(number - 1, 0).bit_length()
