"""Case11 of lesson 10 draws which rows it drops: what is right for them, and experiments on how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Sampler
from autograder.exercises.layers.dropout import judge_share, run_many_draws


def dropped_rows(x: Tensor, p: float, rows: Tensor | None = None) -> Tensor:
    """The reference: ``rows`` of x (…, 1) are kept, and divided by 1 − p; without them it draws its own."""
    if rows is None:
        rows = torch.rand(*x.shape[:-1], 1, dtype=torch.float64) >= p
    return x * rows / (1 - p)


def draws(drop_rows: Callable[..., Tensor], s: Sampler) -> dict[str, Any]:
    """Dropout's experiment, which hands on whether it trains: it always does."""
    return run_many_draws(lambda x, p, training: drop_rows(x, p), s)


def judge_share_of_rows(data: dict[str, Any]) -> Cause | None:
    """Each row by itself is dropped with probability p; those of two calls, for there are few."""
    return judge_share({"first": torch.stack([data["first"], data["second"]]).any(-1)})
