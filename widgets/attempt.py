"""For cells that make mistakes on purpose: the error is printed, and the notebook goes on."""

from collections.abc import Callable
from typing import Any


def attempt(action: Callable[..., Any], *arguments: Any) -> None:
    """Call action(*arguments) and print what it gives, or the error it raises."""
    try:
        print("no error:", action(*arguments))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
