"""The positions of the scores of one call of FlashAttention, and the tiles that they lie in (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tiling:
    """The positions of all scores of a call, queries down, keys across, and the tiles they lie in."""

    queries: int
    keys: int
    block: int
    causal: bool

    @property
    def row(self) -> Tensor:
        return torch.arange(self.queries)[:, None]

    @property
    def column(self) -> Tensor:
        return torch.arange(self.keys)

    @property
    def row_tile(self) -> Tensor:
        return self.row // self.block

    @property
    def column_tile(self) -> Tensor:
        return self.column // self.block

    def all(self) -> Tensor:
        return torch.ones(self.queries, self.keys, dtype=torch.bool)

    def right(self) -> Tensor:
        """What the contract asks for."""
        return self.column <= self.row if self.causal else self.all()

    def not_skipped(self) -> Tensor:
        """The tiles that are not in the future as a whole."""
        return self.column_tile <= self.row_tile if self.causal else self.all()


Positions = Callable[[Tiling], Tensor]
