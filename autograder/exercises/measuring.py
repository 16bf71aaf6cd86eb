"""What the experiments of lesson 06 measure: storages alive, hooks left behind, who called."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.modes import Watching
from autograder.trace import storage_of

RANDOM_STATE_BYTES = 5056  # of the CPU generator, as torch.get_rng_state() gives it


class Storages(Watching):
    """Weak references to every storage that an operation made while the mode was on."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            key, size = storage_of(tensor)
            if size and key not in self.made:  # a key that is referred to does not come back
                self.made[key] = (StorageWeakRef(tensor.untyped_storage()), size)

    def alive(self, *without: Tensor) -> int:
        """Bytes of the storages that are still alive, those of ``without`` left out."""
        known = {storage_of(t)[0] for t in without}
        return sum(
            size
            for key, (reference, size) in self.made.items()
            if key not in known and not reference.expired()
        )


@contextlib.contextmanager
def hooks_cleared() -> Iterator[list[int]]:
    """Removes saved-tensor hooks that a block leaves on; the yielded list gets their number."""
    left: list[int] = []
    autograd: Any = torch._C._autograd
    before = autograd._top_saved_tensors_default_hooks(False)
    try:
        yield left
    finally:
        count = 0
        while count < 100:
            top = autograd._top_saved_tensors_default_hooks(False)
            if top is None or top == before:
                break
            autograd._pop_saved_tensors_default_hooks()
            count += 1
        left.append(count)


def called_from(module: str) -> bool:
    """Whether a function of ``module`` is among the callers."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")) == module:
            return True
        frame = frame.f_back
    return False
