"""Counts the work of a piece of code: torch operations, and lines of the learner's own.

Counts and not seconds: the same code gives the same counts on every machine, whatever else it does.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from autograder.calls import in_backward
from autograder.modes import Watching


@dataclass
class Work:
    """What ran: operations as torch's dispatcher counts them, lines with their repetitions.

    places  how often each line ran, by file and number
    """

    operations: int = 0
    lines: int = 0
    places: Counter[tuple[str, int]] = field(default_factory=Counter)


# What a trace runs as well: copies, and the look whether they are still alike.
_OF_A_TRACE = frozenset(
    [torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.equal.default]
)


class _Operations(Watching):
    def __init__(self, work: Work, without: frozenset[Any] = frozenset()) -> None:
        super().__init__()
        self.work, self.without = work, without

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        self.work.operations += operation not in self.without


@contextlib.contextmanager
def operations_in_backward(classes: Iterable[type]) -> Iterator[Work]:
    """Count the operations of the backwards of these classes that run in the block.

    Without those that a trace runs too: work_of counts the same where nothing is traced.
    """
    work = Work()
    with in_backward(classes, _Operations(work, _OF_A_TRACE)):
        yield work


def work_of(operations: Mapping[Any, int]) -> int:
    """The number of operations, of which it is known how often each ran; without those of a trace."""
    return sum(times for each, times in operations.items() if each not in _OF_A_TRACE)


@contextlib.contextmanager
def counted(files: frozenset[str] = frozenset()) -> Iterator[Work]:
    """Count what runs in the block. Lines are counted in code of the given files only."""
    work = Work()

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            work.lines += 1
            work.places[frame.f_code.co_filename, frame.f_lineno] += 1
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


def repeated_line(few: Work, many: Work) -> tuple[int, str, int, int] | None:
    """(number, text, times, times) of the line that runs so much more often in the second; None for none."""
    grown = {place: many.places[place] - few.places[place] for place in many.places}
    most = max(grown.values(), default=0)
    if most <= 0:
        return None
    file, number = min(place for place, times in grown.items() if times == most)
    text = linecache.getline(file, number).strip()[:200]
    return number, text, few.places[file, number], many.places[file, number]
