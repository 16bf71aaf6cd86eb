"""Whether something callable takes code, a file, a module's name or a table of what is to be called."""

from __future__ import annotations

import builtins
import inspect
import re
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch

# Parameters that say it. `source` and `src` are what scatter and its like read numbers from.
_TELLING = """
code stmt setup expr command cmd path pathname file filename fname fp dir directory root
folder module modname module_name package namespace globals locals globalns localns ns
assigned updated handlers script program loader spec buf mmap_mode obj_name attr attribute
attrs names_to_call text_signature dispatch_table hook_table converters function_name
qualname
"""
TELLING = frozenset(_TELLING.split())
# Python's own ways from text to code, and to what lies outside of the process.
CODE = {
    name: getattr(builtins, name)
    for name in (
        "exec",
        "eval",
        "compile",
        "open",
        "__import__",
        "globals",
        "vars",
        "input",
        "breakpoint",
    )
}
HANDS_ON = frozenset(
    {
        *CODE,
        "import_module",
        "get_type_hints",
        "_getframe",
        "f_globals",
        "__globals__",
        "system",
        "Popen",
    }
)


def why_not(one: Any, deep: int = 1) -> Iterator[str]:
    """Why a callable may not be in the language; nothing where it may."""
    if any(one is known for known in CODE.values()):
        yield f"is {one.__name__}"
    told = _parameters(one) & TELLING
    if told:
        yield f"takes {', '.join(sorted(told))}"
    seen: set[types.CodeType] = set()
    for code, space in _codes(one):
        yield from (f"uses {name}" for name in sorted(_used(code, space, deep, seen)))


def _parameters(one: Any) -> set[str]:
    try:
        return set(inspect.signature(one).parameters)
    except (ValueError, TypeError):  # of C functions the first line of the documentation says it
        first = (getattr(one, "__doc__", "") or "").lstrip().partition("\n")[0]
        return set(re.findall(r"(\w+)\s*(?=[,=)\]:*])", first))


def _codes(one: Any) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:
    """The code of a function, or of a class's own methods."""
    while hasattr(one, "__wrapped__"):
        one = one.__wrapped__
    found = [one]
    if isinstance(one, type):
        found = [getattr(v, "__func__", v) for v in vars(one).values()]
    for function in found:
        if isinstance(function, types.FunctionType):
            yield function.__code__, function.__globals__


def _used(
    code: types.CodeType, space: dict[str, Any], deep: int, seen: set[types.CodeType]
) -> set[str]:
    if code in seen:
        return set()
    seen.add(code)
    found = set(code.co_names) & HANDS_ON
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _used(constant, space, deep, seen)
    for name in code.co_names if deep else ():
        inner = space.get(name)
        if isinstance(inner, types.FunctionType):
            found |= _used(inner.__code__, inner.__globals__, deep - 1, seen)
    return found


# What objects are made with, to look at them: whichever their class takes first.
_GIVEN = (), (1,), ("cpu",), (abs,), (abs, abs), (torch.zeros(2), torch.ones(2)), (2, 2), ([1],)
_DEEP = 3  # attributes one after the other


def modules_behind(
    admitted: Iterable[tuple[str, Any]], may_be_read: Callable[[str], bool]
) -> Iterator[str]:
    """The paths of attributes, of objects and of what is made of classes, at whose end a module is.

    may_be_read  whether an attribute of this name may, of an object of which nobody knows what it is
    """
    waiting = deque((path, one, 0) for path, one in admitted)
    waiting += [
        (f"{path}()", _made(one), 0) for path, one, _ in list(waiting) if isinstance(one, type)
    ]
    seen: dict[int, Any] = {}
    while waiting:
        path, one, deep = waiting.popleft()
        if isinstance(one, types.ModuleType):
            yield path
        elif id(one) not in seen and deep < _DEEP and not isinstance(one, str | bytes):
            seen[id(one)] = one  # held, so that no other gets its number
            for name in (
                dir(one) if isinstance(one, type) else {*dir(one), *getattr(one, "__dict__", ())}
            ):
                with suppress(Exception):
                    if may_be_read(name):
                        waiting.append((f"{path}.{name}", getattr(one, name), deep + 1))
            inside = one.values() if isinstance(one, dict) else one
            if isinstance(one, dict | list | tuple | set):
                waiting += [(f"{path}[…]", each, deep + 1) for each in list(inside)[:50]]


def _made(kind: type) -> Any:
    for given in _GIVEN:
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind(*given)
    return None
