"""Wrong tilings of attention that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.attention_formulas import attention, causal_mask
from autograder.exercises.attention_mistakes import backward_mistakes
from autograder.exercises.attention_online import LOW_START, ONLINE_SLIPS
from autograder.exercises.attention_positions import Positions, Tiling
from autograder.exercises.attention_seen import WRONG_KEYS, Seen
from autograder.exercises.attention_slips import EVERYWHERE, NOT_DIVIDED, tiled
from autograder.exercises.attention_steps import Step, step_of


def _tiling(q: Tensor, k: Tensor, causal: bool, block: int) -> Tiling:
    return Tiling(q.shape[-2], k.shape[-2], block, causal)


# What comes out for a query that sees no key depends on how the answer is written:
# (output, seen, v, block) -> output.
Emptied = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def _nan(out: Tensor, seen: Tensor, v: Tensor, block: int) -> Tensor:
    """0 / 0 in a row without keys."""
    return out.masked_fill(~seen.any(-1, keepdim=True), torch.nan)


def _nan_at_once(out: Tensor, seen: Tensor, v: Tensor, block: int) -> Tensor:
    """−inf − (−inf) in a row that sees nothing in the first tile, whatever comes after it."""
    return out.masked_fill(~seen[:, :block].any(-1, keepdim=True), torch.nan)


def _zero(out: Tensor, seen: Tensor, v: Tensor, block: int) -> Tensor:
    return out


def _mean(out: Tensor, seen: Tensor, v: Tensor, block: int) -> Tensor:
    """A large negative number stood for −inf: all keys are alike."""
    return torch.where(seen.any(-1, keepdim=True), out, v.mean(-2, keepdim=True))


def _output(positions: Positions, emptied: Emptied) -> Callable[..., Tensor]:
    def value(q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int) -> Tensor:
        seen = positions(_tiling(q, k, causal, block))
        return emptied(attention(q, k, v, seen), seen, v, block)

    return value


def _sentence(clause: str) -> str:
    """A clause as a sentence; the name of an argument keeps its small letter."""
    return clause if clause.startswith("causal ") else clause[0].upper() + clause[1:]


def _forwards(seen: Seen) -> tuple[ForwardSlip, ...]:
    return tuple(
        ForwardSlip(_sentence(seen.what), seen.hint, _output(seen.positions, emptied))
        for emptied in ((_zero, _nan, _nan_at_once, _mean) if seen.masked else (_zero, _nan))
    )


FORWARD_SLIPS = (
    LOW_START,
    *(slip for seen in WRONG_KEYS for slip in _forwards(seen)),
    *ONLINE_SLIPS,
    *(tiled(slip) for slip in EVERYWHERE if slip is not NOT_DIVIDED),
    ForwardSlip(
        "The scores are divided by √block_size.",
        "E is the width of q and k: q.shape[-1].",
        lambda q, k, v, causal, block: attention(
            q, k, v, causal_mask(q, k) if causal else None, block**-0.5
        ),
    ),
)


def _step(q: Tensor, k: Tensor, v: Tensor, causal: bool, g: Tensor) -> Step:
    return step_of(q, k, v, causal_mask(q, k) if causal else None, None, g)


def _backwards(seen: Seen) -> tuple[Misconception, ...]:
    """Right weights of the wrong keys, with the sum of each row from them or from the output."""

    def gradients(own_sum: bool, own_normalised: bool) -> Callable[..., Any]:
        def value(
            q: Tensor, k: Tensor, v: Tensor, causal: bool, block: int, *, grad_output: Tensor
        ) -> tuple[Tensor, Tensor, Tensor]:
            s = _step(q, k, v, causal, grad_output)
            keys = seen.positions(_tiling(q, k, causal, block))
            scores = s.scores.masked_fill(~keys, -torch.inf)
            right = s.scores if s.mask is None else s.scores.masked_fill(~s.mask, -torch.inf)
            base = torch.logsumexp(scores if own_normalised else right, -1, keepdim=True)
            return s.with_weights((scores - base).exp().nan_to_num(0.0), own_sum)

        return value

    return tuple(
        Misconception(f"In backward {seen.what}", seen.hint, gradients(own_sum, own_normalised))
        for own_sum in (False, True)
        for own_normalised in (False, True)
    )


def _assigned(skip: bool) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Gradients of the last tile only, written with = where += was meant.

    ``skip``: with causal the tiles of the future are left out, so that the last one comes earlier.
    """

    def gradients(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        s, t = _step(q, k, v, causal, grad_output), _tiling(q, k, causal, block_size)
        last = t.column_tile.max().expand_as(t.row_tile)
        if skip and causal:
            last = torch.minimum(last, t.row_tile)
        by_q = (s.by_scores * (t.column_tile == last)) @ k * s.scale
        final = t.row_tile == t.row_tile.max()
        by_k = (s.by_scores * final).transpose(-1, -2) @ q * s.scale
        return by_q, by_k, (s.weights * final).transpose(-1, -2) @ grad_output

    return gradients


_ONLY_LAST = (
    "Only the last tile arrives in the gradient: it is assigned where it should be added.",
    "Every tile of keys adds to the gradient of its queries, and every tile of queries to those of its "
    "keys and values: start from zeros and use +=.",
)


def _tile_by_tile(
    normalised: bool, own_sum: bool = True
) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """The softmax's backward inside each tile: its weights and its sum, or one of them."""

    def gradients(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        s = _step(q, k, v, causal, grad_output)
        weights, shares, whole = [], [], (s.weights * s.by_weights).sum(-1, keepdim=True)
        for start in range(0, k.shape[-2], block_size):
            w, t = (x[..., start : start + block_size] for x in (s.weights, s.by_weights))
            if normalised:
                w = (w / w.sum(-1, keepdim=True)).nan_to_num(0.0)
            weights.append(w)
            shares.append(w * (t - ((w * t).sum(-1, keepdim=True) if own_sum else whole)))
        return s.gradients(torch.cat(shares, -1), torch.cat(weights, -1))

    return gradients


_FIRST = "delta = (out · grad_output).sum(-1, keepdim=True) gives it before the first tile."

FLASH_BACKWARDS = (
    *(known for seen in WRONG_KEYS for known in _backwards(seen)),
    *backward_mistakes(tiles=True),
    Misconception(*_ONLY_LAST, _assigned(False)),
    Misconception(*_ONLY_LAST, _assigned(True)),
    Misconception(
        "The sum in the softmax's backward runs over the keys of one tile only.",
        f"It runs over the whole row. {_FIRST}",
        _tile_by_tile(False),
    ),
    *(
        Misconception(
            "Backward takes a softmax inside each tile: its weights add up to 1 in every tile.",
            "The weights are exp(scores − logsumexp), with the logsumexp of the whole row that forward kept. "
            f"{_FIRST}",
            _tile_by_tile(True, own_sum),
        )
        for own_sum in (True, False)
    ),
)
