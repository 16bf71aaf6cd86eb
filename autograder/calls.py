"""Wrapping functions so that they can still be called in all the ways they could be before."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from torch.autograd import Function


def same_parameters(user: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the parameters of ``user`` that hands them on to ``call``.

    ``apply(x, scale=2.0)`` is legal since torch 2.13, which reads the names from the code of forward;
    a wrapper that takes ``*args, **kwargs`` has none.
    """
    code = getattr(user, "__code__", None)
    variable = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if code is None or code.co_kwonlyargcount or code.co_flags & variable:
        return call
    names = code.co_varnames[: code.co_argcount]
    defaults = getattr(user, "__defaults__", None) or ()
    plain = len(names) - len(defaults)
    left_out = object()

    def hand_on(*values: Any) -> Any:
        # What was left out stays left out: the learner's own default holds, and inputs are counted right.
        while values and values[-1] is left_out:
            values = values[:-1]
        filled = [
            defaults[i - plain] if value is left_out else value for i, value in enumerate(values)
        ]
        return call(*filled)

    space: dict[str, Any] = {"_call": hand_on, "_left_out": left_out}
    exec(_definition(names, plain), space)
    return functools.update_wrapper(space["made"], user)


@functools.cache
def _definition(names: tuple[str, ...], plain: int) -> types.CodeType:
    """The code that defines a function of these parameters; all but the first ``plain`` have a default."""
    given = [*names[:plain], *(f"{name}=_left_out" for name in names[plain:])]
    text = f"def made({', '.join(given)}): return _call({', '.join(names)})"
    return compile(text, "<same parameters>", "exec")


@contextlib.contextmanager
def patched(patches: list[tuple[type, str, Any]]) -> Iterator[None]:
    """Set (class, name, new value) for the block; afterwards every class is as it was.

    Make all new values before: a subclass may inherit from a class that is patched first.
    """
    undo: list[tuple[type, str, Any]] = []
    try:
        for cls, name, new in patches:
            undo.append((cls, name, vars(cls).get(name)))
            setattr(cls, name, new)
        yield
    finally:
        for cls, name, old in reversed(undo):
            if old is None:
                delattr(cls, name)
            else:
                setattr(cls, name, old)


@contextlib.contextmanager
def in_backward(classes: Iterable[type], *modes: AbstractContextManager[Any]) -> Iterator[None]:
    """Run every backward of ``classes`` under the modes; each can be entered again and again."""

    def under_modes(user: Callable[..., Any]) -> Any:
        @functools.wraps(user)
        def call(*args: Any) -> Any:
            with contextlib.ExitStack() as stack:
                for mode in modes:
                    stack.enter_context(mode)
                return user(*args)

        return staticmethod(call)

    wrapped = [
        (cls, name, under_modes(getattr(cls, name)))
        for cls in classes
        for name in ("backward", "vjp")
        if getattr(cls, name) is not getattr(Function, name)
    ]
    with patched(wrapped):
        yield


def codes_of(value: Any) -> Iterator[types.CodeType]:
    """The code of a function or method, and of what it wraps.

    Decorators such as once_differentiable keep the learner's function in ``__wrapped__``.
    """
    function = getattr(value, "__func__", value)
    for _ in range(5):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return
