"""Wrong tilings of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.attention_formulas import attention, causal_mask, scale_of
from autograder.exercises.attention_mistakes import backward_mistakes, step_of


def _online(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int, *,
    rescale_out: bool = True, rescale_sum: bool = True, divide: bool = True,
    start: float = -torch.inf,
) -> Tensor:  # fmt: skip
    """The online softmax over blocks of keys, with one of its steps left out or another start."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(~causal_mask(q, k), -torch.inf)
    top = torch.full_like(scores[..., :1], start)
    total, out = torch.zeros_like(top), 0.0
    for start in range(0, k.shape[-2], block):
        part = scores[..., start : start + block]
        new = torch.maximum(top, part.amax(-1, keepdim=True))
        shrink, e = (top - new).exp(), (part - new).exp()
        total = total * (shrink if rescale_sum else 1.0) + e.sum(-1, keepdim=True)
        values = e @ v[..., start : start + block, :]
        out = out * (shrink if rescale_out else 1.0) + values
        top = new
    return out / total if divide else out  # type: ignore[return-value]


def _low_start(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
    """The running maximum starts at a number; where the sum is 0 the output is 0."""
    return _online(q, k, v, causal, block, start=-1e4).nan_to_num(0.0)


def _block_by_block(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int, average: bool
) -> Tensor:
    """Every block of keys normalised by itself, the results added or averaged."""
    parts = []
    for start in range(0, k.shape[-2], block):
        mask = causal_mask(q, k)[:, start : start + block] if causal else None
        parts.append(attention(q, k[..., start : start + block, :], v[..., start : start + block, :], mask))  # fmt: skip
    total = torch.stack(parts).sum(0)
    return total / len(parts) if average else total


def _whole_blocks(size: int, block: int) -> int:
    return size // block * block


def _without_rest(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
    """The last, incomplete block of keys is left out."""
    end = _whole_blocks(k.shape[-2], block)
    mask = causal_mask(q, k)[:, :end] if causal else None
    return attention(q, k[..., :end, :], v[..., :end, :], mask)


def _masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Plain attention: NaN, as the online softmax gives it, for a row with nothing to attend to."""
    scores = q @ k.transpose(-1, -2) * scale_of(q, None)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1) @ v


def _shifted(shift: int) -> Callable[..., Tensor]:
    """causal with query i attending to keys 0 … i + shift."""

    def value(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
        return _masked(q, k, v, causal_mask(q, k, shift)) if causal else attention(q, k, v)

    return value


def _local_positions(skip: bool) -> Callable[..., Tensor]:
    """causal by positions counted inside each tile; ``skip``: tiles of the future are left out."""

    def value(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
        if not causal:
            return attention(q, k, v)
        row, column = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
        mask = column % block <= row % block
        return _masked(q, k, v, mask & (column // block <= row // block) if skip else mask)

    return value


def _bottom_right(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
    return _shifted(k.shape[-2] - q.shape[-2])(q, k, v, causal, block)


_SLIPS: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (
    (
        "The running maximum starts at a number, and where all scores of a row lie far below it each "
        "exponential is 0.",
        "The maximum of nothing yet is -torch.inf.",
        _low_start,
    ),
    (
        "The scale 1/√E is missing.",
        "Multiply the scores of every tile by 1/√E.",
        lambda q, k, v, causal, block: attention(q, k, v, causal_mask(q, k) if causal else None, 1.0),
    ),
    (
        "causal is ignored.",
        "With causal=True query i attends to keys 0 … i only. Make the mask of a tile from the positions "
        "of its rows and columns in the whole.",
        lambda q, k, v, causal, block: attention(q, k, v),
    ),
    (
        "It is causal always, with causal=False too.",
        "Mask only where causal is True.",
        lambda q, k, v, causal, block: attention(q, k, v, causal_mask(q, k)),
    ),
    (
        "The causal mask is aligned bottom-right where L and S differ.",
        "The contract is torch's: top-left. Query i attends to keys 0 … i, counted from the start of both.",
        _bottom_right,
    ),
    (
        "The causal mask leaves out the diagonal.",
        "Query i may attend to key i: column <= row.",
        _shifted(-1),
    ),
    (
        "The causal mask lets each query see one key too many.",
        "Query i attends to keys 0 … i: column <= row.",
        _shifted(1),
    ),
    (
        "The causal mask is made from positions inside the tile, not in the whole.",
        "Row i of the tile is query rows.start + i, and so for the columns: compare those.",
        _local_positions(False),
    ),
    (
        "The causal mask is made from positions inside the tile, not in the whole.",
        "Row i of the tile is query rows.start + i, and so for the columns: compare those.",
        _local_positions(True),
    ),
    (
        "When the running maximum grows, the output gathered so far is not rescaled.",
        "What was gathered is in units of e^(old maximum): multiply it by e^(old − new), as the sum.",
        lambda q, k, v, causal, block: _online(q, k, v, causal, block, rescale_out=False),
    ),
    (
        "When the running maximum grows, the running sum is not rescaled.",
        "What was gathered is in units of e^(old maximum): multiply it by e^(old − new), as the output.",
        lambda q, k, v, causal, block: _online(q, k, v, causal, block, rescale_sum=False),
    ),
    (
        "The output is never divided by the sum.",
        "After the last tile of keys: out / running sum, row by row.",
        lambda q, k, v, causal, block: _online(q, k, v, causal, block, divide=False),
    ),
    (
        "Every tile is normalised by itself and the results are added.",
        "The softmax runs over all keys. Keep a running maximum and a running sum a row, and divide once, "
        "at the end.",
        lambda q, k, v, causal, block: _block_by_block(q, k, v, causal, block, False),
    ),
    (
        "Every tile is normalised by itself and the results are averaged.",
        "The softmax runs over all keys. Keep a running maximum and a running sum a row, and divide once, "
        "at the end.",
        lambda q, k, v, causal, block: _block_by_block(q, k, v, causal, block, True),
    ),
    (
        "The last keys are left out where block_size does not divide S.",
        "range(0, S, block_size) and slices: a slice that reaches beyond the end is simply shorter.",
        _without_rest,
    ),
)  # fmt: skip


FORWARD_SLIPS = tuple(ForwardSlip(*slip) for slip in _SLIPS)


def _assigned(skip: bool) -> Callable[..., Any]:
    """Gradients of the last tile only, written with = where += was meant.

    ``skip``: with causal the tiles of the future are left out, so that the last one comes earlier.
    """

    def gradients(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        s = step_of(q, k, v, causal_mask(q, k) if causal else None, None, grad_output)
        row = torch.arange(q.shape[-2])[:, None] // block_size
        column = torch.arange(k.shape[-2]) // block_size
        last = column.max().expand_as(row)
        if skip and causal:
            last = torch.minimum(last, row)
        by_q = (s.by_scores * (column == last)) @ k * s.scale
        final = row == row.max()
        by_k = (s.by_scores * final).transpose(-1, -2) @ q * s.scale
        return by_q, by_k, (s.weights * final).transpose(-1, -2) @ grad_output

    return gradients


_ONLY_LAST = (
    "Only the last tile arrives in the gradient: it is assigned where it should be added.",
    "Every tile of keys adds to the gradient of its queries, and every tile of queries to those of its "
    "keys and values: start from zeros and use +=.",
)


def _sum_of_each_tile(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum in the softmax's backward, taken over the keys of one tile only."""
    s = step_of(q, k, v, causal_mask(q, k) if causal else None, None, grad_output)
    shares = []
    for start in range(0, k.shape[-2], block_size):
        w, t = (x[..., start : start + block_size] for x in (s.weights, s.by_weights))
        shares.append(w * (t - (w * t).sum(-1, keepdim=True)))
    return s.gradients(torch.cat(shares, -1))


FLASH_BACKWARDS = (
    *backward_mistakes(flash=True),
    Misconception(*_ONLY_LAST, _assigned(False)),
    Misconception(*_ONLY_LAST, _assigned(True)),
    Misconception(
        "The sum in the softmax's backward runs over the keys of one tile only.",
        "It runs over the whole row. delta = (out · grad_output).sum(-1, keepdim=True) gives it before "
        "the first tile.",
        _sum_of_each_tile,
    ),
)
