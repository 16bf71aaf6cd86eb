"""What forward leaves outside of torch: in lists, texts, arrays and objects that the learner's code can reach.

No hook of torch's sees it. What a cache holds for a shape it holds after the first call; what is kept for backward is
there once for every call, and grows with what is kept.
"""

from __future__ import annotations

import gc
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

SOME_NUMBERS = 4  # floats kept as Python or NumPy objects; fewer are settings
SOME_BYTES = 256  # more for many rows than for few; less is the text of a shape
SOME_TEXT = 64  # characters; shorter ones are names
_OF_A_NUMBER, _IN_BYTES = 8, 4  # characters of text, bytes
_LIBRARIES = ("torch", "numpy", "scipy", "autograder", "typing", "enum", "builtins")
_MOST = 50_000  # objects that are looked at
_FUNCTIONS = types.FunctionType | types.MethodType | staticmethod | classmethod
_OTHERS = types.ModuleType | types.CodeType | torch.dtype
_CONTAINERS = list | tuple | set | frozenset
_NUMBERS = float | np.floating | int | np.ndarray | Tensor
_PLAIN = _NUMBERS | str | bytes | bytearray | _CONTAINERS | dict  # what is counted itself
_A_PLACE = 8  # bytes of a place in a container, and of one size of a tensor


class Held(NamedTuple):
    """What can be reached: floats, text and bytes that could be some included; and the bytes of all, whatever its type.

    Whole numbers are shapes and positions at first sight, so ``numbers`` leaves them out; of a large case and a small
    one, ``bytes`` tells whether they are.
    """

    numbers: int
    bytes: int


def held(value: Any) -> Held:
    """What a value holds; of tensors their sizes, since torch counts the rest.

    Of a function what it was given counts (defaults, closure, attributes, the object it is bound to), not its globals.
    """
    return _count([value], _behind) or Held(0, 0)


def numbers_in(value: Any) -> int:
    """How many floats a value holds that is no tensor. A float alone is a setting, as are those of classes and libraries."""
    found = None if isinstance(value, float) else _count([value], _kept)
    return found.numbers if found else 0


def growth(classes: Iterable[type], call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and how many bytes more the code of these classes can reach after it."""
    roots = [one for cls in classes for one in vars(cls).values() if isinstance(one, _FUNCTIONS)]
    before = _count(roots, _reached)
    made = call()
    after = _count(roots, _reached) if before else None  # nothing but code keeps nothing
    return made, after.bytes - before.bytes if before and after else 0


def _count(roots: list[Any], more: Callable[[Any], Iterable[Any]]) -> Held | None:
    """All that can be reached; None where that is nothing but code."""
    waiting, numbers, text, size, is_code = list(roots), 0, 0, 0, True
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _OTHERS):
            continue
        seen[id(one)] = one  # held, so that no other gets its number
        is_code = is_code and isinstance(one, _FUNCTIONS | types.BuiltinFunctionType | type)
        if isinstance(one, Tensor):
            size += 2 * _A_PLACE * one.dim()
        elif isinstance(one, float | np.floating):
            numbers, size = numbers + 1, size + 8
        elif isinstance(one, np.ndarray):
            numbers += one.size if np.issubdtype(one.dtype, np.floating) else 0
            size += one.nbytes
            waiting += [one.dtype, *(one.ravel().tolist() if one.dtype.hasobject else ())]
        elif isinstance(one, str):
            text, size = text + len(one), size + len(one)
        elif isinstance(one, bytes | bytearray):
            numbers, size = numbers + len(one) // _IN_BYTES, size + len(one)
        elif isinstance(one, int):
            numbers += one.bit_length() // 32 if one.bit_length() > 64 else 0
            size += 8 + one.bit_length() // 8
        elif isinstance(one, _CONTAINERS | dict):
            inside = [*one, *one.values()] if isinstance(one, dict) else list(one)
            size += _A_PLACE * len(inside)
            waiting += inside
        else:
            size += 0 if isinstance(one, type | _FUNCTIONS) else _own_size(one)
        waiting += more(one)
    if is_code:
        return None
    return Held(numbers + (text // _OF_A_NUMBER if text >= SOME_TEXT else 0), size)


def _own_size(one: Any) -> int:
    """Bytes of an object without what it refers to; where the garbage collector cannot look into it, as pickle writes it."""
    size = sys.getsizeof(one, 0)
    if not gc.is_tracked(one):  # a range, a dtype with metadata, a generator of random numbers
        with suppress(Exception):  # what cannot be pickled hides nothing more
            size = max(size, len(pickle.dumps(one)))
    return size


def _reached(one: Any) -> Iterable[Any]:
    """What the learner's functions, classes and objects refer to."""
    own = isinstance(one, types.FunctionType) and not _is_foreign(one)
    return [*_behind(one), *(_globals_of(one) if own else ())]


def _behind(one: Any) -> Iterable[Any]:
    """What an object keeps, whoever made its class; of classes only the learner's: no way into a library."""
    if isinstance(one, type):
        return [] if _is_foreign(one) else list(vars(one).values())
    if isinstance(one, types.FunctionType | _PLAIN):
        attributes = getattr(one, "__dict__", None)
        return [*_kept(one), *([attributes] if attributes else ())]
    return [one.__func__] if isinstance(one, staticmethod | classmethod) else gc.get_referents(one)


def _kept(one: Any) -> Iterable[Any]:
    """What an object or a function was given; nothing of a library's, and of classes."""
    if isinstance(one, staticmethod | classmethod):
        return [one.__func__]
    if isinstance(one, types.FunctionType):
        given = one.__defaults__, one.__kwdefaults__, one.__closure__
        return [] if _is_foreign(one) else filter(None, given)
    foreign = _is_foreign(type(one)) and type(one).__module__ != "builtins"
    if foreign or isinstance(one, type | _PLAIN):
        return []
    return gc.get_referents(one)  # of a method and an iterator, too


def _globals_of(one: types.FunctionType) -> Iterator[Any]:
    codes = [one.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        yield from (one.__globals__[name] for name in code.co_names if name in one.__globals__)


def _is_foreign(one: type | types.FunctionType) -> bool:
    """Whether a class or a function is a library's, and no container."""
    return str(one.__module__).partition(".")[0] in _LIBRARIES
