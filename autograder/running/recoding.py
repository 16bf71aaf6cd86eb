"""Runs in which one of the learner's functions has other code: what would come of another expression in it?"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

from autograder.running.value_flow import Other, names_in

_MOST = 20_000  # lines of a function whose loop need not end


class Noted:
    """Notes which functions of these files end while it is on, and what numbers and tensors they know then.

    found  in their order
    calls  how many calls of any function there were: what a run takes
    """

    def __init__(self, files: frozenset[str]) -> None:
        self.files, self.found, self.calls = files, dict[FunctionType, dict[str, Any]](), 0
        self._codes, self._spaces = dict[CodeType, dict[str, Any]](), dict[int, dict[str, Any]]()

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event in ("call", "c_call")
        if event == "return" and frame.f_code.co_filename in self.files:
            self._codes[frame.f_code] = names_in(frame, {})
            self._spaces[id(frame.f_globals)] = frame.f_globals

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._note)

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        values = [value for space in self._spaces.values() for value in [*space.values()]]
        owned = (each for v in values if isinstance(v, type) for each in vars(v).values())
        made = {f.__code__: f for f in map(_function, (*values, *owned)) if f is not None}
        self.found = {made[code]: names for code, names in self._codes.items() if code in made}


def _function(value: Any) -> FunctionType | None:
    """The function that something is, or wraps."""
    function = getattr(value, "__func__", value)
    while isinstance(inner := getattr(function, "__wrapped__", None), FunctionType):
        function = inner
    return function if isinstance(function, FunctionType) else None


def calls_kernels(function: FunctionType) -> bool:
    """Whether a function names a kernel: with other code around it, that may write past its memory."""
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    return any(type(each).__module__.startswith("triton") for each in named)


class Recoded(Other):
    """A function that has other code while the mode is on. A loop that no longer ends is stopped."""

    def __init__(self, function: FunctionType, other: CodeType) -> None:
        super().__init__()
        self.function, self.code, self.other, self.lines = function, function.__code__, other, 0

    def __enter__(self) -> Any:
        self.function.__code__ = self.other
        self._before = sys.gettrace()
        if _loops(self.other):
            sys.settrace(self._entered)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        sys.settrace(self._before)
        self.function.__code__ = self.code

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._ran if frame.f_code is self.other else None

    def _ran(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.lines += 1
        if self.lines > _MOST:
            raise RecursionError(f"more than {_MOST} lines")
        return self._ran

    def ran_as(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return func(*args, **kwargs)


def _loops(code: CodeType) -> bool:
    """Whether it jumps back: then it need not end."""
    return any("BACKWARD" in each.opname for each in dis.get_instructions(code))
