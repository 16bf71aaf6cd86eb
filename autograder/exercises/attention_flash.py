"""Lesson 07: ``FlashAttention``, attention in tiles with an online softmax."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.exercise import Case, Exercise, Sampler, Scenario, bytes_of
from autograder.exercises import attention_experiments as experiments
from autograder.exercises.attention_formulas import (
    ATTENTION_OPERATIONS,
    LESSON,
    flash_reference,
)
from autograder.exercises.attention_tilings import FLASH_BACKWARDS, FORWARD_SLIPS
from autograder.exercises.attention_whole import bytes_of_logsumexp, far_apart, heads, large_scores


def _tiled(
    name: str, sizes: tuple[int, int, int, int], *, causal: bool, block: int,
    batch: tuple[int, ...] = (), **more: Any,
) -> Case:  # fmt: skip
    """sizes (L, S, E, Ev)."""
    return Case(name, lambda s: (*heads(s, batch, *sizes), causal, block), **more)


def _budget(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    return bytes_of(*args[:3], outputs[0]) + bytes_of_logsumexp(args[0])


def _large(s: Sampler) -> tuple[Any, ...]:
    return *large_scores(s), False, 2


def _low_score(s: Sampler) -> tuple[Any, ...]:
    """One query: causal, it may look at the first key alone."""
    q, k, v = heads(s, (), 1, 5, 4, 1)
    q[0], k[0] = far_apart()
    return q, k, v, True, 2


_RIGHT = ("output_value", "gradients_agree")

FLASH_ATTENTION = Exercise(
    name="FlashAttention",
    lesson=LESSON,
    summary="attention in tiles, forward and backward; no tensor of L×S elements at any moment.",
    signature="(q, k, v, causal, block_size)",
    reference=flash_reference,
    forbidden=ATTENTION_OPERATIONS,
    second_order="refused",
    any_size=False,
    # Sizes that tell the known slips apart: all of them in all cases, most of them in the two visible ones.
    # S reaches beyond the block in which L ends, and nowhere are E, Ev and block_size the same two numbers.
    cases=(
        _tiled("one head, block_size 2", (4, 5, 3, 2), causal=False, block=2, visible=True),
        _tiled("causal, more keys than queries", (5, 7, 3, 2), batch=(2, 2), causal=True, block=4,
               visible=True),
        _tiled("causal, more queries than keys", (5, 3, 2, 5), batch=(2,), causal=True, block=2),
        _tiled("a block larger than everything", (3, 4, 2, 5), batch=(2,), causal=True, block=8),
        _tiled("block_size 3", (4, 9, 2, 3), causal=False, block=3),
        _tiled("block_size 1", (2, 3, 4, 5), causal=True, block=1, role="special"),
        Case("one query, whose only score is about -10¹⁰", _low_score, role="special"),
        _tiled("two batch dimensions", (3, 4, 5, 2), batch=(2, 3), causal=True, block=2,
               role="batch", visible=True),
        _tiled("three batch dimensions", (5, 6, 2, 3), batch=(2, 1, 2), causal=True, block=4, role="batch"),
        _tiled("no keys at all (S = 0)", (3, 0, 2, 4), causal=False, block=2, role="empty"),
        _tiled("no queries (L = 0)", (0, 3, 2, 4), causal=True, block=2, role="empty"),
        _tiled("several heads without keys (S = 0)", (3, 0, 2, 4), batch=(2, 3), causal=True, block=2,
               role="empty"),
        _tiled("several heads without queries (L = 0)", (0, 3, 2, 4), batch=(2, 3), causal=False, block=2,
               role="empty"),
        _tiled("an empty batch", (3, 4, 2, 5), batch=(0,), causal=True, block=3, role="empty"),
        Case("scores up to 500 in size in float32", _large, role="extreme", visible=True),
    ),
    budget=_budget,
    budget_words="q, k, v, the output and one logsumexp a row",
    hints=(
        "Forward: for each block of queries walk over the blocks of keys with three things a row: the "
        "largest score so far, the sum of exponentials so far, and the output so far, both in units of "
        "e^(that maximum). What happens to the latter two when a larger score comes along?",
        "new = max(old, maximum of the tile); shrink = exp(old - new); sum = sum * shrink + "
        "e.sum(-1); out = out * shrink + e @ v with e = exp(scores - new). At the end out / sum, "
        "and logsumexp = maximum + log(sum). Backward: LeanAttention's, tile by tile; each tile "
        "adds to grad_q of its rows and to grad_k and grad_v of its columns.",
        "Tile (i, j) in backward: w = (q_i @ k_j.mT * scale - lse_i).exp(), 0 where column > row "
        "if causal; grad_v[j] += w.mT @ g_i; ds = w * (g_i @ v_j.mT - delta_i) * scale with delta "
        "= (g * out).sum(-1, keepdim=True); grad_q[i] += ds @ k_j; grad_k[j] += ds.mT @ q_i. "
        'First line of backward: if torch.is_grad_enabled(): raise RuntimeError("…"). Without '
        "keys the sum is 0: do not divide by it.",
    ),
    misconceptions=FLASH_BACKWARDS,
    forward_slips=FORWARD_SLIPS,
    scenarios=(
        Scenario(
            "no tensor of L×S elements is ever made",
            "temporary-too-large",
            experiments.run_largest,
            experiments.judge_largest,
            visible=True,
            needs=_RIGHT,
        ),
        Scenario(
            "every attempt at a second derivative raises RuntimeError",
            "double-backward-value",
            experiments.run_attempts(False, 4),
            experiments.judge_attempts(flash_reference, False, 4, may_be_right=False),
            visible=True,
            needs=(*_RIGHT, "second_derivatives"),
        ),
    ),
)  # fmt: skip
