"""Wrong steps of the online softmax that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip
from autograder.exercises.attention_formulas import attention, causal_mask


@dataclass(frozen=True)
class Tile:
    """What one tile adds, and what was gathered before it.

    scores     (…, L, columns), −inf in the future
    old, new   the running maximum before and after, (…, L, 1)
    total, out the running sum and the output gathered so far
    """

    scores: Tensor
    values: Tensor
    old: Tensor
    new: Tensor
    total: Tensor
    out: Tensor

    @property
    def shrink(self) -> Tensor:
        return (self.old - self.new).exp()

    @property
    def grow(self) -> Tensor:
        """The reciprocal, which is a mistake: infinite in the first tile."""
        return (self.new - self.old).exp()

    @property
    def e(self) -> Tensor:
        return (self.scores - self.new).exp()

    @property
    def own_e(self) -> Tensor:
        """The exponentials with the maximum of the tile instead of the running one."""
        return (self.scores - self.scores.amax(-1, keepdim=True)).exp()

    @property
    def sum(self) -> Tensor:
        return self.e.sum(-1, keepdim=True)

    @property
    def weighted(self) -> Tensor:
        return self.e @ self.values


Step = Callable[[Tile], tuple[Tensor, Tensor]]
End = Callable[[Tensor, Tensor, Tensor], Tensor]


def _right(t: Tile) -> tuple[Tensor, Tensor]:
    return t.total * t.shrink + t.sum, t.out * t.shrink + t.weighted


def _divide(total: Tensor, out: Tensor, top: Tensor) -> Tensor:
    return out / total


def online(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int, *,
    step: Step = _right, end: End = _divide, start: float = -torch.inf, skip: bool = False,
) -> Tensor:  # fmt: skip
    """The online softmax over blocks of keys, with another step, end or start.

    ``skip``: with causal the tiles of the future are left out, so that they change nothing.
    """
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(~causal_mask(q, k), -torch.inf)
    top = torch.full_like(scores[..., :1], start)
    total, out = torch.zeros_like(top), torch.zeros_like(q[..., :1] * v[..., :1, :])
    row_tile = torch.arange(q.shape[-2])[:, None] // block
    for first in range(0, k.shape[-2], block):
        part = scores[..., first : first + block]
        new = torch.maximum(top, part.amax(-1, keepdim=True))
        after = step(Tile(part, v[..., first : first + block, :], top, new, total, out))
        # Without this a step that assigns would have nothing left in the tiles of the future.
        counts = row_tile >= (first // block if skip and causal else 0)
        total, out = torch.where(counts, after[0], total), torch.where(counts, after[1], out)
        top = torch.where(counts, new, top)
    return end(total, out, top)


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


def _low_start(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
    """The running maximum starts at a number; where the sum is 0 the output is 0."""
    return online(q, k, v, causal, block, start=-1e4).nan_to_num(0.0)


def _per_tile(t: Tile) -> tuple[Tensor, Tensor]:
    """Divided by the sum after each tile, and never multiplied by the sum before the next."""
    total, out = _right(t)
    return total, out / total


_UNITS = "What was gathered is in units of e^(old maximum): multiply it by e^(old − new), as you do with the"
_ADD = "Each tile adds to what was gathered: total = total * shrink + …, out = out * shrink + …"
_ONE_MAXIMUM = (
    "With new = max(old, maximum of the tile): e = exp(scores − new), and shrink = exp(old − new) for what "
    "was gathered."
)
_OVER_ALL = (
    "The softmax runs over all keys. Keep a running maximum and a running sum a row, and divide once, at the "
    "end."
)

_STEPS: tuple[tuple[str, str, Step], ...] = (
    (
        "When the running maximum grows, the output gathered so far is not rescaled.",
        f"{_UNITS} sum.",
        lambda t: (t.total * t.shrink + t.sum, t.out + t.weighted),
    ),
    (
        "When the running maximum grows, the running sum is not rescaled.",
        f"{_UNITS} output.",
        lambda t: (t.total + t.sum, t.out * t.shrink + t.weighted),
    ),
    (
        "When the running maximum grows, neither the running sum nor the output gathered so far is rescaled.",
        "What was gathered is in units of e^(old maximum): multiply both by e^(old − new).",
        lambda t: (t.total + t.sum, t.out + t.weighted),
    ),
    (
        "What was gathered is rescaled by e^(new − old), the reciprocal of the right factor.",
        "The maximum grows, and everything before it gets smaller: e^(old − new).",
        lambda t: (
            t.total * t.grow.nan_to_num(posinf=0.0) + t.sum,
            t.out * t.grow.nan_to_num(posinf=0.0) + t.weighted,
        ),
    ),
    (
        "What was gathered is rescaled by e^(new − old), the reciprocal of the right factor.",
        "The maximum grows, and everything before it gets smaller: e^(old − new).",
        lambda t: (t.total * t.grow + t.sum, t.out * t.grow + t.weighted),
    ),
    (
        "The exponentials of a tile are taken with the tile's own maximum, not with the running one.",
        _ONE_MAXIMUM,
        lambda t: (
            t.total * t.shrink + t.own_e.sum(-1, keepdim=True),
            t.out * t.shrink + t.own_e @ t.values,
        ),
    ),
    (
        "The exponentials of a tile are taken with the tile's own maximum, and what was gathered is not "
        "rescaled.",
        _ONE_MAXIMUM,
        lambda t: (t.total + t.own_e.sum(-1, keepdim=True), t.out + t.own_e @ t.values),
    ),
    (
        "The running sum is that of the last tile only: it is assigned where it should be added.",
        _ADD,
        lambda t: (t.sum, t.out * t.shrink + t.weighted),
    ),
    (
        "Of the output only the last tile's part is there: it is assigned where it should be added.",
        _ADD,
        lambda t: (t.total * t.shrink + t.sum, t.weighted),
    ),
    (
        "Only the last tile of keys counts: sum and output are assigned where they should be added.",
        _ADD,
        lambda t: (t.sum, t.weighted),
    ),
    (
        "The running maximum stays −∞: e^(old − new) is 0, and what was gathered before the last tile is lost.",
        "After each tile the new maximum becomes the old one.",
        lambda t: (t.sum, t.weighted),
    ),
)

_ENDS: tuple[tuple[str, str, Step, End], ...] = (
    (
        "The output is never divided by the sum.",
        "After the last tile of keys: out / running sum, row by row.",
        _right,
        lambda total, out, top: out,
    ),
    (
        "The output is divided by the logsumexp, not by the sum.",
        "out is in units of e^(maximum), and so is the running sum: out / sum. The logsumexp is what is kept "
        "for backward.",
        _right,
        lambda total, out, top: out / (top + total.log()),
    ),
    (
        "The output is divided by the running sum after every tile, and not multiplied by it again before "
        "the next.",
        "Divide once, after the last tile of keys.",
        _per_tile,
        lambda total, out, top: out,
    ),
    (
        "The output is divided by the running sum after every tile, and again at the end.",
        "Divide once, after the last tile of keys.",
        _per_tile,
        _divide,
    ),
)


def _slip(message: str, hint: str, step: Step, end: End, skip: bool) -> ForwardSlip:
    return ForwardSlip(
        message,
        hint,
        lambda q, k, v, causal, block: online(
            q, k, v, causal, block, step=step, end=end, skip=skip
        ),
    )


LOW_START = ForwardSlip(
    "The running maximum starts at a number, and where all scores of a row lie far below it each exponential "
    "is 0.",
    "The maximum of nothing yet is -torch.inf.",
    _low_start,
)

ONLINE_SLIPS = (
    *(_slip(*each, _divide, skip) for each in _STEPS for skip in (False, True)),
    *(_slip(*each, skip) for each in _ENDS for skip in (False, True)),
    ForwardSlip(
        "Every tile is normalised by itself and the results are added.",
        _OVER_ALL,
        lambda q, k, v, causal, block: _block_by_block(q, k, v, causal, block, False),
    ),
    ForwardSlip(
        "Every tile is normalised by itself and the results are averaged.",
        _OVER_ALL,
        lambda q, k, v, causal, block: _block_by_block(q, k, v, causal, block, True),
    ),
)
