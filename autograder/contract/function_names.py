"""The register of functions that questions may name; :mod:`autograder.contract.functions` has all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def named(maker: Callable[..., Any]) -> Callable[..., Any]:
    """Register a maker of a function (or of a list of layers) under its own name."""
    if maker.__name__ in FUNCTIONS:
        raise ValueError(f"two functions are called {maker.__name__}")
    FUNCTIONS[maker.__name__] = maker
    return maker
