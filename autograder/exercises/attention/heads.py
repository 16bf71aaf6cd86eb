"""What the attention exercises share: queries, keys and values, cases, budgets and experiments."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Sampler


def softmax_rows(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last dimension where the mask is True; a row with nothing gives zeros."""
    if mask is None:
        return torch.softmax(scores, -1)
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~empty, -torch.inf)
    return torch.softmax(scores, -1).masked_fill(empty, 0.0)


def scale_of(q: Tensor, scale: float | None) -> float:
    """The factor of the scores: the one that is given (0.0 counts), else 1/√E."""
    return 1 / math.sqrt(q.shape[-1]) if scale is None else scale


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None, scale: float | None) -> Tensor:
    """(…, L, S): how much of each key every query takes."""
    return softmax_rows(q @ k.transpose(-1, -2) * scale_of(q, scale), mask)


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """The reference: as F.scaled_dot_product_attention, with derivatives of every order."""
    return attention_weights(q, k, mask, scale) @ v


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


def heads(s: Sampler, batch: tuple[int, ...], queries: int, keys: int, e: int, ev: int) -> Any:
    """q (…, L, E), k (…, S, E) and v (…, S, Ev) with values of at most 1.2 in size.

    Small scores suit bfloat16: where one key has nearly all the weight the gradients of the scores
    almost cancel, and eight bits do not say by how much.
    """
    sizes = (queries, e), (keys, e), (keys, ev)
    return tuple(s.uniform(*batch, *size, low=-1.2, high=1.2) for size in sizes)


def far_apart() -> tuple[Tensor, Tensor]:
    """A query and a key with a score of about -10¹⁰, for which every right answer gives the same.

    Powers of two, E = 4: √E is 2, so the score is the same to the last digit wherever and however the
    scale comes in. Take values of width 1: the gradient of the score is 0 then, and not a last digit
    times 10⁵, however the two sums that cancel are added up.
    """
    key = torch.tensor([2.0**17, 0.0, 0.0, 0.0])
    return -key, key


def large_scores(s: Sampler) -> Arguments:
    """q, k, v with E = 4 whose scores reach ±1024 and are exact in float32.

    Where they are large they lie far apart: a logsumexp of 1000 is known to 3e-5 only in float32, and
    a right answer that subtracts it would be off by as much wherever two keys share the weight.
    """
    q = [[32.0, 0.0, 0.0, 0.0], [0.0, -32.0, 0.0, 0.0], [0.0, 0.0, 32.0, 0.0]]
    k = [
        [16.0, 28.0, 1 / 32, 0.0],
        [32.0, 32.0, 1 / 16, 0.0],
        [-32.0, 24.0, -1 / 16, 0.0],
        [0.0, 40.0, 0.0, 0.0],
    ]
    return torch.tensor(q).double(), torch.tensor(k).double(), s.normal(4, 2)


def row_bytes(args: Arguments) -> tuple[int, int]:
    """(bytes of one number a query, bytes of the mask and of a bool a query: is its row empty?)."""
    q = args[0]
    rows = q.numel() // max(q.shape[-1], 1)
    masked = len(args) > 3 and args[3] is not None
    return rows * q.element_size(), args[3].numel() + rows if masked else 0


def bytes_of_logsumexp(q: Tensor) -> int:
    """One number a query. Torch's own attention keeps it in float32 for a half-precision q, and so may others."""
    return q.numel() // max(q.shape[-1], 1) * max(q.element_size(), 4)
