"""Running what a learner passes to a widget: what to call, with copies of what."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.friendly_error import refusal


def callable_and_name(fn: Any) -> tuple[Callable[..., Any], str]:
    """What to call, and the name of it."""
    if isinstance(fn, type) and issubclass(fn, Function):
        return fn.apply, fn.__name__
    if not callable(fn):
        words = f"This takes a Function class or a function, not {type(fn).__name__}."
        raise refusal(words, TypeError)
    owner = getattr(fn, "__self__", None)
    named = owner if isinstance(owner, type) else fn
    return fn, getattr(named, "__name__", type(fn).__name__)


def counting(value: Any) -> Tensor | None:
    """1, 2, 3, … in the shape of an output: numbers that are recognised when they come back."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return None
    count = torch.arange(value.numel(), device=value.device) % 9 + 1
    return count.reshape(value.shape).to(value.dtype)


def copies(inputs: Sequence[Any]) -> list[Any]:
    """Leaves with the values of the inputs."""
    tensors = [v for v in inputs if isinstance(v, Tensor)]
    nobody = not any(v.requires_grad for v in tensors)
    made: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            copy = value.detach().clone()
            floating = copy.is_floating_point() or copy.is_complex()
            copy.requires_grad_(floating if nobody else value.requires_grad)
            made.append(copy)
        else:
            made.append(value)
    return made


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's arguments, without ctx; [] where they cannot be read."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, Function):
        return argument_names(owner)
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def argument_names(cls: type) -> list[str]:
    """The names of forward's arguments after ctx; [] where they cannot be read."""
    try:
        forward = cls.forward  # type: ignore[attr-defined]
        own_setup = cls.setup_context is not torch.autograd.Function.setup_context  # type: ignore[attr-defined]
        parameters = list(inspect.signature(forward).parameters.values())
    except (AttributeError, TypeError, ValueError):
        return []
    parameters = parameters if own_setup else parameters[1:]
    return [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
