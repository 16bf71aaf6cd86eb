"""Values far out."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import Sampler


def _with_zeros(s: Sampler) -> Tensor:
    """0, −0 and two ordinary numbers of both signs."""
    ordinary = s.away_from(2)
    return torch.cat([torch.tensor([0.0, -0.0], dtype=torch.float64), ordinary])


def large(s: Sampler) -> Tensor:
    """Two values near ±1000, where exp would overflow in float32."""
    return torch.tensor([-1000.0, 1000.0], dtype=torch.float64) + s.uniform(2)
