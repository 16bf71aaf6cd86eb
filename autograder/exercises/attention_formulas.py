"""Attention as lesson 07 means it: the reference, and the names of what the exercises rebuild.

Shapes everywhere: q (…, L, E), k (…, S, E), v (…, S, Ev), mask bool and broadcastable to (…, L, S).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LESSON = "07_attention"

# What the exercises rebuild, as torch's function mode and dispatcher name it.
ATTENTION_OPERATIONS = frozenset(
    [
        "torch.nn.functional.scaled_dot_product_attention",
        "torch._C._nn.scaled_dot_product_attention",
        "torch.nn.functional.multi_head_attention_forward",
        "aten.scaled_dot_product_attention",
        "aten._native_multi_head_attention",
    ]
    + [
        f"aten._scaled_dot_product_{name}"
        for name in (
            "attention_math", "attention_math_for_mps", "flash_attention",
            "flash_attention_for_cpu", "efficient_attention", "cudnn_attention",
            "fused_attention_overrideable",
        )
    ]
    + [f"aten._{name}_attention_forward" for name in ("flash", "efficient", "cudnn")]
)  # fmt: skip


def scale_of(q: Tensor, scale: float | None) -> float:
    """The factor of the scores: the one that is given (0.0 counts), else 1/√E."""
    return 1 / math.sqrt(q.shape[-1]) if scale is None else scale


def causal_mask(q: Tensor, k: Tensor, shift: int = 0) -> Tensor:
    """Query i attends to keys 0 … i + shift: aligned top-left, as torch does."""
    return torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(shift)


def softmax_rows(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last dimension where the mask is True; a row with nothing gives zeros."""
    if mask is None:
        return torch.softmax(scores, -1)
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~empty, -torch.inf)
    return torch.softmax(scores, -1).masked_fill(empty, 0.0)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None, scale: float | None) -> Tensor:
    """(…, L, S): how much of each key every query takes."""
    return softmax_rows(q @ k.transpose(-1, -2) * scale_of(q, scale), mask)


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """The reference: as F.scaled_dot_product_attention, with derivatives of every order."""
    return attention_weights(q, k, mask, scale) @ v


def flash_reference(q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int) -> Tensor:
    """The reference of FlashAttention: block_size changes nothing about the result."""
    return attention(q, k, v, causal_mask(q, k) if causal else None)
