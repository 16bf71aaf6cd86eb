"""FlashAttention: attention in tiles; what the attention exercises share: queries, keys and values, and the reference."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
    bytes_of,
)
from autograder.exercises.common_cases import cases_of, extreme, special, told
from autograder.running.watching import Storages


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """The reference: as F.scaled_dot_product_attention, with derivatives of every order.

    A row with nothing to attend to gives zeros.
    """
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale  # 0.0 counts
    scores = q @ k.transpose(-1, -2) * factor
    if mask is None:
        return torch.softmax(scores, -1) @ v
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~empty, -torch.inf)
    return torch.softmax(scores, -1).masked_fill(empty, 0.0) @ v


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


def queries_of(q: Tensor) -> int:
    """How many queries there are, in all heads."""
    return q.numel() // max(q.shape[-1], 1)


# Above 2 · max(E, Ev) and well below L and S: even half a block of full rows of scores stands out.
_BLOCK, _L, _S, _E, _EV = 8, 24, 32, 2, 2
_MOST = max(_BLOCK**2, max(_L, _S) * max(_E, _EV))

# (words, causal, dtype, which of q, k and v need a gradient): what an answer may make matrices for.
_PASSES = (
    ("with causal=True", True, torch.float64, "qkv"),
    ("with causal=False", False, torch.float64, "qk"),
    ("with causal=False, in bfloat16, where only v needs a gradient", False, torch.bfloat16, "v"),
    ("with causal=False, where nothing needs a gradient", False, torch.float64, ""),
)


def _largest(submission: Solution, s: Sampler) -> Data:
    """The largest tensor of each pass through one head."""
    found: list[list[Any]] = []
    for words, causal, dtype, wanted in _PASSES:
        sizes = {"q": (_L, _E), "k": (_S, _E), "v": (_S, _EV)}
        tensors = {name: s.normal(*size).to(dtype) for name, size in sizes.items()}
        leaves = [tensors[name].requires_grad_(True) for name in wanted]
        with Storages() as forward:
            out = submission(*tensors.values(), causal, _BLOCK)
        with Storages() as backward:
            if wanted:
                torch.autograd.grad(out, leaves, s.normal(_L, _EV).to(dtype))
        for method, made in (("forward", forward.largest), ("backward", backward.largest)):
            if made is not None:
                mask = made.dtype == torch.bool
                found.append([method, words, made.elements, list(made.shape), mask])
    return {"largest": found}


def _tiles_alone(data: Data, right: Data) -> Cause | None:
    for method, words, elements, shape, mask in data["largest"]:
        if elements > _MOST:
            facts = {"method": method, "words": words, "shape": tuple(shape), "block": _BLOCK}
            facts |= {"most": _MOST, "elements": elements, "backward": method == "backward"}
            keys, queries = _S in shape, _L in shape
            form = "whole" if keys and queries else "full_rows" if keys else "full_columns"
            facts |= {form: keys or queries, "mask": mask}
            return Cause("flash/too-large", facts)
    return None


def flash_reference(q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int = 1) -> Tensor:
    """The reference of attention in tiles: block_size changes nothing about the result.

    causal: query i attends to keys 0 … i, aligned top-left, as torch does.
    """
    every = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    return attention(q, k, v, every.tril() if causal else None)


def budget(args: Arguments, outputs: Arguments) -> int:
    """q, k, v, the output and one logsumexp a row, which torch's own attention keeps in float32 for a half-precision q."""
    q = args[0]
    return bytes_of(*args[:3], outputs[0]) + queries_of(q) * max(q.element_size(), 4)


def _drawn(
    s: Sampler, sizes: tuple[int, int, int, int], *, causal: bool, block: int,
    batch: tuple[int, ...] = (),
) -> Arguments:  # fmt: skip
    """sizes (L, S, E, Ev)."""
    return (*heads(s, batch, *sizes), causal, block)


_tiled = cases_of(_drawn)


def _low_score(s: Sampler) -> Arguments:
    """One query: causal, it may look at the first key alone."""
    q, k, v = heads(s, (), 1, 5, 4, 1)
    q[0], k[0] = far_apart()
    return q, k, v, True, 2


def _large(s: Sampler) -> Arguments:
    return *large_scores(s), False, 2


FLASH_ATTENTION = Exercise(
    **told("FlashAttention"),
    reference=flash_reference,
    forbidden=ATTENTION_OPERATIONS,
    second_order="refused",
    any_size=False,
    # Sizes that tell the known slips apart: all of them in all cases.
    # S reaches beyond the block in which L ends, and nowhere are E, Ev and block_size the same two numbers.
    cases=(
        _tiled("one head, block_size 2", (4, 5, 3, 2), causal=False, block=2),
        _tiled("causal, more keys than queries", (5, 7, 3, 2), batch=(2, 2), causal=True, block=4),
        _tiled("causal, more queries than keys", (5, 3, 2, 5), batch=(2,), causal=True, block=2),
        _tiled("a block larger than everything", (3, 4, 2, 5), batch=(2,), causal=True, block=8),
        _tiled("block_size 3", (4, 9, 2, 3), causal=False, block=3),
        _tiled("block_size 1", (2, 3, 4, 5), causal=True, block=1, role="special"),
        special("one query, whose only score is about -10¹⁰", _low_score, ),
        _tiled("two batch dimensions", (3, 4, 5, 2), batch=(2, 3), causal=True, block=2, role="batch"),
        _tiled("three batch dimensions", (5, 6, 2, 3), batch=(2, 1, 2), causal=True, block=4, role="batch"),
        _tiled("no keys at all (S = 0)", (3, 0, 2, 4), causal=False, block=2, role="empty"),
        _tiled("several heads without keys (S = 0)", (3, 0, 2, 4), batch=(2, 3), causal=True, block=2, role="empty"),
        _tiled("an empty batch", (3, 4, 2, 5), batch=(0,), causal=True, block=3, role="empty"),
        extreme("scores up to 500 in size in float32", _large, ),
    ),
    budget=budget,
    scenarios=(
        Scenario(
            "no tensor is larger than a tile or the inputs", "temporary-too-large", _largest, _tiles_alone,
            needs=("output_value", "gradients_agree"),
        ),
    ),
)  # fmt: skip
