"""What a function finds again at its next call: lists, dicts and sets that outlast it."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

_KINDS = (list, dict, set)
Container = list[Any] | dict[Any, Any] | set[Any]


def outlasting(function: Callable[..., Any]) -> dict[str, Container]:
    """Lists, dicts and sets with something in them that the next call finds again, in words.

    Default arguments, attributes of the function, and variables around it that its code names.
    """
    found: dict[str, Any] = {}
    function = getattr(function, "target", function)  # what a Submission calls
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or not isinstance(function, types.FunctionType):
        return {}
    names, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    positional = zip(names[len(names) - len(defaults) :], defaults, strict=True)
    for name, value in (*positional, *(function.__kwdefaults__ or {}).items()):
        found[f"the default argument {name}"] = value
    for name, value in vars(function).items():
        found[f"the attribute {name} of the function"] = value
    for name in _global_names(code):
        found[f"the global {name}"] = function.__globals__.get(name)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            found[f"the variable {name} outside of the function"] = cell.cell_contents
    return {words: value for words, value in found.items() if type(value) in _KINDS and value}


def _global_names(code: types.CodeType) -> list[str]:
    """The names that code, and the functions in it, may look up outside."""
    names = dict.fromkeys(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= dict.fromkeys(_global_names(inner))
    return list(names)


@contextlib.contextmanager
def emptied(containers: dict[str, Container]) -> Iterator[None]:
    """Nothing is in them at the beginning of the block; at its end they hold what they held before."""
    before = [each.copy() for each in containers.values()]
    for each in containers.values():
        each.clear()
    try:
        yield
    finally:
        for each, held in zip(containers.values(), before, strict=True):
            each.clear()
            if isinstance(each, list):
                each.extend(held)
            else:
                each.update(held)
