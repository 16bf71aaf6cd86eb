"""Which storages stay alive: counted where they are made, so that nobody can hide one."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.modes import Watching
from autograder.trace import storage_of


class Made(NamedTuple):
    """A storage that an operation made, and the first tensor in it. ``size`` is in bytes."""

    storage: int
    reference: StorageWeakRef
    size: int
    shape: tuple[int, ...]
    dtype: torch.dtype


class Storages(Watching):
    """Weak references to every storage that an operation made while the mode was on."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, Made] = {}

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            key, size = storage_of(tensor)
            if size and key not in self._made:  # a key that is referred to does not come back
                reference = StorageWeakRef(tensor.untyped_storage())
                self._made[key] = Made(key, reference, size, tuple(tensor.shape), tensor.dtype)

    def left(self, known: Container[int]) -> list[Made]:
        """Those that are still alive, but for ``known`` ones."""
        return [
            made
            for key, made in self._made.items()
            if key not in known and not made.reference.expired()
        ]

    def alive(self, *without: Tensor) -> int:
        """Bytes of the storages that are still alive, those of ``without`` left out."""
        return sum(made.size for made in self.left({storage_of(t)[0] for t in without}))
