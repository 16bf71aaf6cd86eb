"""Figures of the lessons, by name: a lesson computes the numbers, and draws them with one call.

One module a lesson, and each public function that it defines is a figure, `figures.<its name>`. It
takes what the lesson has computed, shows one figure with its alternative text, and gives nothing back.
"""

import inspect
from collections.abc import Callable
from typing import Any

from widgets.figures import (
    attention,
    checkpointing,
    debugging,
    double_backward,
    layers,
    linear,
    outside_torch,
    patterns,
    sigmoid,
    ste,
    template,
)
from widgets.figures.course_map import course_map

MODULES = (
    attention,
    checkpointing,
    debugging,
    double_backward,
    layers,
    linear,
    outside_torch,
    patterns,
    sigmoid,
    ste,
    template,
)

FIGURES: dict[str, Callable[..., Any]] = {"course_map": course_map} | {
    name: function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in FIGURES:
        raise AttributeError(
            f"no figure is called {name!r}; there are {', '.join(sorted(FIGURES))}"
        )
    return FIGURES[name]


def __dir__() -> list[str]:
    return sorted(FIGURES)
