"""Which of several return statements of the learner's code ended a call."""

from __future__ import annotations

import contextlib
import opcode
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from autograder.calls import codes_of

_RETURNS = [opcode.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opcode.opmap]
_METHODS = ("forward", "setup_context", "backward", "vjp")


def with_several_returns(target: Any) -> frozenset[CodeType]:
    """The code of a function, or of a class's methods, that can end in more than one place."""
    values = [getattr(target, name, None) for name in _METHODS]
    found = {code for value in (target, *values) for code in codes_of(value)}
    return frozenset(code for code in found if _count(code) > 1)


def _count(code: CodeType) -> int:
    operations = code.co_code[::2]
    return sum(operations.count(number) for number in _RETURNS)


@contextlib.contextmanager
def last_returns(codes: frozenset[CodeType]) -> Iterator[dict[str, int]]:
    """By function name, the line in which it last ended in the block. Costs nothing without codes."""
    lines: dict[str, int] = {}
    if not codes:
        yield lines
        return

    def leave(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            lines[frame.f_code.co_name] = frame.f_lineno
        return leave

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code not in codes:
            return None
        frame.f_trace_lines = False
        return leave

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    finally:
        sys.settrace(before)
