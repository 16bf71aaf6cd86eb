"""Whether something callable takes code, a file, a module's name or a table of what is to be called."""

from __future__ import annotations

import builtins
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

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
