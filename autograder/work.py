"""Counts the work of a piece of code: torch operations, and lines of the learner's own.

Counts and not seconds: the same code gives the same counts on every machine, whatever else it does.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from autograder.modes import Watching


@dataclass
class Work:
    """What ran: operations as torch's dispatcher counts them, lines with their repetitions."""

    operations: int = 0
    lines: int = 0


_COPIES = frozenset([torch.ops.aten.detach.default, torch.ops.aten.clone.default])


class _Operations(Watching):
    def __init__(self, work: Work, without: frozenset[Any] = frozenset()) -> None:
        super().__init__()
        self.work, self.without = work, without

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        self.work.operations += operation not in self.without


@contextlib.contextmanager
def operations_counted() -> Iterator[Work]:
    """Count the operations that run in the block, without copies, which a trace makes as well."""
    work = Work()
    with _Operations(work, _COPIES):
        yield work


@contextlib.contextmanager
def counted(files: frozenset[str] = frozenset()) -> Iterator[Work]:
    """Count what runs in the block. Lines are counted in code of the given files only."""
    work = Work()

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        work.lines += event == "line"
        return line

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        with _Operations(work):
            yield work
    finally:
        sys.settrace(before)
