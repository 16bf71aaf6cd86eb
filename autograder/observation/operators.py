"""Custom operators of torch.library: what stands behind one, by the names that a Function's methods have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.library import CustomOpDef

from autograder.observation.syntax import codes_of

_DEPTH = 4  # functions that call one another, on the way to an operator

# What torch keeps each registered function as. Its names are torch's own; where one is missing, nothing is read.
_KEPT = {
    "forward": "_init_fn", "setup_context": "_setup_context_fn", "backward": "_backward_fn",
    "fake": "_abstract_fn", "vmap": "_vmap_fn",
}  # fmt: skip


def operators_in(value: Any, depth: int = _DEPTH) -> Iterator[CustomOpDef]:
    """The operator that a value is, or those that a plain function names, itself or by functions that it names."""
    if isinstance(value, CustomOpDef):
        yield value
        return
    names = getattr(value, "__globals__", {})
    for code in codes_of(value) if depth and not isinstance(value, type) else ():
        for name in code.co_names:
            if name in names and names[name] is not value:
                yield from operators_in(names[name], depth - 1)


def operator_of(value: Any) -> CustomOpDef | None:
    """Of these the first that has an autograd formula, else the first; None where there is none."""
    found = list(dict.fromkeys(operators_in(value)))
    with_formula = (each for each in found if each._backward_fn is not None)
    return next(with_formula, found[0] if found else None)


def registered(value: Any) -> dict[str, Callable[..., Any]]:
    """What was registered for the operator of a submission: forward, setup_context, backward, fake, vmap."""
    operator = operator_of(value)
    found = {name: getattr(operator, kept, None) for name, kept in _KEPT.items()}
    return {name: function for name, function in found.items() if function is not None}
